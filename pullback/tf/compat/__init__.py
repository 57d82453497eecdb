"""`tf.compat`: TensorFlow 1's API under the module path that TensorFlow 2 programs use.

>>> from pullback import tf
>>> tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
<tf.Tensor 'x:0' shape=(None, 3) dtype=float32>
"""

from importlib import import_module as _import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Load `pullback.tf.v1` on first access."""
    if name == "v1":
        return _import_module("..v1", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
