"""Element-wise functions, reductions, shapes and indexing on graph tensors, with v1's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ... import ops
from ...graphs.deferred_rules import Deferred
from ...graphs.operation import Kind
from .. import gathering as _gathering
from .. import joining as _joining
from .. import linalg as _linalg
from .. import math as _math
from .. import shaping as _shaping
from ..convert import matched, operand
from ..errors import invalid
from .graph import kind_call
from .naming import graphed

# Element-wise functions ---------------------------------------------------------------------

_CALLED = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "truediv", "truediv": "truediv",
    "floordiv": "floordiv", "floormod": "FloorMod", "mod": "FloorMod", "negative": "Neg",
    "add_n": "AddN", "rint": "Rint", "ceil": "Ceil", "is_nan": "IsNan", "is_inf": "IsInf",
    "is_finite": "IsFinite", "top_k": "TopKV2",
}
_SCOPED = {
    "clip_by_value", "polyval", "log_sigmoid", "xlogy", "divide_no_nan", "multiply_no_nan",
    "rsqrt", "squared_difference",
}


def entrywise(name: str) -> Callable[..., Any]:
    """A function of the TensorFlow 2 front end, adapted to graph tensors."""
    scope = {"squared_difference": "SquaredDifference", "rsqrt": "Rsqrt"}.get(name, name)
    return graphed(getattr(_math, name), _CALLED.get(name), scope if name in _SCOPED else None)


ENTRYWISE = (
    "abs", "acos", "acosh", "add", "add_n", "angle", "asin", "asinh", "atan", "atan2", "atanh",
    "ceil", "clip_by_value", "complex", "conj", "cos", "cosh", "divide", "divide_no_nan", "equal",
    "erf", "erfc", "exp", "expm1", "floor", "floordiv", "floormod", "greater", "greater_equal",
    "imag", "is_finite", "is_inf", "is_nan", "less", "less_equal", "log", "log1p", "log_sigmoid",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod",
    "multiply", "multiply_no_nan", "negative", "nextafter", "not_equal", "polyval", "pow", "real",
    "reciprocal", "rint", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "softplus", "sqrt",
    "square", "squared_difference", "subtract", "tan", "tanh", "top_k", "truediv", "xlogy",
    "cumsum", "cumprod",
)
MATH: dict[str, Callable[..., Any]] = {name: entrywise(name) for name in ENTRYWISE}
MATH["div"] = MATH["divide"]
MATH["realdiv"], MATH["div_no_nan"] = MATH["truediv"], MATH["divide_no_nan"]
MATH["floor_div"] = MATH["floordiv"]

# Reductions ---------------------------------------------------------------------------------


def _older(axis: Any, older: Any, subject: str, name: str) -> Any:
    """An argument that also has an older name."""
    if older is None:
        return axis
    if axis is not None:
        raise invalid(
            f"argument `{name}` of `{subject}`", f"only one of `{name}` and its older name", "both"
        )
    return older


def _reduction(name: str, default: str, scope: str | None = None) -> Callable[..., Any]:
    function = getattr(_math, name)

    def call(
        input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None,
        reduction_indices: Any = None, keep_dims: Any = None,
    ) -> Any:
        axis = _older(axis, reduction_indices, call.__name__, "axis")
        keep = bool(_older(keepdims, keep_dims, call.__name__, "keepdims"))
        return function(input_tensor, axis, keep)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return graphed(call, default, scope)


REDUCTIONS = {
    name: _reduction(name, type_) for name, type_ in {
        "reduce_sum": "Sum", "reduce_prod": "Prod", "reduce_max": "Max", "reduce_min": "Min",
        "reduce_mean": "Mean", "reduce_all": "All", "reduce_any": "Any",
        "reduce_logsumexp": "ReduceLogSumExp",
    }.items()
}
REDUCTIONS |= {
    name: _reduction(name, name, name)
    for name in ("reduce_variance", "reduce_std", "reduce_euclidean_norm")
}


def _count_nonzero(
    input_tensor: Any = None, axis: Any = None, keepdims: Any = None, dtype: Any = "int64",
    name: str | None = None, reduction_indices: Any = None, keep_dims: Any = None,
    input: Any = None,
) -> Any:
    """The number of nonzero entries along one axis, several axes, or all."""
    axis = _older(axis, reduction_indices, "count_nonzero", "axis")
    keep = bool(_older(keepdims, keep_dims, "count_nonzero", "keepdims"))
    return _math.count_nonzero(input if input_tensor is None else input_tensor, axis, keep, dtype)


def _extreme(name: str) -> Callable[..., Any]:
    function = getattr(_math, name)

    def call(
        input: Any, axis: Any = None, name: str | None = None, dimension: Any = None,
        output_type: Any = "int64",
    ) -> Any:
        return function(input, _older(axis, dimension, call.__name__, "axis"), output_type)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return graphed(call, {"argmax": "ArgMax", "argmin": "ArgMin"}[name])


REDUCTIONS["count_nonzero"] = graphed(_count_nonzero, "count_nonzero", "count_nonzero")
REDUCTIONS["argmax"], REDUCTIONS["argmin"] = _extreme("argmax"), _extreme("argmin")

# Shapes -------------------------------------------------------------------------------------


def _expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """Inserts an axis of length 1 at the given position (-1: at the end)."""
    return _shaping.expand_dims(input, _older(axis, dim, "expand_dims", "axis"))


def _squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Any:
    """Removes the given axes of length 1, or all of them."""
    axis = _older(axis, squeeze_dims, "squeeze", "axis")
    x = operand(input)
    if axis is not None or x.shape.is_fully_defined():
        return _shaping.squeeze(x, axis)
    found = Deferred("squeeze", _squeezed, [(None, x._data.dtype)])
    return found([x], x._data.kind, x._out)[0]


def _squeezed(x: Any) -> Any:
    """Removes the axes of length 1; for shapes that are known only when the graph runs."""
    return ops.squeeze(x, axis=tuple(i for i, n in enumerate(x.shape) if n == 1))


def _transpose(
    a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False
) -> Any:
    """Permutes the axes; reverses them by default."""
    return _shaping.transpose(a, perm, conjugate)


def _pad(
    tensor: Any, paddings: Any, mode: str = "CONSTANT", name: str | None = None,
    constant_values: Any = 0,
) -> Any:
    """Pads each axis before and after: with a constant, or by reflection."""
    return _shaping.pad(tensor, paddings, mode, constant_values)


def _cast_to(dtype: str) -> Callable[..., Any]:
    def call(x: Any, name: str = f"To{dtype.capitalize()}") -> Any:
        return _shaping.cast(x, dtype)

    call.__name__ = call.__qualname__ = f"to_{dtype}"
    call.__doc__ = f"x in {dtype}."
    return graphed(call, f"To{dtype.capitalize()}")


WHERE = Kind("where", numpy.argwhere)
WHERE.stateful = False


def _where_broadcast(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """x where the condition is true, y elsewhere, with broadcasting; alone, its true indices."""
    return _where(condition) if x is None and y is None else _shaping.where(condition, x, y)


def _where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """x where the condition is true, y elsewhere; a vector condition selects rows.

    x and y have the same shape; with the condition alone, returns its true indices.
    """
    holds = operand(condition, "b", "where")
    if x is None and y is None:
        return kind_call(WHERE, [holds], (None, holds.shape.rank), "int64", "Where")
    x, y = (operand(v) for v in matched("where", x, y))
    for own, other in ((x.shape, y.shape), (y.shape, x.shape)):
        if not own.is_compatible_with(other):
            raise invalid("`where`", f"x and y of one shape, here {own}", f"{other}",
                          "use where_v2")
    if holds.shape.rank == 1 and x.shape.rank not in (None, 0, 1):
        holds = ops.reshape(holds, (-1,) + (1,) * (x.shape.rank - 1))
    return ops.where(holds, x, y)


SHAPING: dict[str, Callable[..., Any]] = {
    "expand_dims": graphed(_expand_dims, "ExpandDims"), "squeeze": graphed(_squeeze, "Squeeze"),
    "transpose": graphed(_transpose, "transpose"), "pad": graphed(_pad, "Pad"),
    "where": graphed(_where, "Select"), "where_v2": graphed(_where_broadcast, "SelectV2"),
    "cast": graphed(_shaping.cast, "Cast"), "tile": graphed(_shaping.tile, "Tile"),
    "reverse": graphed(_shaping.reverse, "ReverseV2"), "roll": graphed(_shaping.roll, "Roll"),
    "one_hot": graphed(_shaping.one_hot, "one_hot", "one_hot"),
    "broadcast_to": graphed(_shaping.broadcast_to, "BroadcastTo"),
    "repeat": graphed(_shaping.repeat, "Repeat"), "sort": graphed(_shaping.sort, "sort"),
    "argsort": graphed(_shaping.argsort, "argsort"), "concat": graphed(_joining.concat, "concat"),
    "stack": graphed(_joining.stack, "stack"), "unstack": graphed(_joining.unstack, "unstack"),
    "split": graphed(_joining.split, "split"),
    "meshgrid": graphed(_joining.meshgrid, "meshgrid", "meshgrid"),
    **{f"to_{n}": _cast_to(n) for n in ("float", "double", "int32", "int64")},
}

# Indexing -----------------------------------------------------------------------------------


def _gather(
    params: Any, indices: Any, validate_indices: Any = None, name: str | None = None,
    axis: Any = None, batch_dims: int = 0,
) -> Any:
    """Gathers slices of params along an axis, at the given indices."""
    return _gathering.gather(params, indices, axis=axis, batch_dims=batch_dims)


def _gather_nd(params: Any, indices: Any, name: str | None = None, batch_dims: int = 0) -> Any:
    """Gathers slices of params; the last axis of `indices` holds indices into its first axes."""
    return _gathering.gather_nd(params, indices, batch_dims)


def _boolean_mask(
    tensor: Any, mask: Any, name: str = "boolean_mask", axis: Any = None
) -> Any:
    """The slices of a tensor where the mask is true."""
    return _gathering.boolean_mask(tensor, mask, axis)


POSITIONS: dict[str, Callable[..., Any]] = {
    "gather": graphed(_gather, "GatherV2"), "gather_nd": graphed(_gather_nd, "GatherNd"),
    "boolean_mask": graphed(_boolean_mask, "boolean_mask", "boolean_mask"),
    "slice": graphed(_gathering.slice, "Slice"),
    "scatter_nd": graphed(_gathering.scatter_nd, "ScatterNd"),
    "tensor_scatter_nd_add": graphed(_gathering.tensor_scatter_nd_add),
    "tensor_scatter_nd_update": graphed(_gathering.tensor_scatter_nd_update),
}

# Matrices -----------------------------------------------------------------------------------


def _norm(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: Any = None,
    name: str | None = None, keep_dims: Any = None,
) -> Any:
    """The norm of vectors along an axis, or of all entries; its gradient at 0 is 0."""
    return _linalg.norm(tensor, ord, axis, bool(_older(keepdims, keep_dims, "norm", "keepdims")))


def _l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Any:
    """x / √max(Σ x², epsilon), with the sum over one axis, several axes, or all."""
    return _math.l2_normalize(x, _older(axis, dim, "l2_normalize", "axis"), epsilon)


def _average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Any:
    """Scales t down if its norm divided by its number of entries exceeds clip_norm."""
    t = operand(t)
    size = _linalg.norm(t) / ops.astype(operand(_size_of(t)), t._data.dtype)
    return t * clip_norm / ops.maximum(size, clip_norm)


def _size_of(t: Any) -> Any:
    from .arrays import size

    return size(t)


MATRICES: dict[str, Callable[..., Any]] = {
    "matmul": graphed(_linalg.matmul, "MatMul"), "matvec": graphed(_linalg.matvec, None, "MatVec"),
    "tensordot": graphed(_linalg.tensordot, None, "Tensordot"),
    "einsum": graphed(_linalg.einsum, None, "einsum"), "norm": graphed(_norm, None, "norm"),
    "matrix_transpose": graphed(_linalg.matrix_transpose, "matrix_transpose"),
    "matrix_band_part": graphed(_linalg.band_part, "MatrixBandPart"),
    "trace": graphed(_linalg.trace, None, "Trace"),
    "clip_by_norm": graphed(_linalg.clip_by_norm, None, "clip_by_norm"),
    "clip_by_global_norm": graphed(_linalg.clip_by_global_norm, None, "clip_by_global_norm"),
    "clip_by_average_norm": graphed(_average_norm, None, "clip_by_average_norm"),
    "global_norm": graphed(_linalg.global_norm, None, "global_norm"),
    "l2_normalize": graphed(_l2_normalize, None, "l2_normalize"),
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **MATH, **REDUCTIONS, **SHAPING, **POSITIONS, **MATRICES,
}
"""Top-level name -> function."""
