"""Rows, as in `functions.py`, for special functions, matrices, segments, transforms, layers."""

from __future__ import annotations

from typing import Any

from tests.tf.functions import ABOVE, IMAGE, UNIT, Row, V, X, Y, _same, named, real

SMALL = real(3, 4, low=0.1, high=0.9)
SQUARE = real(2, 3, 3)
SEQUENCE, VOLUME = real(2, 7, 3), real(2, 4, 3, 5, 2)


def well(tf: Any, x: Any) -> Any:
    """Matrices that are far from singular."""
    return x + 4.0 * tf.eye(3, dtype=x.dtype)


def positive(tf: Any, x: Any) -> Any:
    """Symmetric, positive definite matrices."""
    return tf.matmul(x, x, transpose_b=True) + tf.eye(3, dtype=x.dtype)


def complexed(tf: Any, x: Any) -> Any:
    return tf.complex(x, x * 0.5 - 1.0)


def parts(tf: Any, z: Any) -> list[Any]:
    return [tf.math.real(z), tf.math.imag(z)]


SPECIAL: list[Row] = [
    *_same("math.lgamma math.digamma", ABOVE),
    *_same("math.erfinv math.bessel_i0 math.bessel_i0e math.bessel_i1 math.bessel_i1e", UNIT),
    *_same("math.special.bessel_j0 math.special.bessel_j1 math.special.bessel_i0 "
           "math.special.bessel_k0 math.special.bessel_k0e math.special.bessel_k1 "
           "math.special.bessel_k1e math.special.bessel_y0 math.special.bessel_y1", ABOVE),
    *_same("math.erfcinv math.ndtri", SMALL),
    ("math.igamma", lambda tf, x, y: tf.math.igamma(tf.stop_gradient(x), y), (ABOVE, ABOVE)),
    ("math.igammac", lambda tf, x, y: tf.math.igammac(tf.stop_gradient(x), y), (ABOVE, ABOVE)),
    ("math.betainc", lambda tf, a, x: tf.math.betainc(
        tf.stop_gradient(a), tf.stop_gradient(a + 0.5), x), (ABOVE, SMALL)),
    ("math.polygamma", lambda tf, x: tf.math.polygamma(tf.ones_like(x), x), (ABOVE,)),
    ("math.zeta", lambda tf, x: tf.math.zeta(tf.ones_like(x) * 3.0, x), (ABOVE,)),
    *_same("math.xdivy math.xlog1py", X, ABOVE),
    *_same("math.reciprocal_no_nan math.is_non_decreasing math.is_strictly_increasing "
           "math.softmax math.log_softmax math.softsign nn.crelu", X),
    ("math.scalar_mul", lambda tf, x: tf.math.scalar_mul(3.0, x), (X,)),
    ("math.accumulate_n", lambda tf, x, y: tf.math.accumulate_n([x, y, x]), (X, Y)),
    ("math.lbeta", named("math.lbeta"), (ABOVE,)),
    *[(f"math.cumulative_logsumexp {e} {r}", lambda tf, x, e=e, r=r: (
        tf.math.cumulative_logsumexp(x, axis=1, exclusive=e, reverse=r)), (X,))
      for e, r in ((False, False), (False, True))],
    ("math.zero_fraction nn.zero_fraction", lambda tf, x: [tf.math.zero_fraction(
        tf.nn.relu(x)), tf.nn.zero_fraction(x)], (X,)),
    ("math.in_top_k nn.in_top_k", lambda tf, x: [tf.math.in_top_k([0, 3, 1], x, 2),
                                                tf.nn.in_top_k([0, 3, 1], x, 1)], (X,)),
    ("math.confusion_matrix", lambda tf, x: [
        tf.math.confusion_matrix([0, 1, 1, 3], [0, 1, 0, 2]),
        tf.math.confusion_matrix([0, 1], [0, 1], num_classes=4, weights=[2, 3])], (X,)),
    ("math.invert_permutation", lambda tf, x: tf.math.invert_permutation([2, 0, 1, 3]), (X,)),
    ("math.bincount", lambda tf, x: [
        tf.math.bincount([1, 1, 4]), tf.math.bincount([1, 1, 4], minlength=7, maxlength=8),
        tf.math.bincount([[1, 1, 4], [0, 2, 2]], axis=-1),
        tf.math.bincount([1, 1, 4], binary_output=True)], (X,)),
    ("math.bincount weights", lambda tf, x: tf.math.bincount([1, 1, 3, 0], tf.stop_gradient(x)),
     (V,)),
]

SEGMENTS: list[Row] = [
    *[(f"math.segment_{n}", lambda tf, x, n=n: named(f"math.segment_{n}")(tf, x, [0, 0, 2]), (X,))
      for n in ("sum", "mean", "max", "min", "prod")],
    *[(f"math.unsorted_segment_{n}", lambda tf, x, n=n: named(f"math.unsorted_segment_{n}")(
        tf, x, [2, -1, 2], 4), (X,)) for n in ("sum", "mean", "sqrt_n", "max", "min", "prod")],
    ("math.unsorted_segment_sum of all axes", lambda tf, x: tf.math.unsorted_segment_sum(
        x, [[0, 1, 0, 1], [2, 2, 2, 2], [0, 0, 1, 1]], 3), (X,)),
    ("unsorted_segment_max ties", lambda tf, x: tf.math.unsorted_segment_max(
        tf.concat([x, x], 0), [0, 1, 0, 0, 1, 0], 2), (X,)),
    ("tensor_scatter_nd_sub", lambda tf, x, u: tf.tensor_scatter_nd_sub(
        x, [[0, 1], [2, 2], [0, 1]], u), (X, real(3))),
    ("tensor_scatter_nd_max", lambda tf, x, u: tf.tensor_scatter_nd_max(
        x, [[0, 1], [2, 2], [1, 1]], u), (X, real(3))),
    ("tensor_scatter_nd_min", lambda tf, x, u: tf.tensor_scatter_nd_min(
        x, [[0], [2]], u), (X, real(2, 4))),
]

MATRICES: list[Row] = [
    *[(f"linalg.{n}", lambda tf, x, n=n: named(f"linalg.{n}")(tf, well(tf, x)), (SQUARE,))
      for n in ("det", "inv", "pinv", "expm")],
    ("linalg.inv adjoint", lambda tf, x: tf.linalg.inv(well(tf, x), adjoint=True), (SQUARE,)),
    ("linalg.adjoint", named("linalg.adjoint"), (SQUARE,)),
    *[(f"linalg.{n}", lambda tf, x, n=n: named(f"linalg.{n}")(tf, positive(tf, x)), (SQUARE,))
      for n in ("cholesky", "logdet", "eigvalsh")],
    ("linalg.eigh", lambda tf, x: [tf.linalg.eigh(positive(tf, x))[0], tf.abs(
        tf.linalg.eigh(positive(tf, x))[1])], (SQUARE,)),
    ("linalg.slogdet", lambda tf, x: list(tf.linalg.slogdet(well(tf, x))), (SQUARE,)),
    ("linalg.svd", lambda tf, x: tf.linalg.svd(x, compute_uv=False), (real(2, 4, 3),)),
    ("linalg.svd vectors", lambda tf, x: [tf.abs(v) for v in tf.linalg.svd(x)], (SQUARE,)),
    ("linalg.qr", lambda tf, x: [tf.abs(v) for v in tf.linalg.qr(x)], (real(2, 4, 3),)),
    ("linalg.eig linalg.eigvals", lambda tf, x: [
        tf.sort(tf.math.real(tf.linalg.eigvals(tf.stop_gradient(positive(tf, x))))),
        tf.sort(tf.math.real(tf.linalg.eig(tf.stop_gradient(positive(tf, x)))[0]))], (SQUARE,)),
    ("linalg.solve", lambda tf, a, b: [tf.linalg.solve(well(tf, a), b), tf.linalg.solve(
        well(tf, a), b, adjoint=True)], (SQUARE, real(2, 3, 2))),
    *[(f"linalg.triangular_solve {low} {adj}", lambda tf, a, b, low=low, adj=adj: (
        tf.linalg.triangular_solve(well(tf, a), b, lower=low, adjoint=adj)), (SQUARE, real(2, 3, 2))
       ) for low in (True, False) for adj in (True, False)],
    ("linalg.cholesky_solve", lambda tf, a, b: tf.linalg.cholesky_solve(
        tf.linalg.cholesky(positive(tf, a)), b), (SQUARE, real(2, 3, 2))),
    *[(f"linalg.lstsq {shape} {weight}", lambda tf, a, b, w=weight: tf.linalg.lstsq(
        a, b, l2_regularizer=w), (real(*shape), real(shape[0], 2)))
      for shape in ((4, 3), (3, 4)) for weight in (0.0, 0.5)],
    ("linalg.matrix_rank", lambda tf, x: tf.linalg.matrix_rank(
        tf.stack([x, x * 0.0, tf.ones_like(x)])), (real(3, 3),)),
    ("linalg.cross", named("linalg.cross"), (real(4, 3), real(4, 3))),
    ("linalg.normalize", lambda tf, x: list(tf.linalg.normalize(x, axis=1)), (X,)),
    ("linalg.diag", lambda tf, x: [tf.linalg.diag(x), tf.linalg.diag(x, k=1), tf.linalg.diag(
        x, k=-2, padding_value=7.0)], (X,)),
    ("linalg.diag_part", lambda tf, x: [tf.linalg.diag_part(x), tf.linalg.diag_part(x, k=-1)],
     (SQUARE,)),
    ("linalg.set_diag", named("linalg.set_diag"), (SQUARE, real(2, 3))),
    ("linalg.tensor_diag", named("linalg.tensor_diag"), (X,)),
    ("linalg.tensor_diag_part", named("linalg.tensor_diag_part"), (real(2, 3, 2, 3),)),
]

SIGNAL: list[Row] = [
    *[(f"signal.{n}", lambda tf, x, n=n: parts(tf, named(f"signal.{n}")(tf, complexed(tf, x))),
       (real(2, 3, 4),)) for n in ("fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d")],
    *[(f"signal.{n}", lambda tf, x, n=n: parts(tf, named(f"signal.{n}")(tf, x)), (real(2, 3, 4),))
      for n in ("rfft", "rfft2d")],
    # The value only: TensorFlow has no gradient of real transforms over three axes.
    ("signal.rfft3d", lambda tf, x: parts(tf, tf.signal.rfft3d(tf.stop_gradient(x))),
     (real(2, 3, 4),)),
    ("signal.irfft3d", lambda tf, x: tf.signal.irfft3d(complexed(tf, tf.stop_gradient(x))),
     (real(2, 3, 4),)),
    *[(f"signal.{n} length", lambda tf, x, n=n, k=k: named(f"signal.{n}")(
        tf, complexed(tf, x), [5, 6][-k:]), (real(2, 3, 4),))
      for k, n in ((1, "irfft"), (2, "irfft2d"))],
    ("signal.rfft length", lambda tf, x: parts(tf, tf.signal.rfft(x, [6])), (X,)),
    ("signal.fftshift signal.ifftshift", lambda tf, x: [
        tf.signal.fftshift(x), tf.signal.fftshift(x, axes=[1]), tf.signal.ifftshift(x)], (X,)),
    ("signal.frame", lambda tf, x: [tf.signal.frame(x, 3, 2), tf.signal.frame(
        x, 3, 2, pad_end=True, pad_value=9.0)], (SEQUENCE,)),
    ("signal.overlap_and_add", lambda tf, x: tf.signal.overlap_and_add(x, 2), (SQUARE,)),
    ("signal.hann_window signal.hamming_window", lambda tf, x: [
        f(n, periodic=p) for n in (6, 5) for p in (True, False)
        for f in (tf.signal.hann_window, tf.signal.hamming_window)], (X,)),
]

LAYERS: list[Row] = [
    *[(f"nn.conv1d {p}", lambda tf, x, w, p=p: tf.nn.conv1d(x, w, 2, p), (SEQUENCE, real(3, 3, 2)))
      for p in ("SAME", "VALID")],
    *[(f"nn.conv3d {p}", lambda tf, x, w, p=p: tf.nn.conv3d(x, w, [1, 2, 1, 2, 1], p),
       (VOLUME, real(2, 2, 3, 2, 3))) for p in ("SAME", "VALID")],
    ("nn.convolution", lambda tf, x, w: tf.nn.convolution(x, w, strides=2, padding="SAME"),
     (IMAGE, real(3, 2, 3, 2))),
    ("nn.atrous_conv2d", lambda tf, x, w: tf.nn.atrous_conv2d(
        tf.stop_gradient(x), tf.stop_gradient(w), 2, "SAME"), (IMAGE, real(2, 2, 3, 2))),
    *[(f"nn.depthwise_conv2d {p}", lambda tf, x, w, p=p: tf.nn.depthwise_conv2d(
        x, w, [1, 2, 2, 1], p), (IMAGE, real(2, 2, 3, 2))) for p in ("SAME", "VALID")],
    ("nn.separable_conv2d", lambda tf, x, d, p: tf.nn.separable_conv2d(
        x, d, p, [1, 1, 1, 1], "SAME"), (IMAGE, real(2, 2, 3, 2), real(1, 1, 6, 4))),
    *[(f"nn.conv2d_transpose {p}", lambda tf, x, w, s=s, p=p: tf.nn.conv2d_transpose(
        x, w, [2, *s, 2], 2, p), (IMAGE, real(3, 2, 2, 3)))
      for s, p in (((10, 8), "SAME"), ((9, 7), "SAME"), ((11, 8), "VALID"))],
    ("nn.conv1d_transpose", lambda tf, x, w: tf.nn.conv1d_transpose(x, w, [2, 14, 2], 2),
     (SEQUENCE, real(3, 2, 3))),
    ("nn.conv3d_transpose", lambda tf, x, w: tf.nn.conv3d_transpose(x, w, [2, 8, 6, 10, 3], 2),
     (VOLUME, real(2, 2, 3, 3, 2))),
    ("nn.conv_transpose", lambda tf, x, w: tf.nn.conv_transpose(x, w, [2, 10, 8, 2], 2),
     (IMAGE, real(3, 2, 2, 3))),
    *[(f"nn.{n}_pool1d {p}", lambda tf, x, n=n, p=p: named(f"nn.{n}_pool1d")(tf, x, 3, 2, p),
       (SEQUENCE,)) for n in ("max", "avg") for p in ("SAME", "VALID")],
    *[(f"nn.{n}_pool3d {p}", lambda tf, x, n=n, p=p: named(f"nn.{n}_pool3d")(tf, x, 2, 2, p),
       (VOLUME,)) for n in ("max", "avg") for p in ("SAME", "VALID")],
    ("nn.max_pool nn.avg_pool", lambda tf, x: [tf.nn.max_pool(
        x, 2, 1, "SAME"), tf.nn.avg_pool(x, [2, 3], 2, "VALID")], (IMAGE,)),
    ("nn.pool", lambda tf, x: [tf.nn.pool(x, [2, 2], "MAX"), tf.nn.pool(
        x, [2, 2], "AVG", strides=[2, 2], padding="SAME")], (IMAGE,)),
    ("nn.space_to_depth nn.depth_to_space", lambda tf, x: [
        tf.nn.space_to_depth(x, 2), tf.nn.depth_to_space(x, 2)], (real(2, 4, 6, 4),)),
    ("nn.weighted_cross_entropy_with_logits", lambda tf, t, x: (
        tf.nn.weighted_cross_entropy_with_logits(t, x, 2.5)), (SMALL, X)),
    ("nn.log_poisson_loss", lambda tf, t, x: [tf.nn.log_poisson_loss(
        t, x), tf.nn.log_poisson_loss(t, x, compute_full_loss=True)], (ABOVE, X)),
    ("nn.weighted_moments", lambda tf, x, w: list(tf.nn.weighted_moments(x, [0], w)), (X, ABOVE)),
    ("nn.sufficient_statistics nn.normalize_moments", lambda tf, x: list(tf.nn.normalize_moments(
        *tf.nn.sufficient_statistics(x, [0], shift=tf.constant(0.25, x.dtype)))), (X,)),
    ("nn.batch_norm_with_global_normalization", lambda tf, x, m, v, b, g: (
        tf.nn.batch_norm_with_global_normalization(x, m, v, b, g, 1e-3, True)),
     (IMAGE, real(3), real(3, low=0.5), real(3), real(3))),
    ("nn.local_response_normalization nn.lrn", lambda tf, x: [
        tf.nn.local_response_normalization(x, 1, 1.0, 0.5, 0.75), tf.nn.lrn(x)], (IMAGE,)),
]

PLACES: list[Row] = [
    ("unique", lambda tf, x: [*tf.unique([5, 3, 5, 9, 3]), *tf.unique_with_counts(
        [2.0, 1.0, 2.0])], (X,)),
    ("sequence_mask", lambda tf, x: [tf.sequence_mask([1, 3]), tf.sequence_mask(
        [[1], [2]], 4, dtype=tf.float32)], (X,)),
    ("searchsorted", lambda tf, x: [
        tf.searchsorted([1.0, 3.0, 5.0], [3.0, 6.0, 0.0]),
        tf.searchsorted([[1, 3, 3], [0, 1, 2]], [[3, 4], [1, -1]], side="right")], (X,)),
    ("dynamic_partition", lambda tf, x: tf.dynamic_partition(x, [1, 0, 1], 3), (X,)),
    ("dynamic_stitch", lambda tf, x, y: tf.dynamic_stitch([[1, 3, 5], [0, 2, 4]], [x, y]), (X, Y)),
    ("reverse_sequence", lambda tf, x: tf.reverse_sequence(x, [1, 3, 4], seq_axis=1, batch_axis=0),
     (X,)),
    ("reverse_sequence time", lambda tf, x: tf.reverse_sequence(
        x, [1, 3, 2, 0], seq_axis=0, batch_axis=1), (X,)),
    ("unravel_index", lambda tf, x: tf.unravel_index([4, 5, 11], [3, 4]), (X,)),
    ("saturate_cast", lambda tf, x: tf.cast(tf.saturate_cast(x * 300.0, tf.uint8), tf.int32),
     (X,)),
    ("ensure_shape", lambda tf, x: tf.ensure_shape(x, [None, 4]) * x, (X,)),
    ("shape_n parallel_stack", lambda tf, x: [*tf.shape_n([x, x[0]]), tf.broadcast_dynamic_shape(
        [2, 1], [3])], (X,)),
    ("realdiv", named("realdiv"), (X, ABOVE)),
    ("truncatediv", lambda tf, x: [tf.truncatediv([-7, 7, -6], [2, -2, 4]), tf.truncatemod(
        [-7, 7, -6], [2, -2, 4]), tf.truncatemod(tf.stop_gradient(x), 0.7)], (X,)),
]

ROWS = [*PLACES, *SPECIAL, *SEGMENTS, *MATRICES, *SIGNAL, *LAYERS]

SINGLE = {
    "nn.local_response_normalization nn.lrn", "math.in_top_k nn.in_top_k", "nn.max_pool3d SAME",
    "nn.max_pool3d VALID", "nn.avg_pool3d SAME", "nn.avg_pool3d VALID",
    "signal.hann_window signal.hamming_window",
}
"""TensorFlow has them in float32 only."""


