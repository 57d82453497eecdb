"""Calls of NumPy's functions that have a rule here, each on arrays of given shapes.

A case is what a user writes, with `np` in it: the tests run it on arrays and on Tensors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import polynomial

from tests.parts import release

Call = Callable[..., Any]


class Case(NamedTuple):
    """One call: of which function, the call, the shapes of its arguments, and what they are.

    since   the first version of NumPy that takes such a call, where that is not the function's
    """

    name: str
    call: Call
    shapes: tuple[tuple[int, ...], ...]
    kind: str = "float"  # or "complex", "int"
    since: str = "2.0"


V, M, N, C = (4,), (3, 4), (4, 3), (2, 3, 4)
S = (3, 3)
POLY = "polynomial.polynomial"
MASK = np.array([True, False, True, True])


def case(name: str, call: Call, *shapes: tuple[int, ...], **how: str) -> Case:
    return Case(name, call, shapes, **how)


def spd(a: Any) -> Any:
    """A positive definite matrix with the given one in it."""
    return a @ a.mT + 2 * np.eye(3)


def fix(a: Any) -> Any:
    """numpy.fix, of which NumPy 2.5 and later say that it will go."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "numpy.fix is deprecated", DeprecationWarning)
        return np.fix(a)


def nans(a: Any) -> Any:
    """With NaN in places."""
    return np.where(np.arange(4) == 1, np.nan, a)


REDUCTIONS = [
    case("sum", lambda a: np.sum(a, axis=(0, 2), keepdims=True), C),
    case("sum", lambda a: np.sum(a, 1, initial=3.0, where=MASK), M),
    case("sum", lambda a: np.sum(a, dtype=np.float32), M),
    case("prod", lambda a: np.prod(a, axis=1, where=MASK, initial=2.0), M),
    case("max", lambda a: np.max(a, axis=0), M),
    case("max", lambda a: np.amax(a, initial=0.9, where=MASK, axis=1), M),
    case("min", lambda a: np.min(a, axis=-1, keepdims=True), M),
    case("min", lambda a: np.amin(a, initial=0.9, axis=0), M),
    case("all", lambda a: np.all(a > 1, axis=0, where=MASK), M),
    case("any", lambda a: np.any(a > 1, axis=1), M),
    case("mean", lambda a: np.mean(a, axis=1, where=MASK), M),
    case("mean", lambda a: np.mean(a, dtype=np.float32, axis=0), M),
    case("var", lambda a: np.var(a, axis=1, ddof=1), M),
    case("var", lambda a: np.var(a, axis=1, where=MASK, keepdims=True), M),
    case("var", lambda a: np.var(a, axis=0, correction=1), M, kind="complex"),
    case("std", lambda a: np.std(a, axis=0, ddof=1), M),
    case("std", lambda a: np.std(a, axis=1, where=MASK), M),
    case("average", lambda a, w: np.average(a, axis=0, weights=w), M, M),
    case("average", lambda a, w: np.average(a, axis=1, weights=w, returned=True), M, V),
    case("average", lambda a: np.average(a, axis=1), M),
    case("quantile", lambda a: np.quantile(a, [0.1, 0.75], axis=(0, 2)), C),
    case("quantile", lambda a: np.quantile(a, 0.3, axis=1, keepdims=True), M),
    case("percentile", lambda a: np.percentile(a, [[10], [60]], axis=0), M),
    *[case("quantile", lambda a, m=m: np.quantile(a, [0.3, 0.5], axis=1, method=m), M)
      for m in ("lower", "higher", "midpoint", "nearest")],
    case("nanquantile", lambda a: np.nanquantile(nans(a), [0.1, 0.75], axis=(0, 2)), C),
    case("nanquantile", lambda a: np.nanquantile(nans(a), 0.3, axis=1, method="higher"), M),
    case("nanpercentile", lambda a: np.nanpercentile(nans(a), 60, axis=1, keepdims=True), M),
    case("nanmedian", lambda a: np.nanmedian(nans(a), axis=1), M),
    case("median", lambda a: np.median(a, axis=1), M),
    case("median", lambda a: np.median(a, keepdims=True), M),
    case("ptp", lambda a: np.ptp(a, axis=1), M),
    case("argmax", lambda a: np.argmax(a, axis=1), M),
    case("argmin", lambda a: np.argmin(a, axis=0, keepdims=True), M),
    case("count_nonzero", lambda a: np.count_nonzero(a > 1, axis=0), M),
    case("cumsum", lambda a: np.cumsum(a), M),
    case("cumsum", lambda a: np.cumsum(a, axis=1), M),
    case("cumprod", lambda a: np.cumprod(a, axis=0), M),
    case("cumulative_sum", lambda a: np.cumulative_sum(a, include_initial=True), V),
    case("cumulative_prod", lambda a: np.cumulative_prod(a, axis=1), M),
    case("nansum", lambda a: np.nansum(nans(a), axis=0), M),
    case("nanprod", lambda a: np.nanprod(nans(a), axis=1), M),
    case("nanmean", lambda a: np.nanmean(nans(a), axis=1), M),
    case("nanvar", lambda a: np.nanvar(nans(a), axis=1, ddof=1), M),
    case("nanstd", lambda a: np.nanstd(nans(a), axis=1), M),
    case("nanmax", lambda a: np.nanmax(nans(a), axis=1), M),
    case("nanmin", lambda a: np.nanmin(nans(a)), M),
    case("nancumsum", lambda a: np.nancumsum(nans(a), axis=1), M),
    case("nancumprod", lambda a: np.nancumprod(nans(a)), M),
]

ELEMENTWISE = [
    case("where", lambda a, b: np.where(a > b, a, b), M, V),
    case("where", lambda a: np.where(a > 1), M),
    case("clip", lambda a: np.clip(a, 0.8, 1.2), M),
    case("clip", lambda a, b: np.clip(a, min=b), M, V, since="2.1"),
    case("select", lambda a, b: np.select([a > 1.2, a > 0.9], [a, b * b], 7.0), M, V),
    case("round", lambda a: np.round(a * 100, 1), M),
    case("around", lambda a: np.around(a * 100, -1), M),
    case("round", lambda a: np.round(a, 2), V, kind="int"),
    case("fix", lambda a: fix(-3 * a), M),
    case("angle", lambda a: np.angle(a, deg=True), M, kind="complex"),
    case("real", lambda a: np.real(a), M, kind="complex"),
    case("imag", lambda a: np.imag(a), M, kind="complex"),
    case("imag", lambda a: np.imag(a), M),
    case("sinc", lambda a: np.sinc(a), M),
    case("sinc", lambda a: np.sinc(a - a), M),
    case("i0", lambda a: np.i0(a), M),
    case("nan_to_num", lambda a: np.nan_to_num(nans(a), nan=2.0), M),
    case("interp", lambda a, y: np.interp(a, [0.7, 0.9, 1.2, 1.3], y), M, V),
    case("interp", lambda a: np.interp(a, [0.7, 1.2], [3.0, 1.0], left=0.0, right=9.0), M),
    case("polyval", lambda p, x: np.polyval(p, x), V, M),
    case("vander", lambda a: np.vander(a, 3), V),
    case("vander", lambda a: np.vander(a, increasing=True), V),
    case("trapezoid", lambda y: np.trapezoid(y, dx=0.3, axis=0), M),
    case("trapezoid", lambda y, x: np.trapezoid(y, x), M, V),
    case("diff", lambda a: np.diff(a, n=2, axis=0), M),
    case("diff", lambda a, b: np.diff(a, prepend=1.0, append=b), M, (3, 2)),
    case("gradient", lambda a: np.gradient(a, axis=1), M),
    case("gradient", lambda a: np.gradient(a, 0.5, axis=-1, edge_order=2), M),
    case("gradient", lambda a: np.gradient(a, 2.0, [0.0, 1.0, 3.0, 3.5])[0], (3, 4)),
    case("gradient", lambda a: np.gradient(a, 2.0, [0.0, 1.0, 3.0, 3.5], edge_order=2)[1], (3, 4)),
    case("gradient", lambda a, x: np.gradient(a, np.cumsum(np.exp(x))), V, V),
    case("gradient", lambda a: np.gradient(a, 2, axis=(0, 1))[1], M, kind="int"),
    case("ediff1d", lambda a: np.ediff1d(a, to_end=[1.0, 2.0]), M),
    case("linspace", lambda a, b: np.linspace(a, b, 5), V, V),
    case("linspace", lambda a, b: np.linspace(a, b, 1), V, V),
    case("linspace", lambda a, b: np.linspace(a, b, 0), (), ()),
    case("linspace", lambda a: np.linspace(a, 3.0, 4, endpoint=False, retstep=True, axis=1), V),
    case("logspace", lambda a: np.logspace(a, 2.0, 4), V),
    case("convolve", lambda a, v: np.convolve(a, v), (5,), (3,)),
    case("convolve", lambda a, v: np.convolve(a, v, "same"), (3,), (4,)),
    case("convolve", lambda a, v: np.convolve(a, v, "valid"), (5,), (3,)),
    case("correlate", lambda a, v: np.correlate(a, v), (5,), (3,)),
    case("correlate", lambda a, v: np.correlate(a, v, "full"), (3,), (5,)),
    case("correlate", lambda a, v: np.correlate(a, v, "same"), (5,), (4,), kind="complex"),
    case("bincount", lambda w: np.bincount([2, 0, 2, 4], w, minlength=7), V),
]

SHAPES = [
    case("reshape", lambda a: np.reshape(a, (2, -1)), M),
    case("ravel", lambda a: np.ravel(a), M),
    case("resize", lambda a: np.resize(a, (3, 6)), M),
    case("transpose", lambda a: np.transpose(a), C),
    case("transpose", lambda a: np.transpose(a, (1, 2, 0)), C),
    case("squeeze", lambda a: np.squeeze(a), (1, 3, 1)),
    case("squeeze", lambda a: np.squeeze(a, axis=0), (1, 3, 1)),
    case("rollaxis", lambda a: np.rollaxis(a, 2), C),
    case("rollaxis", lambda a: np.rollaxis(a, 0, 3), C),
    *[case("rot90", lambda a, k=k: np.rot90(a, k, (0, 2)), C) for k in range(4)],
    case("expand_dims", lambda a: np.expand_dims(a, (0, -1)), M),
    case("expand_dims", lambda a: np.expand_dims(a, 1), M),
    case("flip", lambda a: np.flip(a, axis=(0, 2)), C),
    case("fliplr", lambda a: np.fliplr(a), M),
    case("flipud", lambda a: np.flipud(a), M),
    case("swapaxes", lambda a: np.swapaxes(a, 0, 2), C),
    case("moveaxis", lambda a: np.moveaxis(a, 0, -1), C),
    case("matrix_transpose", lambda a: np.matrix_transpose(a), C),
    case("linalg.matrix_transpose", lambda a: np.linalg.matrix_transpose(a), C),
    case("roll", lambda a: np.roll(a, (1, 2), axis=(0, 1)), M),
    case("tile", lambda a: np.tile(a, (2, 1, 2)), M),
    case("repeat", lambda a: np.repeat(a, [1, 0, 2, 1], axis=1), M),
    case("broadcast_to", lambda a: np.broadcast_to(a, (3, 4)), V),
    case("broadcast_arrays", lambda a, b: np.broadcast_arrays(a, b), V, (3, 1)),
    case("meshgrid", lambda a, b: np.meshgrid(a, b, indexing="ij"), V, (3,)),
    case("atleast_1d", lambda a: np.atleast_1d(a), ()),
    case("atleast_2d", lambda a, b: np.atleast_2d(a, b), V, M),
    case("atleast_3d", lambda a, b: np.atleast_3d(a, b), V, M),
    case("concatenate", lambda a, b: np.concatenate([a, b], axis=1), M, (3, 2)),
    case("concatenate", lambda a, b: np.concatenate((a, b), axis=None, dtype="f4"), M, V),
    case("stack", lambda a, b: np.stack([a, b], axis=-1), M, M),
    case("vstack", lambda a, b: np.vstack([a, b]), V, M),
    case("hstack", lambda a, b: np.hstack([a, b]), V, (2,)),
    case("hstack", lambda a, b: np.hstack([a, b]), M, (3, 1)),
    case("dstack", lambda a, b: np.dstack([a, b]), M, M),
    case("column_stack", lambda a, b: np.column_stack([a, b]), (3,), (3, 2)),
    case("append", lambda a: np.append(a, [1.0, 2.0]), M),
    case("append", lambda a, b: np.append(a, b, axis=0), M, M),
    case("block", lambda a, b: np.block([[a, b], [np.ones((1, 7))]]), M, S),
    case("block", lambda a: np.block([a, 1.0, a]), V),
    case("pad", lambda a: np.pad(a, ((1, 0), (2, 1)), constant_values=3.0), M),
    *[case("pad", lambda a, m=m: np.pad(a, (2, 3), mode=m), M)
      for m in ("edge", "wrap", "reflect", "symmetric")],
    case("split", lambda a: np.split(a, 2, axis=1), M),
    case("split", lambda a: np.split(a, [1, 3], axis=1), M),
    case("array_split", lambda a: np.array_split(a, 3, axis=1), M),
    case("array_split", lambda a: np.array_split(a, [2, 1, 9]), V),
    case("hsplit", lambda a: np.hsplit(a, 2), M),
    case("vsplit", lambda a: np.vsplit(a, [1]), M),
    case("dsplit", lambda a: np.dsplit(a, 2), C),
    case("unstack", lambda a: np.unstack(a, axis=1), M),
    case("zeros_like", lambda a: np.zeros_like(a, dtype=np.float32), M),
    case("ones_like", lambda a: np.ones_like(a), M),
    case("empty_like", lambda a: 0 * np.isnan(np.empty_like(a)), M),
    case("full_like", lambda a, b: np.full_like(a, b), M, V),
    case("copy", lambda a: np.copy(a), M),
    case("array", lambda a: np.array([[a[0] ** 3, 2.0], [1, a[1]]], like=a), V),
    case("array", lambda a: np.array([a, 2 * a], np.float32, ndmin=3, like=a), V),
    case("asarray", lambda a: np.asarray([(a, a)], like=a), M),
    case("asanyarray", lambda a: np.asanyarray(a, like=a), M),
    case("full", lambda a: np.full((2, 3), a[1], like=a), V),
    case("full", lambda a: np.full(3, a[1], np.float32, like=a), V),
    case("astype", lambda a: np.astype(a, np.float32), M),
    case("shape", lambda a: np.array(np.shape(a)), M),
    case("ndim", lambda a: np.array(np.ndim(a)), M),
    case("size", lambda a: np.array([np.size(a), np.size(a, 1)]), M),
]

PICKING = [
    case("take", lambda a: np.take(a, [[0, 2], [2, 5]]), M),
    case("take", lambda a: np.take(a, [-1, 5], axis=1, mode="wrap"), M),
    case("take", lambda a: np.take(a, 9, axis=0, mode="clip"), M),
    case("take_along_axis", lambda a: np.take_along_axis(a, np.argsort(a, axis=1), axis=1), M),
    case("take_along_axis", lambda a: np.take_along_axis(a, np.array([3, 1]), axis=None), M),
    case("compress", lambda a: np.compress([True, False, True], a, axis=0), M),
    case("extract", lambda a: np.extract(a > 1, a), M),
    case("delete", lambda a: np.delete(a, [0, 2], axis=1), M),
    case("delete", lambda a: np.delete(a, slice(1, 4)), M),
    case("choose", lambda a, b: np.choose([0, 1, 1, 0], [a, b]), V, M),
    case("nonzero", lambda a: np.nonzero(a > 1), M),
    case("argwhere", lambda a: np.argwhere(a > 1), M),
    case("flatnonzero", lambda a: np.flatnonzero(a > 1), M),
    case("searchsorted", lambda a: np.searchsorted([0.8, 1.0, 1.2], a, side="right"), M),
    case("isin", lambda a: np.isin(a, a[1:], invert=True), M),
    case("sort", lambda a: np.sort(a, axis=0), M),
    case("partition", lambda a: np.partition(a, 1, axis=0)[1], M),
    case("partition", lambda a: np.partition(a, [2, 5], axis=None)[[2, 5]], M),
    case("sort", lambda a: np.sort(a, axis=None, kind="stable"), M),
    case("argsort", lambda a: np.argsort(a), M),
    case("unique_all", lambda a: np.unique_all(a % 3), (6,), kind="int"),
    case("unique_counts", lambda a: np.unique_counts(a), V, kind="int"),
    case("unique_inverse", lambda a: np.unique_inverse(a), V, kind="int"),
    case("unique_values", lambda a: np.sort(np.unique_values(a)), V, kind="int"),
    case("diagonal", lambda a: np.diagonal(a, 1, 0, 2), C),
    case("linalg.diagonal", lambda a: np.linalg.diagonal(a, offset=-1), C),
    case("trace", lambda a: np.trace(a, offset=1, axis1=2, axis2=0), C),
    case("linalg.trace", lambda a: np.linalg.trace(a), C),
    *[case("diag", lambda a, k=k: np.diag(a, k), V) for k in (-2, 0, 1)],
    *[case("diag", lambda a, k=k: np.diag(a, k), M) for k in (-2, 0, 1, 7)],
    case("diagflat", lambda a: np.diagflat(a, 1), M),
    case("tril", lambda a: np.tril(a, -1), C),
    case("triu", lambda a: np.triu(a, k=1), M),
]

LINEAR = [
    case("dot", lambda a, b: np.dot(a, b), C, (5, 4, 2)),
    case("dot", lambda a, b: np.dot(a, b), C, V),
    case("dot", lambda a, b: np.dot(a, b), (), M),
    case("inner", lambda a, b: np.inner(a, b), C, (5, 4)),
    case("inner", lambda a, b: np.inner(a, b), V, ()),
    case("vdot", lambda a, b: np.vdot(a, b), M, M, kind="complex"),
    case("outer", lambda a, b: np.outer(a, b), M, V),
    case("linalg.outer", lambda a, b: np.linalg.outer(a, b), V, (3,)),
    case("kron", lambda a, b: np.kron(a, b), M, (2, 2)),
    case("kron", lambda a, b: np.kron(a, b), V, M),
    case("tensordot", lambda a, b: np.tensordot(a, b, axes=([0, 2], [1, 0])), C, (4, 2)),
    case("tensordot", lambda a, b: np.tensordot(a, b, 1), C, N),
    case("linalg.tensordot", lambda a, b: np.linalg.tensordot(a, b, axes=0), V, V),
    case("linalg.matmul", lambda a, b: np.linalg.matmul(a, b), M, N),
    case("linalg.vecdot", lambda a, b: np.linalg.vecdot(a, b), M, V, kind="complex"),
    case("einsum", lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), M, N),
    case("einsum", lambda a, b: np.einsum(a, [..., 3], b, [3, 27]), C, N),
    case("einsum", lambda a, b: np.einsum("ij,jk->ik", a, b, optimize=True), M, N),
    case("cross", lambda a, b: np.cross(a, b), S, (3,)),
    case("cross", lambda a, b: np.cross(a, b, axis=0), (3, 2), (3, 2)),
    case("linalg.cross", lambda a, b: np.linalg.cross(a, b), S, S),
    case("linalg.multi_dot", lambda a, b, c: np.linalg.multi_dot([a, b, c]), M, N, M),
    case("cov", lambda a: np.cov(a), M),
    case("cov", lambda a, b: np.cov(a, b, rowvar=False, ddof=0), M, (3, 2), kind="complex"),
    case("cov", lambda a: np.cov(a, bias=True), V),
    case("cov", lambda a, w: np.cov(a, aweights=w, fweights=[1, 2, 1, 3]), M, V),
    case("cov", lambda a: np.cov(a, fweights=[1, 2, 1, 3]), M),
    case("corrcoef", lambda a: np.corrcoef(a), M),
    case("linalg.det", lambda a: np.linalg.det(spd(a)), (2, 3, 3)),
    case("linalg.inv", lambda a: np.linalg.inv(spd(a)), S),
    case("linalg.slogdet", lambda a: np.linalg.slogdet(spd(a)).logabsdet, S),
    case("linalg.eig", lambda a: np.sort(np.real(np.linalg.eig(spd(a)).eigenvalues)), S),
    case("linalg.eigvals", lambda a: np.sort(np.real(np.linalg.eigvals(spd(a)))), S),
    case("linalg.svdvals", lambda a: np.linalg.svdvals(a), M),
    case("linalg.solve", lambda a, b: np.linalg.solve(spd(a), b), S, (3,)),
    case("linalg.tensorsolve", lambda a, b: np.linalg.tensorsolve(
        np.reshape(spd(a), (3, 3, 1)), b), S, (3,)),
    case("linalg.tensorinv", lambda a: np.linalg.tensorinv(
        np.reshape(spd(a), (3, 1, 3)), ind=1), S),
    case("linalg.cholesky", lambda a: np.linalg.cholesky(spd(a), upper=True), S),
    *[case("linalg.cholesky", lambda a, u=u: np.linalg.cholesky(a + 9 * np.eye(3), upper=u), S)
      for u in (False, True)],
    case("linalg.qr", lambda a: np.abs(np.linalg.qr(a, mode="r")), N),
    case("linalg.qr", lambda a: np.abs(np.linalg.qr(a).Q), N),
    *[case("linalg.eigh", lambda a, u=u: np.abs(np.linalg.eigh(a, UPLO=u).eigenvectors), S)
      for u in "LU"],
    case("linalg.eigh", lambda a: np.linalg.eigh(a)[0], S, kind="complex"),
    case("linalg.eigvalsh", lambda a: np.linalg.eigvalsh(a, "U"), S),
    case("linalg.svd", lambda a: np.linalg.svd(a, full_matrices=False).S, M),
    case("linalg.svd", lambda a: np.linalg.svd(a, compute_uv=False), M),
    case("linalg.pinv", lambda a: np.linalg.pinv(a), M),
    case("linalg.matrix_power", lambda a: np.linalg.matrix_power(a, 3), S),
    case("linalg.norm", lambda a: np.linalg.norm(a), C),
    case("linalg.norm", lambda a: np.linalg.norm(a, 1, axis=1, keepdims=True), M),
    case("linalg.norm", lambda a: np.linalg.norm(a, ord=3), V),
    case("linalg.norm", lambda a: np.linalg.norm(a, "fro", axis=(0, 2)), C),
    case("linalg.norm", lambda a: np.linalg.norm(a, np.inf, axis=(0, 1)), C),
    case("linalg.norm", lambda a: np.linalg.norm(a, 2), M),
    case("linalg.vector_norm", lambda a: np.linalg.vector_norm(a, axis=1, ord=4), M),
    case("linalg.matrix_norm", lambda a: np.linalg.matrix_norm(a, ord="nuc"), C),
    case("linalg.cond", lambda a: np.linalg.cond(spd(a)), S),
    case("linalg.cond", lambda a: np.linalg.cond(spd(a), 1), S),
    case("fft.fft", lambda a: np.fft.fft(a, 6, norm="ortho"), M, kind="complex"),
    case("fft.ifft", lambda a: np.fft.ifft(a, axis=0), M, kind="complex"),
    case("fft.rfft", lambda a: np.fft.rfft(a), M),
    case("fft.irfft", lambda a: np.fft.irfft(a, n=5), M, kind="complex"),
    case("fft.hfft", lambda a: np.fft.hfft(a), M, kind="complex"),
    case("fft.ihfft", lambda a: np.fft.ihfft(a), M),
    case("fft.fftn", lambda a: np.fft.fftn(a), M, kind="complex"),
    case("fft.ifftn", lambda a: np.fft.ifftn(a, s=(2, 5), axes=(0, 1)), M, kind="complex"),
    case("fft.rfftn", lambda a: np.fft.rfftn(a), C),
    case("fft.irfftn", lambda a: np.fft.irfftn(a, axes=(0, 1)), M, kind="complex"),
    case("fft.fft2", lambda a: np.fft.fft2(a), C, kind="complex"),
    case("fft.ifft2", lambda a: np.fft.ifft2(a, axes=(0, 1)), C, kind="complex"),
    case("fft.rfft2", lambda a: np.fft.rfft2(a), C),
    case("fft.irfft2", lambda a: np.fft.irfft2(a), C, kind="complex"),
    case("fft.fftshift", lambda a: np.fft.fftshift(a), (3, 5)),
    case("fft.ifftshift", lambda a: np.fft.ifftshift(a, axes=1), (3, 5)),
]

POLYNOMIALS = [
    case(f"{POLY}.polyval2d", lambda x, y, c: polynomial.polyval2d(x, y, c), V, V, (3, 2)),
    case(f"{POLY}.polyval2d", lambda x, y, c: polynomial.polyval2d(x, y, c), M, M, (2, 3, 2)),
    case(f"{POLY}.polyval2d", lambda x, c: polynomial.polyval2d(x, x, c), V, (3,)),
    case(f"{POLY}.polyval2d", lambda x, c: polynomial.polyval2d(x, x, c), V, (), kind="int"),
    case(f"{POLY}.polygrid2d", lambda x, y, c: polynomial.polygrid2d(x, y, c), V, M, (3, 2)),
    case(f"{POLY}.polygrid2d", lambda x, c: polynomial.polygrid2d(x, 2.0, c), V, (3, 1, 2)),
    case(f"{POLY}.polyvalnd", lambda x, y, z, c: polynomial.polyvalnd((x, y, z), c),
         V, V, V, (3, 2, 2)),
    case(f"{POLY}.polyvalnd", lambda x, c: polynomial.polyvalnd([x, 1j * x], c), V, (3, 2, 2),
         kind="complex"),
]

SINCE = {
    "cumulative_prod": "2.1", "cumulative_sum": "2.1", "unstack": "2.1",
    f"{POLY}.polygrid2d": "2.4", f"{POLY}.polyval2d": "2.4", f"{POLY}.polyvalnd": "2.5",
}
"""Function -> the first version of NumPy, after the oldest supported, in which it asks Tensors."""
UNTIL = {"in1d": "2.4"}
"""Function -> the version of NumPy in which it is gone."""


HERE = release(np.__version__)


def is_there(name: str) -> bool:
    """Whether the installed NumPy has a function, and asks Tensors about it."""
    return release(SINCE.get(name, "2.0")) <= HERE < release(UNTIL.get(name, "99.0"))


EVERY = [*REDUCTIONS, *ELEMENTWISE, *SHAPES, *PICKING, *LINEAR, *POLYNOMIALS]
CASES = [c for c in EVERY if is_there(c.name) and release(c.since) <= HERE]
