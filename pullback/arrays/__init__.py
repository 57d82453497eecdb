"""Selects the array library of a value, and the kernel of an operation in that library.

Only the type of an array matters. It is resolved once per type, then looked up in a dictionary, and
without any import. A library is one folder in this one, whose `adapter.py` has the names of
`numpy_/adapter.py`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy

from ..errors import ArgumentTypeError, MixedLibrariesError

SCALARS: tuple[type, ...] = (bool, int, float, complex)
"""Python's numbers are operands for every library and belong to none."""

_FOLDERS = {
    "numpy": "numpy_", "torch": "torch_", "jax": "jax_", "jaxlib": "jax_", "cupy": "cupy_",
}
"""Top-level module of an array type -> the folder in this one that supports it."""


class Adapter(Protocol):
    """The interface of an adapter (a module or an object)."""

    name: str
    namespace: Any
    hosts: int  # above 0: its arrays can wrap arrays of any library, or of a lower `hosts`
    # Optional attributes: `immutable`, True if a write makes a new array, which `core.inplace`
    # carries over to views; `forward_only`, True if a negative step copies;
    # `checks`, {operation: function that raises where its kernel would not};
    # `known(array)`, see the function of this name; `read(array, index)`, if reading differs from
    # NumPy; `finished(name, cls, kernel)`, a kernel with conversions before and after;
    # `enter(array)`, which converts an operand; `add`,
    # `lock(array)`, the arrays whose `flags.writeable` protects its memory from writes;
    # `scale`, `move`, `may_replace`, `refuse_outer`, `stopped`, `barrier`, `compiler_of`: see the
    # tables below;
    # `exported(array)`, what DLPack hands out, if consumers cannot read every array;
    # `absorbs(own type, other type)`, whether its kernels take arrays of another library too;
    # `unpooled()`, if tracemalloc sees its allocations: frees idle memory; and
    # `refusals`, further exceptions that it raises for invalid arguments.

    def kernel(self, name: str, cls: type) -> Callable[..., Any] | None:
        """A special kernel for an operation on arrays of a type, or None."""

    def owner(self, array: Any) -> Any:
        """The object that owns an array's memory, the same for all its views; or None."""

    def dtype(self, dtype: Any) -> Any:
        """The library's dtype for any library's dtype; None for None."""

    def numpy(self, array: Any) -> Any:
        """A NumPy array; shares memory if possible."""

    def place(self, array: Any, device: Any = None) -> Any:
        """An array of this library, on a device, from any array; shares memory if possible."""

    def asarray(self, value: Any, dtype: Any = None, like: Any = None) -> Any:
        """An array of this library from numbers, nested sequences or an array.

        like   another array of the library: the result is on its device, and Python floats get
               its precision
        """

    def adopt(self, array: Any) -> Any:
        """The array as the type that is fastest for its size; shares memory."""

    def plain(self, array: Any) -> Any:
        """The array as the library's usual type; shares memory."""

    def own(self, array: Any) -> Any:
        """An array without aliases: itself if it owns its memory, else a copy."""

    def copy(self, array: Any) -> Any:
        """A copy."""

    def zeros(self, shape: tuple[int, ...], dtype: Any, like: Any = None) -> Any:
        """Writable zeros in new memory, on the device of another array."""

    def sealed(self, array: Any) -> Any:
        """A read-only view."""

    def is_sealed(self, array: Any) -> bool:
        """Whether the array is read-only."""

    def rank(self, cls: type) -> int:
        """The kernels of the type with the higher rank accept both types."""

    def write(self, array: Any, value: Any) -> Any:
        """Overwrites an array's entries and returns it."""

    def assign(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] = value`; returns the written array, a new one for a scalar."""

    def accumulate(self, array: Any, index: Any, value: Any) -> Any:
        """`array[index] += value`; adds up if the index names an entry more than once."""


class _Adapters(dict[type, Any]):
    """type -> adapter, resolved at the first use of the type."""

    def __missing__(self, cls: type) -> Any:
        for base in cls.__mro__:
            if base.__module__.startswith("numpy.ma"):
                raise ArgumentTypeError(
                    "masked array", "an array without a mask, which operations would ignore",
                    f"a {cls.__qualname__}",
                    "pass `masked.filled(…)`, or `masked.data` and a `where` with `~masked.mask`",
                )
            folder = _FOLDERS.get(base.__module__.partition(".")[0])
            if folder is not None:
                found = importlib.import_module(f".{folder}.adapter", __name__).ADAPTER
                return self._kept(cls, found)
        if _follows_the_standard(cls):
            standard = importlib.import_module(".standard_.adapter", __name__)
            return self._kept(cls, standard.adapter_for(cls))
        raise ArgumentTypeError(
            "array library", "an array of " + ", ".join(_FOLDERS), f"a {cls.__qualname__}",
            "convert it with numpy.asarray",
        )

    def _kept(self, cls: type, found: Any) -> Any:
        self[cls] = found
        for name, table in _TABLES.items():
            if hasattr(found, name):
                table[cls] = getattr(found, name)
        return found


adapters = _Adapters()
readers: dict[type, Callable[[Any, Any], Any]] = {}
"""array type -> function that reads at an index, for types that differ from NumPy."""
entrances: dict[type, Callable[[Any], Any]] = {}
"""array type -> function that converts an operand, for types that need it."""
adders: dict[type, Callable[[Any, Any], Any]] = {}
"""array type -> old + more; may overwrite `old`, which has no other references."""
inserters: dict[type, Callable[[Any, Any, Any], bool]] = {}
"""array type -> (old, index, more): adds to entries of `old`, which has no other references, and
returns True; returns False where its memory is not its own."""
scalers: dict[type, Callable[[Any, Callable[[Any], Any], Any], Any]] = {}
"""array type -> g · slope(x) for an elementwise slope, if the library can save passes."""
class Splitter(NamedTuple):
    """How a library computes elementwise steps on large arrays; see `numpy_/blocks.py`."""

    in_blocks: Callable[..., Any]
    straight_line: Callable[..., Any]


splitters: dict[type, Splitter] = {}
"""type of large arrays -> how to compute with them block by block; empty until the first."""
movers: dict[type, Callable[[Any, Any, float], None]] = {}
"""array type -> x += factor · g in place, if the library can do it in one pass."""
keepers: dict[type, Callable[..., bool]] = {}
"""array type -> whether (old, new=None) another array may replace an array that is kept as state,
for libraries with tracers."""
outer: dict[type, Callable[[Any], None]] = {}
"""array type -> raises an error if the library's own engine differentiates an array, which would
not meet the rule of a function of that array."""
stoppers: dict[type, Callable[[Any], Any]] = {}
"""array type -> the array as a constant for its library's own engine, if that differentiates it."""
barriers: dict[type, Callable[[tuple[Any, ...]], tuple[Any, ...]]] = {}
"""array type -> the same arrays, from which a compiler computes again what it has already."""
compilers: dict[type, Callable[[Any], Any]] = {}
"""array type -> the control flow of the compiler that an array is traced for, or None; see
`jax_/flow.py`."""
_TABLES: dict[str, dict[type, Any]] = {
    "read": readers, "enter": entrances, "add": adders, "add_in": inserters, "scale": scalers,
    "move": movers, "may_replace": keepers, "refuse_outer": outer, "barrier": barriers,
    "stopped": stoppers, "compiler_of": compilers,
}
"""Optional attribute of an adapter -> the table to look it up by type."""


def numpy_dtype(dtype: Any) -> Any:
    """NumPy's dtype for any library's dtype.

    >>> numpy_dtype(numpy.float32(1).dtype)
    dtype('float32')
    """
    return numpy.dtype(str(dtype).rpartition(".")[2])


def library_of(*marks: Any) -> Any:
    """The adapter of the library that a dtype or device among the objects belongs to; else NumPy's.

    >>> library_of(None, "cpu").name
    'numpy'
    """
    for mark in marks:
        folder = _FOLDERS.get(mark.__class__.__module__.partition(".")[0], "numpy_")
        if folder != "numpy_":
            return importlib.import_module(f".{folder}.adapter", __name__).ADAPTER
    return adapters[float]


def _jax_engine() -> Any:
    """JAX's engine; None in a program that has not imported JAX."""
    if "jax" not in sys.modules:
        return None
    return importlib.import_module(".jax_.engine", __name__)


def tracing() -> bool:
    """Whether a foreign engine (JAX) traces the code that runs in this thread, to compile it.

    >>> tracing()
    False
    """
    engine = _jax_engine()
    return engine is not None and engine.tracing()


def constant(array: Any) -> Any:
    """The array, as a constant for its library's own engine too, where one differentiates it."""
    stop = stoppers.get(array.__class__)
    return array if stop is None else stop(array)


def apart(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same arrays, from which a compiler computes again what it has computed from them already.

    Compilers of foreign engines would merge both computations, and keep what is between them.
    """
    barrier = next((b for a in arrays if (b := barriers.get(a.__class__)) is not None), None)
    return arrays if barrier is None else barrier(arrays)


def compiler_of(*values: Any) -> Any:
    """The control flow of the compiler that one of some arrays is traced for; None for numbers.

    >>> compiler_of(numpy.ones(2)) is None
    True
    """
    if not compilers:
        return None
    for value in values:
        while value.__class__ is batched.Batched:
            value = value.value
        asked = compilers.get(value.__class__)
        if asked is not None and (found := asked(value)) is not None:
            return found
    return None


def cache_context() -> Any:
    """A context manager of a hashable value, on which foreign compiled functions depend; or None.

    A function that was compiled under one value is compiled anew under another.
    """
    engine = _jax_engine()
    return None if engine is None else engine.CONTEXT


_OTHERS = frozenset({"jax", "jaxlib", "tensorflow"})
_STANDARD = frozenset({"dask", "mlx"})
"""Libraries that follow the standard, whose arrays do not say so by `__array_namespace__`."""


def _follows_the_standard(cls: type) -> bool:
    """Whether a type is that of arrays of another library of the Array API standard."""
    top = cls.__module__.partition(".")[0]
    if top == __name__.partition(".")[0] or top in _FOLDERS or top in _OTHERS:
        return False
    return hasattr(cls, "__array_namespace__") or (
        top in _STANDARD and hasattr(cls, "shape") and hasattr(cls, "dtype")
    )


def refuse_foreign(value: Any) -> Any:
    """The value; raises a `MixedLibrariesError` for an array of an unsupported library.

    Arrays of `_OTHERS` would convert to NumPy silently, and lose their device and their library's
    autograd history.
    """
    cls = value.__class__
    if cls in adapters or is_array(value):
        return value
    library = cls.__module__.partition(".")[0]
    if library in _OTHERS or library in _STANDARD:
        raise MixedLibrariesError(
            "operand", f"an array of {' or '.join(sorted(set(_FOLDERS) - {'jaxlib'}))}, or of a "
            "library that follows the Array API standard",
            f"one of {library} ({cls.__qualname__})",
            "convert it explicitly, with numpy.asarray or pullback.from_dlpack",
        )
    return value


def is_array(value: Any) -> bool:
    """Whether a value is an array of a supported library (Python's numbers are not)."""
    cls = value.__class__
    if cls in adapters:
        return cls not in SCALARS
    if _follows_the_standard(cls):
        return adapters[cls] is not None
    found = hasattr(cls, "__array__") and any(
        b.__module__.partition(".")[0] in _FOLDERS for b in cls.__mro__
    )
    return found and adapters[cls] is not None  # the look-up also fills the other tables


class _Dominant(dict[tuple[type, type], type]):
    """(type, type) -> the type whose kernels accept both; raises for two different libraries."""

    def __missing__(self, pair: tuple[type, type]) -> type:
        left, right = pair
        a, b = adapters[left], adapters[right]
        if right in SCALARS:
            found = left
        elif left in SCALARS:
            found = right
        elif a is not b and issubclass(right, numpy.generic):  # scalars count, except their dtype
            found = left
        elif a is not b and issubclass(left, numpy.generic):
            found = right
        else:
            if a is not b and (a.hosts or b.hosts):
                self[pair] = found = left if a.hosts > b.hosts else right
                return found
            for own, cls, other in ((a, left, right), (b, right, left)):
                if a is not b and hasattr(own, "absorbs") and own.absorbs(cls, other):
                    self[pair] = cls
                    return cls
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
    """The array with readable entries; None if it has no numbers yet.

    JAX arrays have none while a function is traced, and not all where processes share an array.

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

    Filled on first use: the library's special kernel, else the operation's own forward with the
    library's namespace bound to its first parameter, else the namespace's function.
    with the library's namespace bound to its first parameter, else the namespace's function.
    """

    dress: ClassVar[Callable[[str, Any], Any] | None] = None
    """Wraps new kernels while kernel hooks are active; see `core.observe`."""

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
                    "convert them, for example with pullback.asarray(x, like=numpy.ones(1))",
                )
            return found
        forward = self.forward
        assert forward is not None, self.name
        return MethodType(forward, xp)  # a bound method: binds `xp` without a Python frame


def _checked(check: Callable[..., None], kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that checks its arguments first."""

    def call(*args: Any, **attrs: Any) -> Any:
        check(*args, **attrs)
        return kernel(*args, **attrs)

    return call


from . import batched as batched  # noqa: E402  # arrays with a hidden axis
from .numpy_ import adapter as adapter  # noqa: E402
