"""Which array library is this, and which function of it is an operation's kernel?

An array's type is all that is looked at. It is found out once per type and then is a dictionary
look-up; nothing is imported to find out. A library is one file here with the names of `numpy_.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import MethodType
from typing import Any, ClassVar, Protocol

import numpy

from ..errors import ArgumentTypeError, MixedLibrariesError

SCALARS: tuple[type, ...] = (bool, int, float, complex)
"""Python's numbers are operands of every library and belong to none."""

_FILES = {
    "numpy": "numpy_", "torch": "torch_", "jax": "jax_", "jaxlib": "jax_", "cupy": "cupy_",
}
"""Top-level module of an array type -> the file here that knows it."""


class Adapter(Protocol):
    """What a file in this folder offers (as a module or an object)."""

    name: str
    namespace: Any
    hosts: int  # above 0, its arrays may stand for others, of any library or of a lower number
    # It may have too: `immutable`, True where a write makes another array, which `core.inplace`
    # then carries to views; `checks`, {operation: function that refuses what its kernel would not};
    # and `known(array)`, see the function of this name; `read(array, index)`, where that is not
    # as NumPy does it; `finished(name, cls, kernel)`, a kernel with what its type has done before
    # and after; `enter(array)`, which takes an operand in, where that is not as it is; `add`,
    # `lock(array)`, the arrays whose `flags.writeable` keep its memory from being written to;
    # `scale` and `move`, see the tables `adders`, `scalers` and `movers`;
    # `unpooled()`, where tracemalloc is told of its allocations, lets go of idle memory; and
    # `refusals`, the exceptions it raises for arguments that it cannot use, beyond the usual.

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """A kernel given by hand for an operation on arrays of a type, or None."""

    def owner(self, array: Any) -> Any:
        """The object that owns an array's memory, the same for all its views; or None."""

    def dtype(self, dtype: Any) -> Any:
        """The library's dtype for one as any library names it; None for None."""

    def numpy(self, array: Any) -> Any:
        """A NumPy array, which shares the memory where that can be."""

    def place(self, array: Any, device: Any = None) -> Any:
        """An array of the library, on a device, of one of any; sharing memory where it can be."""

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """An array of the library from numbers, nested sequences or an array.

        like   another array of the library: the result is where it is, and Python's floats take
               on its precision
        """

    def adopt(self, array: Any) -> Any:
        """The array as the kind that serves its size best, sharing its memory."""

    def plain(self, array: Any) -> Any:
        """The array as the library's users know it, sharing its memory."""

    def own(self, array: Any) -> Any:
        """An array nobody else writes to: itself if it owns its memory, else a copy."""

    def copy(self, array: Any) -> Any:
        """A copy."""

    def zeros(self, shape: tuple[int, ...], dtype: Any, like: Any = None) -> Any:
        """Zeros in memory of their own, to be written to; where another array is."""

    def sealed(self, array: Any) -> Any:
        """A view through which nobody can write."""

    def is_sealed(self, array: Any) -> bool:
        """Whether nobody can write through this view."""

    def rank(self, cls: type) -> int:
        """Of two types of this library, the one of higher rank has kernels that take both."""

    def write(self, array: Any, value: Any) -> Any:
        """Overwrite an array's entries and return it."""

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = value`; the array written, which is another one for a scalar."""

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] += value`, adding up where the index names an entry more than once."""


class _Adapters(dict[type, Any]):
    """type -> adapter, found on first sight of the type."""

    def __missing__(self, cls: type) -> Any:
        for base in cls.__mro__:
            file = _FILES.get(base.__module__.partition(".")[0])
            if file is not None:
                found = importlib.import_module(f".{file}", __name__).ADAPTER
                self[cls] = found
                for name, table in _TABLES.items():
                    if hasattr(found, name):
                        table[cls] = getattr(found, name)
                return found
        raise ArgumentTypeError(
            "array library", "an array of " + ", ".join(_FILES), f"a {cls.__qualname__}",
            "convert it with numpy.asarray",
        )


adapters = _Adapters()
readers: dict[type, Callable[[Any, Any], Any]] = {}
"""array type -> how to read at an index, for those that do it otherwise than NumPy's."""
entrances: dict[type, Callable[[Any], Any]] = {}
"""array type -> how an operand is taken in, for those that are not taken as they are."""
adders: dict[type, Callable[[Any, Any], Any]] = {}
"""array type -> old + more, which may be written over an `old` that nobody but the caller held."""
scalers: dict[type, Callable[[Any, Callable[[Any], Any], Any], Any]] = {}
"""array type -> g · slope(x) of an elementwise slope, where that can be had in fewer passes."""
movers: dict[type, Callable[[Any, Any, float], None]] = {}
"""array type -> x += factor · g in place, where that can be had in one pass."""
_TABLES: dict[str, dict[type, Any]] = {
    "read": readers, "enter": entrances, "add": adders, "scale": scalers, "move": movers,
}
"""What an adapter may have too -> where it is looked for by type."""


def numpy_dtype(dtype: Any) -> Any:
    """NumPy's dtype for one of any library.

    >>> numpy_dtype(numpy.float32(1).dtype)
    dtype('float32')
    """
    return numpy.dtype(str(dtype).rpartition(".")[2])


def library_of(*marks: Any) -> Any:
    """The adapter of the library whose dtype, or device, one of some objects is; else NumPy's.

    >>> library_of(None, "cpu").name
    'numpy'
    """
    for mark in marks:
        file = _FILES.get(mark.__class__.__module__.partition(".")[0], "numpy_")
        if file != "numpy_":
            return importlib.import_module(f".{file}", __name__).ADAPTER
    return adapters[float]


_OTHERS = frozenset({"jax", "jaxlib", "tensorflow", "mlx", "dask"})


def refuse_foreign(value: Any) -> None:
    """Raise a `MixedLibrariesError` for an array of a library that has no file here.

    Such arrays convert to NumPy's in silence, and lose what their library remembers of them.
    """
    library = value.__class__.__module__.partition(".")[0]
    if library in _OTHERS:
        raise MixedLibrariesError(
            "operand", f"an array of {' or '.join(sorted(set(_FILES)))}",
            f"one of {library} ({value.__class__.__qualname__})",
            "convert it yourself, with numpy.asarray",
        )


def is_array(value: Any) -> bool:
    """Whether a value is an array of a library known here (Python's numbers are not)."""
    cls = value.__class__
    if cls in adapters:
        return cls not in SCALARS
    found = hasattr(cls, "__array__") and any(
        b.__module__.partition(".")[0] in _FILES for b in cls.__mro__
    )
    return found and adapters[cls] is not None  # from now on it is known how it is taken in


class _Dominant(dict[tuple[type, type], type]):
    """(type, type) -> the type whose kernels take both; an error names two libraries that meet."""

    def __missing__(self, pair: tuple[type, type]) -> type:
        left, right = pair
        a, b = adapters[left], adapters[right]
        if right in SCALARS:
            found = left
        elif left in SCALARS:
            found = right
        elif a is not b and issubclass(right, numpy.generic):  # numbers too, but for their dtype
            found = left
        elif a is not b and issubclass(left, numpy.generic):
            found = right
        else:
            if a is not b and (a.hosts or b.hosts):
                self[pair] = found = left if a.hosts > b.hosts else right
                return found
            if a is not b:
                raise MixedLibrariesError(
                    "operands", "arrays of one library", f"{a.name} and {b.name}",
                    "convert one, with pullback.asarray(x, like=y); a model, with model.to(like=x)",
                )
            found = left if a.rank(left) >= a.rank(right) else right
        self[pair] = found
        return found


dominant = _Dominant()


def known(array: Any) -> Any:
    """The array as one whose entries can be read at once; None of one that has no numbers yet.

    An array of JAX's has none while a function is traced.

    >>> known(3.0)
    3.0
    """
    own = getattr(adapters[array.__class__], "known", None)
    return array if own is None else own(array)


def namespace(array: Any) -> Any:
    """The Array API namespace of an array's library.

    >>> import numpy as np
    >>> namespace(np.ones(2)).__name__
    'numpy'
    """
    return adapters[array.__class__].namespace


class Kernels(dict[type, Callable[..., Any]]):
    """array type -> the function that computes one operation on it.

    Filled on first use: what the library's file gives by hand, else the operation's own forward
    with the library's namespace bound to its first parameter, else the namespace's function.
    """

    dress: ClassVar[Callable[[str, Any], Any] | None] = None
    """What is put around new kernels while somebody watches them; see `core.witness`."""

    def __init__(self, name: str, forward: Callable[..., Any] | None, native: str | None) -> None:
        super().__init__()
        self.name, self.forward, self.native = name, forward, native

    def __missing__(self, cls: type) -> Callable[..., Any]:
        adapter = adapters[cls]
        found = adapter.kernel(self.name, cls)
        if found is None:
            found = self._generic(adapter.namespace)
        own = getattr(adapter, "finished", None)
        if own is not None:
            found = own(self.name, cls, found)
        check = getattr(adapter, "checks", {}).get(self.name)
        if check is not None:
            found = _checked(check, found)
        if Kernels.dress is not None:
            found = Kernels.dress(self.name, found)
        self[cls] = found
        return found

    def _generic(self, xp: Any) -> Callable[..., Any]:
        if self.native is not None:
            found = getattr(xp, self.native, None)
            if found is None:
                raise ArgumentTypeError(
                    f"`{self.name}`", "arrays of a library that has it", f"{xp.__name__}'s",
                    "convert them, as with pullback.asarray(x, like=numpy.ones(1))",
                )
            return found
        forward = self.forward
        assert forward is not None, self.name
        return MethodType(forward, xp)  # a bound method: binds `xp` without a Python frame


def _checked(check: Callable[..., None], kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose arguments are looked at first."""

    def call(*args: Any, **attrs: Any) -> Any:
        check(*args, **attrs)
        return kernel(*args, **attrs)

    return call


from . import batched as batched  # noqa: E402  # arrays with a hidden axis
from . import numpy_ as numpy_  # noqa: E402  # always there; also knows Python's numbers
