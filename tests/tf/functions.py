"""A row for every function of tensors: how it is called, and what on.

A row is (name, call, samples): `call(tf, *tensors)` returns a tensor or a list of them, a sample
draws an array from a generator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Sample = Callable[[np.random.Generator], np.ndarray]
Row = tuple[str, Callable[..., Any], tuple[Sample, ...]]


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Sample:
    """Numbers that are pairwise different and keep away from whole and half numbers."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        n = int(np.prod(shape))
        steps = low + (high - low) * (np.arange(n) + 0.37) / n
        return rng.permutation(steps).reshape(shape)

    return draw


X, Y, V, ROW = real(3, 4), real(3, 4, low=-1.9, high=1.7), real(4), real(1, 4, high=1.5)
ABOVE, UNIT, OVER_ONE = real(3, 4, low=0.2), real(3, 4, low=-0.9, high=0.9), real(3, 4, low=1.1)
IMAGE, FILTERS = real(2, 5, 4, 3), real(3, 2, 3, 2)


def named(path: str) -> Callable[..., Any]:
    """Call the function of this name."""

    def call(tf: Any, *xs: Any, **keywords: Any) -> Any:
        function = tf
        for part in path.split("."):
            function = getattr(function, part)
        return function(*xs, **keywords)

    return call


SINGLE = {"nn.gelu", "nn.gelu approximate", "nn.leaky_relu"}
"""Compared in float32 only: TensorFlow rounds their constants to it for float64 too."""


def _same(names: str, *samples: Sample) -> list[Row]:
    return [(name, named(name), samples) for name in names.split()]


ROWS: list[Row] = [
    *_same("math.abs math.negative math.sign math.square math.exp math.expm1 math.sin math.cos "
           "math.tan math.atan math.sinh math.cosh math.tanh math.asinh math.sigmoid math.erf "
           "math.erfc math.log_sigmoid math.softplus math.floor math.ceil math.rint math.round "
           "math.reciprocal math.conj math.real math.imag nn.relu nn.relu6 nn.elu nn.selu "
           "nn.gelu nn.silu nn.swish nn.softsign nn.leaky_relu nn.softmax nn.log_softmax "
           "nn.l2_loss nn.tanh nn.sigmoid nn.softplus identity", X),
    *_same("math.log math.log1p math.sqrt math.rsqrt", ABOVE),
    *_same("math.asin math.acos math.atanh", UNIT),
    *_same("math.acosh", OVER_ONE),
    *_same("math.add math.subtract math.multiply math.maximum math.minimum math.atan2 "
           "math.squared_difference", X, ROW),
    *_same("math.divide math.truediv math.divide_no_nan math.floordiv math.floormod math.mod "
           "math.xlogy math.multiply_no_nan", X, ABOVE),
    *_same("math.pow", ABOVE, X),
    *_same("math.equal math.not_equal math.less math.less_equal math.greater "
           "math.greater_equal math.nextafter", X, Y),
    *_same("math.is_nan math.is_inf math.is_finite math.angle", X),
    *_same("complex", X, Y),
    ("math.add_n", lambda tf, *xs: tf.math.add_n(list(xs)), (X, Y, X)),
    ("math.polyval", lambda tf, x, c: tf.math.polyval([c, c, c], x), (X, real(1))),
    ("math.clip_by_value", lambda tf, x: tf.clip_by_value(x, -1.0, 0.6), (X,)),
    ("math.l2_normalize", lambda tf, x: tf.math.l2_normalize(x, axis=1), (X,)),
    ("math.top_k", lambda tf, x: list(tf.math.top_k(x, 2)), (X,)),
    ("nn.top_k", lambda tf, x: tf.nn.top_k(x, 3).values, (X,)),
    ("nn.leaky_relu alpha", lambda tf, x: tf.nn.leaky_relu(x, alpha=0.25), (X,)),
    ("nn.gelu approximate", lambda tf, x: tf.nn.gelu(x, approximate=True), (X,)),
    ("nn.silu beta", lambda tf, x: tf.nn.silu(x, beta=1.5), (X,)),
    ("nn.softmax axis", lambda tf, x: tf.nn.softmax(x, axis=0), (X,)),
    # Reductions
    *_same("reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_logsumexp "
           "math.reduce_std math.reduce_variance math.reduce_euclidean_norm norm "
           "math.count_nonzero", X),
    *[(f"{name} axis", lambda tf, x, n=name: named(n)(tf, x, axis=1, keepdims=True), (X,))
      for name in ("math.reduce_sum", "math.reduce_mean", "math.reduce_max", "math.reduce_min",
                   "math.reduce_prod", "math.reduce_logsumexp", "math.reduce_std",
                   "math.reduce_variance", "math.reduce_euclidean_norm", "linalg.norm")],
    ("reduce_sum axes", lambda tf, x: tf.reduce_sum(x, axis=[0, -1]), (real(2, 3, 4),)),
    ("reduce_all", lambda tf, x: tf.math.reduce_all(x > 0, axis=0), (X,)),
    ("reduce_any", lambda tf, x: tf.math.reduce_any(x > 0, axis=1), (X,)),
    ("logical", lambda tf, x, y: [tf.math.logical_and(x > 0, y > 0), tf.math.logical_or(
        x > 0, y > 0), tf.math.logical_xor(x > 0, y > 0), tf.math.logical_not(x > 0)], (X, Y)),
    ("argmax", lambda tf, x: [tf.argmax(x), tf.argmin(x, axis=1), tf.argmax(
        x, 1, output_type=tf.int32)], (X,)),
    *[(f"{name} {e}{r}", lambda tf, x, n=name, e=e, r=r: named(n)(
        tf, x, axis=1, exclusive=e, reverse=r), (X,))
      for name in ("math.cumsum", "math.cumprod") for e in (False, True) for r in (False, True)],
    # Products
    *_same("linalg.matmul", X, real(4, 2)),
    ("matmul transposed", lambda tf, a, b: tf.matmul(a, b, transpose_a=True, transpose_b=True),
     (X, real(2, 3))),
    ("matmul batch", named("matmul"), (real(2, 3, 4), real(1, 4, 2))),
    *_same("linalg.matvec", X, V),
    ("linalg.tensordot", lambda tf, a, b: tf.tensordot(a, b, 1), (X, real(4, 2))),
    ("tensordot axes", lambda tf, a, b: tf.tensordot(a, b, [[0, 1], [1, 0]]), (X, real(4, 3, 2))),
    ("linalg.einsum", lambda tf, a, b: tf.einsum("ij,jk->ki", a, b), (X, real(4, 2))),
    ("linalg.norm 1", lambda tf, x: tf.norm(x, ord=1, axis=0), (X,)),
    ("linalg.norm fro", lambda tf, x: tf.norm(x, axis=[0, 1]), (X,)),
    *_same("linalg.trace linalg.matrix_transpose", real(2, 3, 3)),
    ("linalg.band_part", lambda tf, x: tf.linalg.band_part(x, 1, 0), (real(3, 3),)),
    ("linalg.l2_normalize", lambda tf, x: tf.linalg.l2_normalize(x, axis=0), (X,)),
    ("clip_by_norm", lambda tf, x: tf.clip_by_norm(x, 1.5), (X,)),
    ("clip_by_norm large", lambda tf, x: tf.clip_by_norm(x, 150.0, axes=[1]), (X,)),
    ("clip_by_global_norm", lambda tf, x, y: tf.clip_by_global_norm([x, y], 2.0)[0], (X, V)),
    ("linalg.global_norm", lambda tf, x, y: tf.linalg.global_norm([x, y]), (X, V)),
    # Shapes
    ("reshape", lambda tf, x: tf.reshape(x, [2, -1]), (X,)),
    ("transpose", lambda tf, x: [tf.transpose(x), tf.transpose(x, [1, 2, 0])], (real(2, 3, 4),)),
    ("expand_dims", lambda tf, x: [tf.expand_dims(x, 1), tf.expand_dims(x, -1)], (X,)),
    ("squeeze", lambda tf, x: [tf.squeeze(x), tf.squeeze(x, axis=[0])], (real(1, 3, 1),)),
    ("broadcast_to", lambda tf, x: tf.broadcast_to(x, [3, 4]), (ROW,)),
    ("tile", lambda tf, x: tf.tile(x, [2, 3]), (X,)),
    ("repeat", lambda tf, x: [tf.repeat(x, 2), tf.repeat(x, [1, 0, 2], axis=0)], (X,)),
    ("reverse", lambda tf, x: tf.reverse(x, axis=[1]), (X,)),
    ("roll", lambda tf, x: [tf.roll(x, 1, axis=0), tf.roll(x, [1, -2], axis=[0, 1])], (X,)),
    ("pad", lambda tf, x: tf.pad(x, [[1, 0], [2, 1]], constant_values=3.0), (X,)),
    ("pad reflect", lambda tf, x: tf.pad(x, [[1, 2], [2, 1]], "REFLECT"), (X,)),
    ("pad symmetric", lambda tf, x: tf.pad(x, [[1, 2], [2, 1]], "SYMMETRIC"), (X,)),
    ("concat", lambda tf, x, y: tf.concat([x, y], axis=-1), (X, real(3, 2))),
    ("stack", lambda tf, x, y: [tf.stack([x, y]), tf.stack([x, y], axis=-1)], (X, Y)),
    ("unstack", lambda tf, x: tf.unstack(x, axis=1), (X,)),
    ("split", lambda tf, x: [*tf.split(x, 2, axis=1), *tf.split(x, [1, -1], axis=1)], (X,)),
    ("meshgrid", lambda tf, x, y: tf.meshgrid(x, y, indexing="ij"), (V, real(3))),
    ("where", lambda tf, x, y: tf.where(x > 0, x, y), (X, ROW)),
    ("where positions", lambda tf, x: tf.where(x > 0), (X,)),
    ("sort", lambda tf, x: [tf.sort(x), tf.sort(x, axis=0, direction="DESCENDING")], (X,)),
    ("argsort", lambda tf, x: [tf.argsort(x), tf.argsort(x, 0, "DESCENDING")], (X,)),
    ("linspace", lambda tf, x, y: tf.linspace(x, y, 5), (V, real(4))),
    ("cast", lambda tf, x: [tf.cast(x, tf.float64), tf.cast(x, tf.int32)], (X,)),
    ("stop_gradient", lambda tf, x: tf.stop_gradient(x) * x, (X,)),
    ("likes", lambda tf, x: [tf.zeros_like(x), tf.ones_like(x), tf.ones_like(
        x, dtype=tf.int32)], (X,)),
    ("asking", lambda tf, x: [tf.shape(x), tf.size(x), tf.rank(x)], (X,)),
    # Parts
    ("gather", lambda tf, x: tf.gather(x, [[0, 2], [2, 2]]), (X,)),
    ("gather axis", lambda tf, x: tf.gather(x, [3, 0, 3], axis=1), (X,)),
    ("gather batch", lambda tf, x: tf.gather(x, [[0], [3], [2]], batch_dims=1), (X,)),
    ("gather_nd", lambda tf, x: [tf.gather_nd(x, [[0, 1], [2, 3]]), tf.gather_nd(
        x, [[2], [2]])], (X,)),
    ("gather_nd batch", lambda tf, x: tf.gather_nd(x, [[1], [0], [3]], batch_dims=1), (X,)),
    ("boolean_mask", lambda tf, x: [tf.boolean_mask(x, [True, False, True]), tf.boolean_mask(
        x, [True, False, True, True], axis=1)], (X,)),
    ("slice", lambda tf, x: tf.slice(x, [1, 0], [-1, 2]), (X,)),
    ("indexing", lambda tf, x: [x[0], x[1:, -1], x[..., tf.newaxis], x[:, ::-1], x[x > 0]], (X,)),
    ("scatter_nd", lambda tf, u: tf.scatter_nd([[1], [3], [1]], u, [4, 4]), (X,)),
    ("tensor_scatter_nd_add", lambda tf, x, u: tf.tensor_scatter_nd_add(
        x, [[0, 1], [2, 2], [0, 1]], u), (X, real(3))),
    ("tensor_scatter_nd_update", lambda tf, x, u: tf.tensor_scatter_nd_update(
        x, [[0], [2]], u), (X, real(2, 4))),
    # Networks
    ("sparse_softmax_cross_entropy_with_logits", lambda tf, x: (
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3, 1], logits=x)), (X,)),
    ("softmax_cross_entropy_with_logits", lambda tf, t, x: (
        tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(t), logits=x)), (ABOVE, X)),
    ("sigmoid_cross_entropy_with_logits", lambda tf, t, x: (
        tf.nn.sigmoid_cross_entropy_with_logits(labels=t, logits=x)), (ABOVE, X)),
    ("bias_add", named("nn.bias_add"), (IMAGE, real(3))),
    *[(f"conv2d {p} {s}", lambda tf, x, w, p=p, s=s: tf.nn.conv2d(x, w, s, p), (IMAGE, FILTERS))
      for p in ("SAME", "VALID", [[0, 0], [1, 0], [2, 1], [0, 0]]) for s in (1, [1, 2, 2, 1])],
    # The value only: TensorFlow has no gradient of dilated convolutions on the CPU.
    ("conv2d dilated", lambda tf, x, w: tf.stop_gradient(tf.nn.conv2d(
        tf.stop_gradient(x), tf.stop_gradient(w), 1, "SAME", dilations=2)), (IMAGE, FILTERS)),
    *[(f"{name} {p}", lambda tf, x, n=name, p=p: named(n)(tf, x, [3, 2], 2, p), (IMAGE,))
      for name in ("nn.max_pool2d", "nn.avg_pool2d") for p in ("SAME", "VALID")],
    ("moments", lambda tf, x: list(tf.nn.moments(x, [0])), (X,)),
    ("batch_normalization", lambda tf, x, m, v, o, s: tf.nn.batch_normalization(
        x, m, v, o, s, 1e-3), (X, V, real(4, low=0.5), V, V)),
    ("embedding_lookup", lambda tf, x: tf.nn.embedding_lookup(x, [[0, 2], [2, 1]]), (X,)),
]
