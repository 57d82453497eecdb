"""Fit a line with the TensorFlow front end. The slope does not learn: why?"""

import numpy as np

from pullback import tf

xs = tf.constant([0.0, 1.0, 2.0, 3.0])
ys = tf.constant([1.0, 3.0, 5.0, 7.0])
slope = tf.Variable(0.5)
offset = tf.Variable(0.0)


def loss_of(predicted, wanted):
    error = np.abs(predicted.numpy() - wanted.numpy())  # BROKEN
    return tf.reduce_mean(tf.constant(error) ** 2)


for _ in range(3):
    with tf.GradientTape() as tape:
        loss = loss_of(slope * xs + offset, ys)
    gradients = tape.gradient(loss, [slope, offset])
    for variable, gradient in zip([slope, offset], gradients, strict=True):
        if gradient is not None:
            variable.assign_sub(0.1 * gradient)
print("slope", float(slope))
