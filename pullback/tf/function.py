"""`tf.function`: Python functions traced into graphs, and specifications of their arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import wrap
from ..graphs import TensorSpec as CoreSpec
from ..graphs.function import ConcreteFunction
from ..graphs.function import Function as CoreFunction
from ..graphs.tensor import Symbolic, register_symbolic
from .convert import checked
from .dtypes import array_dtype, as_dtype
from .tensor import Tensor, Valueless
from .values import array_of

__all__ = ["TensorSpec", "function"]

_eagerly = [False]


class GraphTensor(Valueless, Symbolic, Tensor):
    """A symbolic tensor while a function is traced: a shape, a dtype and a name, but no value."""

    __slots__ = ()
    __hash__ = CoreTensor.__hash__
    __repr__ = Tensor.__repr__


GraphTensor._out = GraphTensor
register_symbolic(Tensor, GraphTensor)


class TensorSpec(CoreSpec):
    """The shape (None for any length) and dtype of a tensor argument.

    >>> from pullback import tf
    >>> tf.TensorSpec([None, 3], tf.float32)
    TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)
    """

    def __init__(self, shape: Any = None, dtype: Any = "float32", name: str | None = None) -> None:
        super().__init__(shape, array_dtype(dtype), name)

    def __repr__(self) -> str:
        dtype = as_dtype(self.dtype)
        return f"TensorSpec(shape={self.shape}, dtype={dtype!r}, name={self.name!r})"

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """The TensorSpec of a tensor."""
        return cls(tuple(tensor.shape), tensor.dtype, name)

    def is_compatible_with(self, value: Any) -> bool:
        """True if a tensor has this dtype and a compatible shape."""
        return self.takes(tuple(value.shape), array_dtype(value.dtype))


class Concrete(ConcreteFunction):
    """A function traced for one input signature; see the core's class."""

    __call__ = checked(ConcreteFunction.__call__)


class Function(CoreFunction):
    """A Python function that runs as a graph; created by `tf.function`."""

    concrete = Concrete
    eager_tensor = Tensor

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the graph for these arguments; trace it first if their signature is new."""
        if _eagerly[0]:
            return self.python_function(*args, **keywords)
        return super().__call__(*args, **keywords)

    def tensor_of(self, value: Any, dtype: Any) -> Any:
        """Convert an argument to a tensor; see the core's method."""
        if not isinstance(value, CoreTensor):
            value = wrap(Tensor, array_of(value, dtype))
        return super().tensor_of(value, dtype)

    def _number(self, value: Any) -> Any:
        return array_of(value)


def function(
    func: Callable[..., Any] | None = None, input_signature: Sequence[Any] | None = None,
    autograph: bool = True, jit_compile: bool | None = None, reduce_retracing: bool = False,
    experimental_implements: Any = None, experimental_autograph_options: Any = None,
    experimental_attributes: Any = None, experimental_relax_shapes: bool | None = None,
    experimental_compile: Any = None, experimental_follow_type_hints: Any = None,
) -> Any:
    """Compiles a function into a graph, traced once per input signature; see `pb.function`.

    `input_signature` and `reduce_retracing` are as TensorFlow's. `if` and `for` over tensors are
    not rewritten (`autograph`): use `tf.cond`, `tf.while_loop`, `tf.where`. The other arguments are
    accepted and ignored.

    >>> from pullback import tf
    >>> @tf.function
    ... def cube(x):
    ...     return x * x * x
    >>> x = tf.constant(2.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = cube(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(12.0)
    """
    relax = bool(reduce_retracing or experimental_relax_shapes)
    if func is None:
        return functools.partial(
            function, input_signature=input_signature, reduce_retracing=relax
        )
    return Function(func, input_signature, relax)


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Set whether functions made by `tf.function` run eagerly instead of being traced."""
    _eagerly[0] = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """The last setting of `run_functions_eagerly`."""
    return _eagerly[0]
