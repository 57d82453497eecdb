"""The rows of the other door's functions that v1 has too, and those that only it has.

A row is (name, call, samples), as there.
"""

from __future__ import annotations

from tests.tf.functions import ROWS, Row, X, real

LEFT_OUT = {
    "nn.gelu", "nn.gelu approximate",  # TensorFlow has none there
    "where",  # which broadcasts in TensorFlow 2 only
    "tensor_scatter_nd_update",  # needs lengths; see test_lengths.py
    "unstack",  # needs its length; see test_lengths.py
}
IMAGE, FILTERS = real(2, 5, 4, 3), real(3, 2, 3, 2)

OWN: list[Row] = [
    ("where", lambda tf, x, y: tf.where(x > y, x, y), (X, real(3, 4))),
    ("where rows", lambda tf, x, y: tf.where([True, False, True], x, y), (X, real(3, 4))),
    ("where_v2", lambda tf, x, y: tf.where_v2(x > y, x, y), (X, real(1, 4))),
    ("reduce_sum reduction_indices", lambda tf, x: tf.reduce_sum(
        x, reduction_indices=[1], keep_dims=True), (X,)),
    ("reduce_mean axis", lambda tf, x: tf.reduce_mean(x, 1), (X,)),
    ("reduce_max keepdims", lambda tf, x: tf.reduce_max(x, 0, True), (X,)),
    ("argmax dimension", lambda tf, x: tf.argmax(x, dimension=1, output_type=tf.int32), (X,)),
    ("expand_dims dim", lambda tf, x: tf.expand_dims(x, dim=1), (X,)),
    ("squeeze_dims", lambda tf, x: tf.squeeze(x, squeeze_dims=[0, 2]), (real(1, 3, 1),)),
    ("transpose", lambda tf, x: tf.transpose(x, [1, 0]), (X,)),
    ("to_int32", lambda tf, x: tf.to_int32(x), (X,)),
    ("to_double", lambda tf, x: tf.to_double(x), (X,)),
    ("div", lambda tf, x, y: tf.div(x, y), (X, real(3, 4, low=0.2))),
    ("clip_by_average_norm", lambda tf, x: tf.clip_by_average_norm(x, 0.1), (X,)),
    ("clip_by_global_norm", lambda tf, x, y: tf.clip_by_global_norm([x, y], 0.5)[0], (X, X)),
    ("nn.softmax dim", lambda tf, x: tf.nn.softmax(x, dim=0), (X,)),
    ("nn.softmax_cross_entropy_with_logits", lambda tf, x, y:
        tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(y), logits=x), (X, X)),
    ("nn.softmax_cross_entropy_with_logits_v2", lambda tf, x, y:
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(y), logits=x), (X, X)),
    ("nn.weighted_cross_entropy_with_logits", lambda tf, x, y:
        tf.nn.weighted_cross_entropy_with_logits(labels=tf.sigmoid(y), logits=x, pos_weight=2.5),
        (X, X)),
    ("nn.conv2d", lambda tf, x, w: tf.nn.conv2d(x, w, [1, 2, 1, 1], "SAME"), (IMAGE, FILTERS)),
    ("nn.conv2d filter", lambda tf, x, w: tf.nn.conv2d(
        x, filter=w, strides=[1, 1, 1, 1], padding="VALID", use_cudnn_on_gpu=False),
        (IMAGE, FILTERS)),
    ("nn.max_pool", lambda tf, x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), (IMAGE,)),
    ("nn.avg_pool", lambda tf, x: tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), (IMAGE,)),
    ("nn.moments keep_dims", lambda tf, x: tf.nn.moments(x, [0], keep_dims=True), (X,)),
    ("nn.xw_plus_b", lambda tf, x, w, b: tf.nn.xw_plus_b(x, w, b), (X, real(4, 2), real(2))),
    ("nn.relu_layer", lambda tf, x, w, b: tf.nn.relu_layer(x, w, b), (X, real(4, 2), real(2))),
    ("nn.zero_fraction", lambda tf, x: tf.nn.zero_fraction(tf.nn.relu(x)), (X,)),
    ("nn.in_top_k", lambda tf, x: tf.nn.in_top_k(x, [0, 1, 2], 2), (X,)),
    ("gather computed", lambda tf, x: tf.gather(x, tf.argmax(x, 0), axis=1), (X,)),
    ("shape", lambda tf, x: [tf.shape(x), tf.size(x), tf.rank(x), tf.shape(x)[0]], (X,)),
    ("reshape computed", lambda tf, x: tf.reshape(x, [tf.shape(x)[1], -1]), (X,)),
    ("reshape stacked", lambda tf, x: tf.reshape(x, tf.stack([2, tf.size(x) // 2])), (X,)),
    ("zeros computed", lambda tf, x: x + tf.zeros(tf.shape(x)) + tf.ones([tf.shape(x)[0], 1]),
        (X,)),
    ("fill computed", lambda tf, x: tf.fill([tf.shape(x)[0]], 2.0) * x[:, 0], (X,)),
    ("tile computed", lambda tf, x: tf.tile(x, [1, tf.shape(x)[0]]), (X,)),
    ("range computed", lambda tf, x: tf.range(tf.shape(x)[0]), (X,)),
    ("range of floats", lambda tf, x: tf.range(0.0, tf.reduce_max(x), 0.5), (X,)),
    ("slice computed", lambda tf, x: tf.slice(x, [0, 1], [tf.shape(x)[0] - 1, 2]), (X,)),
    ("index computed", lambda tf, x: [x[tf.shape(x)[0] - 1], x[:, :tf.shape(x)[1] // 2]], (X,)),
    ("one_hot computed", lambda tf, x: tf.one_hot(tf.argmax(x, 1), tf.shape(x)[1]), (X,)),
    ("broadcast_to computed", lambda tf, x, y: tf.broadcast_to(y, tf.shape(x)), (X, real(1, 4))),
    ("random shape", lambda tf, x: tf.shape(tf.random_normal(tf.shape(x))), (X,)),
    ("concat", lambda tf, x, y: tf.concat([x, y], axis=1), (X, X)),
    ("tuple", lambda tf, x: tf.tuple([x * 2.0, tf.exp(x)]), (X,)),
    ("stop_gradient", lambda tf, x: x * tf.stop_gradient(x), (X,)),
]

CASES: list[Row] = [row for row in ROWS if row[0] not in LEFT_OUT] + OWN
