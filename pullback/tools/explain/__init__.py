"""`explain` reports why a gradient is None, zero, NaN or infinite, and at which operation."""

from .causes import CAUSES as CAUSES
from .explain import explain as explain
from .explanation import Explanation as Explanation

__all__ = ["CAUSES", "Explanation", "explain"]
