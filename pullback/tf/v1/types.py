"""Operation types: TensorFlow's names for the core's operations, and the inverse mapping."""

from __future__ import annotations

from typing import Any

from ...core.op import OPS
from ...errors import UnknownNameError, suggestion

_NAMED = {
    "add": "AddV2", "subtract": "Sub", "multiply": "Mul", "divide": "RealDiv", "negative": "Neg",
    "floor_divide": "FloorDiv", "remainder": "FloorMod", "permute_dims": "Transpose",
    "matrix_transpose": "MatrixTranspose", "matmul": "MatMul", "where": "SelectV2",
    "astype": "Cast", "concat": "ConcatV2", "stack": "Pack", "getitem": "StridedSlice",
    "take": "GatherV2", "argmax": "ArgMax", "argmin": "ArgMin", "reciprocal": "Reciprocal",
    "cumulative_sum": "Cumsum", "cumulative_prod": "Cumprod", "isnan": "IsNan", "isinf": "IsInf",
    "isfinite": "IsFinite", "bitwise_invert": "Invert", "logsumexp": "LogSumExp",
    "cross_entropy": "SoftmaxCrossEntropyWithLogits", "convolution": "Conv2D",
    "hard_tanh": "Relu6", "max_pool": "MaxPool", "sum_pool": "SumPool", "flip": "ReverseV2",
    "make_complex": "Complex", "vector_norm": "EuclideanNorm", "pow": "Pow", "set_at": "SetAt",
    "add_at": "AddAt", "rfftn": "RFFT", "fftn": "FFT", "ifftn": "IFFT", "irfftn": "IRFFT",
    "qr": "Qr", "svd": "Svd", "lu": "Lu", "eigh": "SelfAdjointEigV2", "solve": "MatrixSolve",
    "constant": "Const", "read_variable": "ReadVariableOp", "assign": "AssignVariableOp",
    "expm1": "Expm1", "log1p": "Log1p", "tril": "LowerTriangle", "triu": "UpperTriangle",
    "variable": "VarHandleOp", "no_op": "NoOp", "roll": "Roll", "shape": "Shape",
    "numpy_function": "PyFunc", "full_like": "Fill", "silu": "Silu", "pad": "PadV2",
}
"""Core name -> TensorFlow type, where it is not the CamelCase form of the name."""

_ALSO = {
    "Add": "add", "Div": "divide", "Select": "where", "Gather": "take", "Inv": "reciprocal",
    "BatchMatMul": "matmul", "BatchMatMulV2": "matmul", "Concat": "concat", "Pad": "pad",
    "SparseSoftmaxCrossEntropyWithLogits": "cross_entropy", "Slice": "getitem", "Rint": "round",
    "LogSoftmax": "log_softmax", "PyFunc": "numpy_function",
    "PyFuncStateless": "numpy_function",
}
"""Additional TensorFlow types for the core's operations."""

_types: dict[str, str] = dict(_NAMED)


def type_of(name: str) -> str:
    """The TensorFlow operation type for a core operation name.

    >>> type_of("multiply"), type_of("all"), type_of("expand_dims")
    ('Mul', 'All', 'ExpandDims')
    """
    found = _types.get(name)
    if found is None:
        found = _types[name] = "".join(p[:1].upper() + p[1:] for p in name.split("_"))
    return found


def operation_of(type_name: Any) -> Any:
    """The core's name for an operation type; values that are not strings are returned unchanged.

    Raises `UnknownNameError` for a type that no operation here has.

    >>> operation_of("Mul"), operation_of("Sign")
    ('multiply', 'sign')
    """
    if not isinstance(type_name, str) or type_name in OPS:
        return type_name
    if type_name in _ALSO:
        return _ALSO[type_name]
    known = {type_of(name): name for name in OPS}
    if type_name not in known:
        raise UnknownNameError(
            f"operation type {type_name!r}", "an operation type that has a gradient here",
            "an unknown type", suggestion(type_name, [*known, *_ALSO]),
        )
    return known[type_name]


def is_type(name: str) -> bool:
    """True if a name is an operation type."""
    return name in _ALSO or name in {type_of(n) for n in OPS}
