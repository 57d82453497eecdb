"""Complex numbers: real and imaginary part, conjugate, angle, construction.

Derivatives are those of functions of two real variables, in the internal convention (see
Note [transposes inside, adjoints outside]): the cotangent g stands for the map t ↦ Re(g · t).
"""

from __future__ import annotations

from typing import Any

from ..core.cotangent import is_complex, is_complex_dtype
from ..core.op import OPS
from .arithmetic import abs, quotient
from .declaring import known_as, op

__all__ = ["angle", "conj", "imag", "make_complex", "real"]


def _is_real(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return dtype is not None and not is_complex_dtype(dtype)


@op(name="real", elementwise=True, view=True)
def _real(xp: Any, x: Any, /) -> Any:
    """The real part of complex x: a view, so that writing to it writes to x.

    >>> import pullback as pb
    >>> x = pb.tensor([1 + 2j])
    >>> part = pb.real(x)
    >>> part += 10
    >>> x
    Tensor([11.+2.j], dtype=complex128)
    """
    return xp.real(x)


@_real.pullback("x")
def pullback_real(g: Any) -> Any:
    return g


def real(x: Any, /) -> Any:
    """The real part; real x itself is returned (the same object).

    >>> import pullback as pb
    >>> pb.real(pb.tensor([1 + 2j, 3 - 4j]))
    Tensor([1., 3.])
    """
    return x if _is_real(x) else _real(x)


@op(name="imag", elementwise=True, view=True)
def _imag(xp: Any, x: Any, /) -> Any:
    """The imaginary part of complex x: a view, so that writing to it writes to x.

    >>> import pullback as pb
    >>> x = pb.tensor([1 + 2j])
    >>> part = pb.imag(x)
    >>> part += 10
    >>> x
    Tensor([1.+12.j], dtype=complex128)
    """
    return xp.imag(x)


@_imag.pullback("x")
def pullback_imag(g: Any) -> Any:
    return OPS["multiply"](g, -1j)


def imag(x: Any, /) -> Any:
    """The imaginary part; zeros for real x.

    >>> import pullback as pb
    >>> pb.imag(pb.tensor([1 + 2j, 3 - 4j]))
    Tensor([ 2., -4.])
    """
    return OPS["zeros_like"](x) if _is_real(x) else _imag(x)


@op(name="conj", native="conj", elementwise=True)
def _conj(x: Any, /) -> Any:
    """The complex conjugate of complex x.

    >>> import pullback as pb
    >>> pb.conj(1 + 2j)
    np.complex128(1-2j)
    """


@_conj.pullback("x")
def pullback_conj(g: Any) -> Any:
    return conj(g)


@known_as(numpy="conjugate", torch="conj_physical")
def conj(x: Any, /) -> Any:
    """The complex conjugate; real x itself is returned (the same object).

    >>> import pullback as pb
    >>> pb.conj(pb.tensor([1 + 2j, 3 - 4j]))
    Tensor([1.-2.j, 3.+4.j], dtype=complex128)
    """
    return x if _is_real(x) else _conj(x)


@op(native="angle", elementwise=True)
def angle(x: Any, /) -> Any:
    """The angle of x in the complex plane, in [-π, π]. The derivative at 0 is 0.

    >>> import pullback as pb
    >>> pb.angle(pb.tensor([2j, -1 + 0j]))
    Tensor([1.57079633, 3.14159265])
    """


@angle.pullback("x")
def pullback_angle(g: Any, x: Any) -> Any:
    if not is_complex(x):
        return OPS["zeros_like"](g)
    r = abs(x)
    return quotient(quotient(OPS["multiply"](g, -1j) * conj(x), r), r)


@known_as(torch="complex(real,imag)")
@op(elementwise=True)
def make_complex(xp: Any, real: Any, imag: Any, /) -> Any:
    """real + i · imag.

    >>> import pullback as pb
    >>> pb.make_complex(pb.tensor([1.0, 2.0]), pb.tensor([3.0, -4.0]))
    Tensor([1.+3.j, 2.-4.j], dtype=complex128)
    """
    return real + 1j * imag


@make_complex.pullback("real")
def pullback_make_complex_real(g: Any) -> Any:
    return real(g)


@make_complex.pullback("imag")
def pullback_make_complex_imag(g: Any) -> Any:
    return -imag(g)


@make_complex.pushforward("imag")
def pushforward_make_complex_imag(t: Any) -> Any:
    return OPS["multiply"](t, 1j)


@known_as(torch="view_as_real(input)")
@op(view=True)
def view_as_real(xp: Any, x: Any, /) -> Any:
    """Complex entries as pairs of real numbers along a new last axis: a view.

    >>> import numpy as np
    >>> view_as_real(np.array([1 + 2j]))
    array([[1., 2.]])
    """
    return xp.stack([xp.real(x), xp.imag(x)], axis=-1)


@view_as_real.pullback("x")
def pullback_view_as_real(g: Any) -> Any:
    return make_complex(g[..., 0], -g[..., 1])


@view_as_real.pushforward("x")
def pushforward_view_as_real(t: Any) -> Any:
    return view_as_real(t)


@view_as_real.shaping
def shape_view_as_real(x: Any) -> Any:
    return (*x.shape, 2)


@view_as_real.batching
def batch_view_as_real(x: Any) -> Any:
    return view_as_real(x)


@op(view=True)
def view_as_complex(xp: Any, x: Any, /) -> Any:
    """Pairs of real numbers along the last axis as complex entries: a view.

    >>> import numpy as np
    >>> view_as_complex(np.array([[1.0, 2.0]]))
    array([1.+2.j])
    """
    return make_complex(x[..., 0], x[..., 1])


@view_as_complex.pullback("x")
def pullback_view_as_complex(g: Any) -> Any:
    return view_as_real(conj(g))


@view_as_complex.pushforward("x")
def pushforward_view_as_complex(t: Any) -> Any:
    return view_as_complex(t)


@view_as_complex.shaping
def shape_view_as_complex(x: Any) -> Any:
    return tuple(x.shape)[:-1]


@view_as_complex.batching
def batch_view_as_complex(x: Any) -> Any:
    return view_as_complex(x)
