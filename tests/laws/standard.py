"""Signatures of the Python Array API standard, 2024.12 and 2025.12, of the main namespace.

`linalg` and `fft` are chapters of their own.
"""

from __future__ import annotations

UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj",
    "cos", "cosh", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log",
    "log1p", "log2", "log10", "logical_not", "negative", "positive", "real", "reciprocal",
    "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
]

BINARY = [
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal",
    "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract",
]

OTHERS = """
clip(x, /, min, max)
max(x, /, *, axis, keepdims)
mean(x, /, *, axis, keepdims)
min(x, /, *, axis, keepdims)
prod(x, /, *, axis, dtype, keepdims)
std(x, /, *, axis, correction, keepdims)
sum(x, /, *, axis, dtype, keepdims)
var(x, /, *, axis, correction, keepdims)
cumulative_sum(x, /, *, axis, dtype, include_initial)
cumulative_prod(x, /, *, axis, dtype, include_initial)
all(x, /, *, axis, keepdims)
any(x, /, *, axis, keepdims)
diff(x, /, *, axis, n, prepend, append)
count_nonzero(x, /, *, axis, keepdims)
broadcast_arrays(*arrays)
broadcast_shapes(*shapes)
isin(x1, x2, /, *, invert)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis)
expand_dims(x, /, *, axis)
flip(x, /, *, axis)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis)
reshape(x, /, shape, *, copy)
roll(x, /, shift, *, axis)
squeeze(x, /, axis)
stack(arrays, /, *, axis)
tile(x, repetitions, /)
unstack(x, /, *, axis)
take(x, indices, /, *, axis)
take_along_axis(x, indices, /, *, axis)
argmax(x, /, *, axis, keepdims)
argmin(x, /, *, axis, keepdims)
nonzero(x, /)
searchsorted(x1, x2, /, *, side, sorter)
where(condition, x1, x2, /)
argsort(x, /, *, axis, descending, stable)
sort(x, /, *, axis, descending, stable)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes)
vecdot(x1, x2, /, *, axis)
arange(start, /, stop, step, *, dtype, device)
asarray(obj, /, *, dtype, device, copy)
empty(shape, *, dtype, device)
empty_like(x, /, *, dtype, device)
eye(n_rows, n_cols, /, *, k, dtype, device)
from_dlpack(x, /, *, device, copy)
full(shape, fill_value, *, dtype, device)
full_like(x, /, fill_value, *, dtype, device)
linspace(start, stop, /, num, *, dtype, device, endpoint)
meshgrid(*arrays, indexing)
ones(shape, *, dtype, device)
ones_like(x, /, *, dtype, device)
tril(x, /, *, k)
triu(x, /, *, k)
zeros(shape, *, dtype, device)
zeros_like(x, /, *, dtype, device)
astype(x, dtype, /, *, copy, device)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
""".strip().splitlines()

CONSTANTS = ["e", "inf", "nan", "newaxis", "pi"]

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
    "float64", "complex64", "complex128",
]

SIGNATURES: dict[str, str] = {
    **dict.fromkeys(UNARY, "x, /"),
    **dict.fromkeys(BINARY, "x1, x2, /"),
    **{text.partition("(")[0]: text.partition("(")[2][:-1] for text in OTHERS},
}
"""name -> parameters, without defaults."""

LINALG: dict[str, str] = {
    text.partition("(")[0]: text.partition("(")[2][:-1]
    for text in """
cholesky(x, /, *, upper)
cross(x1, x2, /, *, axis)
det(x, /)
diagonal(x, /, *, offset)
eig(x, /)
eigh(x, /)
eigvals(x, /)
eigvalsh(x, /)
inv(x, /)
matmul(x1, x2, /)
matrix_norm(x, /, *, keepdims, ord)
matrix_power(x, n, /)
matrix_rank(x, /, *, rtol)
matrix_transpose(x, /)
outer(x1, x2, /)
pinv(x, /, *, rtol)
qr(x, /, *, mode)
slogdet(x, /)
solve(x1, x2, /)
svd(x, /, *, full_matrices)
svdvals(x, /)
tensordot(x1, x2, /, *, axes)
trace(x, /, *, offset, dtype)
vecdot(x1, x2, /, *, axis)
vector_norm(x, /, *, axis, keepdims, ord)
""".strip().splitlines()
}
"""The same of `linalg`."""
