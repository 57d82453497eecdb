"""Replacements to suggest for parts of TensorFlow that this package does not have."""

from __future__ import annotations

_KERAS = "tf.Module, tf.optimizers and tf.losses, or the layers of pullback.nn"
_PYTHON = "Python, NumPy or another library, then tf.constant(…) on the result"

_INSTEAD = {
    "keras": _KERAS, "metrics": _KERAS, "initializers": _KERAS, "feature_column": _KERAS,
    "Graph": "`import pullback.tf.v1 as tf`", "Session": "`import pullback.tf.v1 as tf`",
    "placeholder": "`import pullback.tf.v1 as tf`", "get_variable": "`import pullback.tf.v1 as tf`",
    "data": "a Python loop over slices of arrays, or pullback.torch.utils.data",
    "image": _PYTHON, "io": _PYTHON, "strings": _PYTHON, "audio": _PYTHON,
    "saved_model": "tf.train.Checkpoint", "summary": "pullback.monitor",
    "autograph": "tf.cond, tf.while_loop and tf.where",
    "distribute": "one process; the array library chooses the device",
    "sparse": "tf.IndexedSlices for gradients, dense tensors for the rest",
    "SparseTensor": "dense tensors", "ragged": "dense tensors with a mask",
    "RaggedTensor": "dense tensors with a mask",
    "contrib": "its successors: tf.layers, tf.losses, tf.train, tf.variance_scaling_initializer",
    "app": "argparse, and a call of your main function", "flags": "argparse",
    "gfile": "open() and pathlib", "estimator": "your own training loop",
}


def absent(module: str, name: str) -> AttributeError:
    """The `AttributeError` for a missing name of a front-end module; it names the replacement.

    >>> print(absent("pullback.tf", "saved_model"))
    module 'pullback.tf' has no attribute 'saved_model'; use tf.train.Checkpoint
    """
    text = f"module {module!r} has no attribute {name!r}"
    instead = _INSTEAD.get(name)
    return AttributeError(f"{text}; use {instead}" if instead else text)
