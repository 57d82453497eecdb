"""float16 and bfloat16 for operations that a library lacks: computed in float32, rounded once.

Libraries support half precision for the operations of neural networks, and few others. This file
computes linear algebra, Fourier transforms and special functions of narrow arrays in float32, for
every library but NumPy, where `numpy_narrow` does so for all operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

_LINEAR = (
    "adjugate", "adjugate_along", "cholesky", "det", "eig", "eigh", "eigvalsh", "expm", "inv", "lu",
    "matrix_rank", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "triangular_solve",
)
_FOURIER = ("fftn", "ifftn", "irfftn", "rfftn")
_SPECIAL = (
    "beta", "betainc", "betainc_by_a", "betainc_by_b", "betaln", "digamma", "entr", "erfcinv",
    "erfinv", "gamma", "gammainc", "gammainc_by_a", "gammaincc", "gammaln", "hazard", "i0", "i0e",
    "i1", "i1e", "iv", "ive", "j0", "j1", "jv", "k0", "k0e", "k1", "k1e", "kl_div", "kv", "kve",
    "log_ndtr", "logit", "ndtr", "ndtri", "polygamma", "rel_entr", "sinc", "spherical_jn",
    "xlog1py", "xlogy", "y0", "y1", "yv", "zeta",
)
WIDE = frozenset((*_LINEAR, *_FOURIER, *_SPECIAL, "make_complex"))
"""Operations that are computed in float32."""


def widened_kernel(
    kernel: Callable[..., Any], narrow: Collection[Any], cast: Callable[[Any, Any], Any], wide: Any
) -> Callable[..., Any]:
    """A kernel that also accepts narrow arrays, and rounds float32 results back to their dtype.

    narrow   the library's narrow dtypes
    cast     (array, dtype) -> the array in the dtype
    wide     the library's float32
    """

    def call(*args: Any, **attrs: Any) -> Any:
        kinds = {a.dtype for a in args if hasattr(a, "dtype")}
        found = [d for d in kinds if d in narrow]
        if not found:
            return kernel(*args, **attrs)
        made = kernel(*[
            cast(a, wide) if getattr(a, "dtype", None) in narrow else a for a in args
        ], **attrs)
        if len(found) > 1 or wide in kinds:
            return made
        if isinstance(made, (tuple, list)):
            return tuple([_rounded(m, wide, cast, found[0]) for m in made])
        return _rounded(made, wide, cast, found[0])

    return call


def _rounded(made: Any, wide: Any, cast: Callable[[Any, Any], Any], dtype: Any) -> Any:
    return cast(made, dtype) if made.dtype == wide else made
