"""`torch.Tensor`: the core's tensor with PyTorch's members. Its methods are bound in `methods`."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar
from weakref import ref

import numpy

from ..arrays import SCALARS, adapters, is_array
from ..arrays.batched import Batched
from ..arrays.inexact import kind_of
from ..arrays.kept import check_kept
from ..autograd import backward
from ..core.node import Leaf, notes
from ..core.op import OPS
from ..core.state import state
from ..core.tensor import Tensor as CoreTensor
from ..core.tensor import inexact_dtypes, to_array, wrap
from ..errors import ArgumentError, ArgumentTypeError
from ..lost_paths import detached
from ..passes.hooks import added
from . import dtypes
from .errors import as_runtime, guarded, guarded_pull
from .nodes import as_tensors, leaf_tensor, owners, shown

__all__ = ["Size", "Tensor", "device"]


class device(str):
    """A device name; there is only one, "cpu".

    >>> device("cpu").type
    'cpu'
    """

    __slots__ = ()

    @property
    def type(self) -> str:
        """The type of device."""
        return self.partition(":")[0]


class Size(tuple[int, ...]):
    """The lengths of a tensor's axes: a tuple subclass."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of entries.

        >>> Size((2, 3)).numel()
        6
        """
        total = 1
        for length in self:
            total *= length
        return total

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


_core_grad: Any = CoreTensor.grad
_require = guarded(CoreTensor.requires_grad_)
_backward = guarded_pull(backward)


class Tensor(CoreTensor):
    """A multi-dimensional array with automatic differentiation.

    `Tensor(data)` has the default dtype, `Tensor(2, 3)` is zeros of that shape; `torch.tensor`
    infers the dtype from the data.

    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__",)
    _out: ClassVar[type[CoreTensor]]

    def __init__(self, *data: Any, requires_grad: bool = False) -> None:
        dtype = dtypes.get_default_dtype()
        if len(data) == 1 and not isinstance(data[0], int):
            array = to_array(data[0])
            super().__init__(adapters[array.__class__].asarray(array, dtype), requires_grad)
        else:
            super().__init__(numpy.zeros(data or (0,), dtype), requires_grad)

    # Attributes -------------------------------------------------------------------------------

    @property
    def data(self) -> Any:
        """A detached view of the values. Assign to it to replace the values.

        >>> import pullback.torch as torch
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> w.data -= 0.5
        >>> w
        tensor([0.5000, 1.5000], requires_grad=True)
        """
        return detached(self, ".data")

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, CoreTensor):
            raise ArgumentTypeError("x.data = …", "a tensor", f"a {type(value).__name__}")
        check_kept(self._data, "x.data = …", value._data)
        self._data = value._data
        node = self._node
        if isinstance(node, Leaf):
            node.data, node.shape, node.dtype = self._data, self.shape, self._data.dtype

    @property
    def shape(self) -> Size:
        """The lengths of the axes, as a Size.

        >>> import pullback.torch as torch
        >>> torch.ones(2, 3).shape
        torch.Size([2, 3])
        """
        return tuple.__new__(Size, self._data.shape)

    @property
    def device(self) -> Any:
        """The device: always `device("cpu")`."""
        return device("cpu")

    @property
    def is_cuda(self) -> bool:
        """False: tensors live in CPU memory."""
        return False

    @property
    def retains_grad(self) -> bool:
        """True if `retain_grad` was called on this non-leaf tensor."""
        node = self._node
        found = None if node is None or self.is_leaf else notes.get(node)
        return found is not None and found.retains

    @property
    def itemsize(self) -> int:
        """The size of an entry in bytes."""
        return int(self._data.dtype.itemsize)

    def size(self, dim: int | None = None) -> Any:  # type: ignore[override]
        """The lengths of the axes, or of one.

        >>> import pullback.torch as torch
        >>> torch.ones(2, 3).size(), torch.ones(2, 3).size(-1)
        (torch.Size([2, 3]), 3)
        """
        return Size(self._data.shape) if dim is None else self._data.shape[dim]

    def dim(self) -> int:
        """The number of axes."""
        return len(self._data.shape)

    ndimension = dim

    def numel(self) -> int:
        """The number of entries."""
        return Size(self._data.shape).numel()

    nelement = numel

    def element_size(self) -> int:
        """The size of an entry in bytes."""
        return self.itemsize

    def is_floating_point(self) -> bool:
        """True for real floating-point dtypes."""
        return inexact_dtypes[self._data.dtype] and not self.is_complex()

    def is_complex(self) -> bool:
        """True for complex dtypes."""
        return str(self._data.dtype).startswith("complex")

    def is_contiguous(self) -> bool:
        """True if the entries are contiguous in row-major order."""
        return bool(numpy.asarray(self._data).flags.c_contiguous)

    def data_ptr(self) -> int:
        """The address of the first entry."""
        return int(numpy.asarray(self._data).ctypes.data)

    # Conversion -------------------------------------------------------------------------------

    def numpy(self, *, force: bool = False) -> Any:
        """The values as a NumPy array, which shares memory.

        force  also allow a tensor that requires a gradient, which otherwise is a
               `RuntimeError` while recording

        >>> import pullback.torch as torch
        >>> torch.tensor([1.0, 2.0]).numpy()
        array([1., 2.], dtype=float32)
        """
        if self.requires_grad and not force and state().enabled:
            raise as_runtime(ArgumentError(
                "numpy() of a tensor that requires grad", "a detached tensor",
                "a tensor whose gradient would be lost", "use x.detach().numpy()",
            ))
        self._shared()
        return self._leave(".numpy()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return numpy.array(self.numpy(), dtype=dtype, copy=copy)

    def item(self) -> Any:
        """The only entry as a Python number."""
        try:
            return self._leave(".item()").item()
        except ValueError:
            raise as_runtime(ArgumentError(
                "item() of a tensor", "one entry", f"{self.numel()}", "use tolist(), or index it"
            )) from None

    def tolist(self) -> Any:
        """The entries as nested lists of Python numbers."""
        return self._leave(".tolist()").tolist()

    def __bool__(self) -> bool:
        return bool(self.item()) if self.numel() == 1 else self._not_a_condition()

    def _not_a_condition(self) -> bool:
        raise as_runtime(ArgumentError(
            "bool() of a tensor", "one entry: more are ambiguous", f"shape {self.shape}",
            "use x.any() or x.all()",
        ))

    def __index__(self) -> int:
        return int(numpy.asarray(self._data).__index__())

    def __contains__(self, value: Any) -> bool:
        return bool(numpy.any(numpy.asarray(self._data) == to_array(value)))

    def __reduce__(self) -> Any:
        if not self.is_leaf:
            return super().__reduce__()  # raises the error
        return _rebuilt, (type(self), numpy.asarray(self._data), self.requires_grad)

    def __repr__(self) -> str:
        name = "Parameter containing:\ntensor" if type(self).__name__ == "Parameter" else "tensor"
        if isinstance(self._data, Batched):
            return f"{name}({self._data!r})"
        values = numpy.asarray(self._data)
        dtype = values.dtype
        if kind_of(dtype) != dtype.kind:
            values = values.astype(numpy.float32)  # NumPy cannot print bfloat16
        show: Any = {"float_kind": _shown(values)} if values.dtype.kind == "f" else None
        text = numpy.array2string(
            values, separator=", ", prefix="tensor(", formatter=show,
        )
        usual = (dtypes.float32, dtypes.int64, dtypes.bool, dtypes.complex64)
        tail = "" if dtype in usual else f", dtype={dtype}"
        if self._node is not None and not self.is_leaf:
            tail += f", grad_fn=<{shown(self._node).name()}>"
        elif self.requires_grad:
            tail += ", requires_grad=True"
        return f"{name}({text}{tail})"

    # Autograd ---------------------------------------------------------------------------------

    def detach_(self) -> Tensor:
        """Detach the tensor from its history, in place."""
        self._node = None
        return self

    @property
    def grad_fn(self) -> Any:
        """The graph node that computed the tensor; None for a leaf.

        >>> import pullback.torch as torch
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> x.exp().grad_fn.next_functions[0][0].variable is x
        True
        """
        return None if self.is_leaf or self._node is None else shown(self._node)

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
        inputs: Any = None, overrides: Any = None,
    ) -> None:
        """Accumulates d self / d leaf, times `gradient`, into the `grad` of every leaf.

        gradient      the cotangent, of this tensor's shape; optional only for a single entry
        retain_graph  keep the saved tensors, so that backward can run again
        create_graph  record the backward pass, for second derivatives
        inputs        accumulate only into these leaves (or tensors that retain grad)
        overrides     {operation: registered name or rule}, for this backward pass only
        """
        if inputs is not None and not isinstance(inputs, CoreTensor):
            inputs = as_tensors(inputs)
        _backward([self], [gradient], retain_graph, create_graph, inputs, overrides)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Turn recording on or off for a leaf, in place, and return the tensor."""
        _require(self, requires_grad)
        if isinstance(self._node, Leaf):
            owners[self._node] = ref(self)
        return self

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> Any:
        """Call `hook(tensor)` after each backward pass that added to the `grad` of this leaf.

        >>> import pullback.torch as torch
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda p: print(p.grad))
        >>> (x * 3).sum().backward()
        tensor([3., 3.])
        """
        node = self._node
        if not isinstance(node, Leaf):
            raise as_runtime(ArgumentError(
                "register_post_accumulate_grad_hook", "a leaf that requires a gradient",
                "a tensor that does not" if node is None else "a computed tensor",
            ))
        found = ref(self)

        def arrived() -> None:
            tensor = found()
            hook(leaf_tensor(node) if tensor is None else tensor)

        return added(node, "arrived", arrived)

    grad = property(
        _core_grad.fget, guarded(_core_grad.fset), None, _core_grad.__doc__,
    )
    register_hook = guarded(CoreTensor.register_hook)
    retain_grad = guarded(CoreTensor.retain_grad)

    def to(
        self, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False, **how: Any
    ) -> Any:
        """Converts to a dtype, given directly or by a tensor; returns itself if it already has it.

        copy  return a copy in any case

        >>> import pullback.torch as torch
        >>> torch.ones(2).to(torch.float64).dtype
        dtype('float64')
        """
        flags = [given for given in args if isinstance(given, bool)]  # non_blocking, copy
        for given in args:
            if isinstance(given, CoreTensor):
                dtype = given.dtype
            elif given is not None and given != "cpu" and not isinstance(given, bool):
                dtype = numpy.dtype(given)
        if device not in (None, "cpu"):
            raise as_runtime(ArgumentError("to() of a tensor", "the device cpu", repr(device)))
        found = self if dtype is None else dtypes.cast(self, numpy.dtype(dtype))
        copy = copy or (len(flags) > 1 and flags[1])
        return OPS["identity"](found) if copy and found is self else found

    def type(self, dtype: Any = None) -> Any:
        """The name of the dtype; or, given a dtype, the converted tensor."""
        name = str(self._data.dtype)
        if dtype is None:
            return f"torch.{dtypes.TYPES[name]}" if name in dtypes.TYPES else f"torch.{name}"
        return self.to(dtypes.of_type(dtype))

    def type_as(self, other: Any) -> Any:
        """Converts to the dtype of another tensor."""
        return self.to(other.dtype)

    def cpu(self) -> Any:
        """The tensor itself."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied: Any = guarded(super().__deepcopy__)(memo)
        if self.grad is not None and self.is_leaf:
            copied.grad = wrap(self._out, numpy.array(self.grad._data))
        copied.__dict__.update(deepcopy(self.__dict__, memo))
        return copied


Tensor._out = Tensor


def _shown(values: Any) -> Any:
    """Format entries for printing: whole numbers as `2.`, others with four digits."""
    finite = values[numpy.isfinite(values)]
    if finite.size and (finite != numpy.rint(finite)).any():
        largest = abs(finite).max()
        smallest = abs(finite[finite != 0]).min()
        form = "{:.4f}" if largest < 1e5 and smallest > 1e-4 else "{:.4e}"
    else:
        form = "{:.0f}."
    ends = (finite.min(), finite.max()) if finite.size else ()
    width = max([len(form.format(v)) for v in ends], default=0)
    return lambda v: (form.format(v) if numpy.isfinite(v) else str(v)).rjust(width)


def _rebuilt(cls: Any, array: Any, requires_grad: bool) -> Any:
    made = wrap(cls, array)
    return CoreTensor.requires_grad_(made) if requires_grad else made


def tensor_of(value: Any) -> Any:
    """A tensor unchanged; a new tensor from an array, number or nested sequence."""
    if isinstance(value, CoreTensor) or not dtypes.adapts():
        return value
    array = to_array(value)
    made = adapters[array.__class__].asarray(array)
    if isinstance(value, (*SCALARS, list, tuple)) and _first_is_plain(value):
        if made.dtype.kind == "f":
            made = made.astype(dtypes.get_default_dtype())
        elif made.dtype.kind == "c":
            made = made.astype(dtypes.of_number(1j))
    return wrap(Tensor, adapters[made.__class__].adopt(made))


def _first_is_plain(value: Any) -> bool:
    """True if the entries are Python numbers, which have no precision of their own."""
    while isinstance(value, (list, tuple)):
        if not value:
            return True
        value = value[0]
    return not is_array(value) and not isinstance(value, CoreTensor)
