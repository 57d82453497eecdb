"""Pictures of boxes and edges: what is drawn, where it goes, and how it is written down.

Nothing here knows of tensors, operations or graphs. A reader makes a `Picture`; `svg` draws it,
and `page` makes a page of it that folds, zooms and searches.
"""

from .page import page as page
from .picture import Box as Box
from .picture import Edge as Edge
from .picture import Picture as Picture
from .svg import svg as svg
