"""What to use here for the parts of TensorFlow that are not."""

from __future__ import annotations

_KERAS = "tf.Module, tf.optimizers and tf.losses, or the layers of pullback.nn"
_PYTHON = "Python, NumPy or another library for it, and tf.constant(…) for what comes out"

_INSTEAD = {
    "keras": _KERAS, "metrics": _KERAS, "initializers": _KERAS, "feature_column": _KERAS,
    "Graph": "`import pullback.tf.v1 as tf`", "Session": "`import pullback.tf.v1 as tf`",
    "placeholder": "`import pullback.tf.v1 as tf`", "get_variable": "`import pullback.tf.v1 as tf`",
    "data": "a Python loop over slices of arrays, or pullback.torch.utils.data",
    "image": _PYTHON, "io": _PYTHON, "strings": _PYTHON, "audio": _PYTHON,
    "saved_model": "tf.train.Checkpoint", "summary": "pullback.monitor",
    "autograph": "tf.cond, tf.while_loop and tf.where",
    "distribute": "one process: a device is the array library's matter",
    "sparse": "tf.IndexedSlices for gradients, dense tensors for the rest",
    "SparseTensor": "dense tensors", "ragged": "dense tensors with a mask",
    "RaggedTensor": "dense tensors with a mask",
    "contrib": "what came of it: tf.layers, tf.losses, tf.train, tf.variance_scaling_initializer",
    "app": "argparse, and a call of your main function", "flags": "argparse",
    "gfile": "open() and pathlib", "estimator": "a loop of your own",
}


def absent(module: str, name: str) -> AttributeError:
    """The error of a name that a module of this door has not, with what to use in its place.

    >>> print(absent("pullback.tf", "saved_model"))
    module 'pullback.tf' has no attribute 'saved_model'; use tf.train.Checkpoint
    """
    text = f"module {module!r} has no attribute {name!r}"
    instead = _INSTEAD.get(name)
    return AttributeError(f"{text}; use {instead}" if instead else text)
