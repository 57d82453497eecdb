"""Pictures of boxes and edges: what is drawn, where it goes, and how it is written down.

Nothing here knows of tensors, operations or graphs. A reader makes a `Picture`; `svg` draws it,
`page` makes a page of it that folds, zooms and searches, `dot` writes it for Graphviz, `text` for a
terminal; `Drawn` is all of these, and what a notebook shows.
"""

from .dot import dot as dot
from .drawn import Drawn as Drawn
from .page import page as page
from .picture import Box as Box
from .picture import Edge as Edge
from .picture import Picture as Picture
from .svg import svg as svg
from .text import text as text
