"""Why is a gradient None, zero, NaN or infinite? The first place where the path was cut or died."""

from .causes import CAUSES as CAUSES
from .explain import explain as explain
from .explanation import Explanation as Explanation

__all__ = ["CAUSES", "Explanation", "explain"]
