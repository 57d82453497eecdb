"""Pictures of what was recorded: the graph behind a tensor, or the part between two."""

from .draw import draw as draw
