"""Draws pictures of boxes and edges: layout, and output in several formats.

Independent of tensors, operations and graphs. A caller makes a `Picture`; `svg` draws it, `page`
makes an HTML page that folds, zooms and searches, `dot` writes it for Graphviz, `text` for a
terminal; `Drawn` holds all of these, and the form that a notebook shows.
"""

from .dot import dot as dot
from .drawn import Drawn as Drawn
from .page import page as page
from .picture import Box as Box
from .picture import Edge as Edge
from .picture import Picture as Picture
from .svg import svg as svg
from .text import text as text
