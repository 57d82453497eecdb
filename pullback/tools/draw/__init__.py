"""Pictures of recorded graphs: the graph of a tensor, or the part between two tensors."""

from .draw import draw as draw
