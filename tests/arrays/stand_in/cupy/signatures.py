"""The functions of CuPy 14 that the stand-in has, each with CuPy's parameters.

Where CuPy is installed, `tests/arrays/test_cupy.py` holds this list against it.
"""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


def _lines(text: str) -> list[str]:
    """The lines; one that begins with a blank goes on with the line before."""
    return text.strip().replace("\n ", "").splitlines()


UFUNCS = _words("""
abs absolute arccos arccosh add arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_or
bitwise_xor cbrt ceil conj conjugate copysign cos cosh divide equal exp exp2 expm1 floor
floor_divide greater greater_equal hypot invert isfinite isinf isnan left_shift less less_equal log
log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply
negative nextafter not_equal positive power reciprocal remainder right_shift rint sign signbit sin
sinh sqrt square subtract tan tanh trunc true_divide
""")

FUNCTIONS = _lines("""
all(a, axis=None, out=None, keepdims=False)
any(a, axis=None, out=None, keepdims=False)
amax(a, axis=None, out=None, keepdims=False)
amin(a, axis=None, out=None, keepdims=False)
angle(z, deg=False)
argmax(a, axis=None, dtype=None, out=None, keepdims=False)
argmin(a, axis=None, dtype=None, out=None, keepdims=False)
argsort(a, axis=-1, kind=None)
broadcast_to(array, shape)
clip(a, a_min, a_max, out=None)
concatenate(tup, axis=0, out=None, *, dtype=None, casting='same_kind')
count_nonzero(a, axis=None)
cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None)
cumprod(a, axis=None, dtype=None, out=None)
cumsum(a, axis=None, dtype=None, out=None)
diagonal(a, offset=0, axis1=0, axis2=1)
expand_dims(a, axis)
flip(a, axis=None)
imag(val)
isin(element, test_elements, assume_unique=False, invert=False)
mean(a, axis=None, dtype=None, out=None, keepdims=False)
max(a, axis=None, out=None, keepdims=False)
min(a, axis=None, out=None, keepdims=False)
moveaxis(a, source, destination)
nonzero(a)
pad(array, pad_width, mode='constant', **kwargs)
prod(a, axis=None, dtype=None, out=None, keepdims=False)
real(val)
repeat(a, repeats, axis=None)
reshape(a, newshape, order='C', *, copy=None)
roll(a, shift, axis=None)
round(a, decimals=0, out=None)
searchsorted(a, v, side='left', sorter=None)
sort(a, axis=-1, kind=None)
squeeze(a, axis=None)
stack(tup, axis=0, out=None, *, dtype=None, casting='same_kind')
std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False)
sum(a, axis=None, dtype=None, out=None, keepdims=False)
swapaxes(a, axis1, axis2)
take(a, indices, axis=None, out=None)
take_along_axis(a, indices, axis)
tensordot(a, b, axes=2)
tile(A, reps)
transpose(a, axes=None)
tril(m, k=0)
triu(m, k=0)
unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None,
  *, equal_nan=True)
var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False)
where(condition, x=None, y=None)
zeros_like(a, dtype=None, order='K', subok=None, shape=None)
ones_like(a, dtype=None, order='K', subok=None, shape=None)
empty_like(prototype, dtype=None, order='K', subok=None, shape=None)
full_like(a, fill_value, dtype=None, order='K', subok=None, shape=None)
ascontiguousarray(a, dtype=None)
""")

MAKING = _lines("""
arange(start, stop=None, step=1, dtype=None)
array(obj, dtype=None, copy=True, order='K', subok=False, ndmin=0, *, blocking=False)
asarray(a, dtype=None, order=None, *, copy=None, blocking=False)
empty(shape, dtype=float, order='C')
eye(N, M=None, k=0, dtype=float, order='C')
full(shape, fill_value, dtype=None, order='C')
linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0)
ones(shape, dtype=float, order='C')
zeros(shape, dtype=float, order='C')
""")

LINALG = _lines("""
cholesky(a)
det(a)
eig(a)
eigh(a, UPLO='L')
eigvals(a)
eigvalsh(a, UPLO='L')
inv(a)
norm(x, ord=None, axis=None, keepdims=False)
pinv(a, rcond=1e-15)
qr(a, mode='reduced')
slogdet(a)
solve(a, b)
svd(a, full_matrices=True, compute_uv=True)
""")

FFT = _lines("""
fft(a, n=None, axis=-1, norm=None)
ifft(a, n=None, axis=-1, norm=None)
fftn(a, s=None, axes=None, norm=None)
ifftn(a, s=None, axes=None, norm=None)
rfft(a, n=None, axis=-1, norm=None)
irfft(a, n=None, axis=-1, norm=None)
rfftn(a, s=None, axes=None, norm=None)
irfftn(a, s=None, axes=None, norm=None)
""")

SPECIAL = _words("""
beta betainc betaln digamma entr erf erfc erfcinv erfcx erfinv gamma gammainc gammaincc gammaln i0
i0e i1 i1e j0 j1 k0 k0e k1 k1e kl_div log_ndtr logit ndtr ndtri rel_entr xlog1py xlogy y0 y1 zeta
""")
