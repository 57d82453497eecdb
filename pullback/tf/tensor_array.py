"""`tf.TensorArray`: a list of tensors for loops, and its representation in graph loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from ..core.tensor import raw
from ..graphs.regions import Region
from ..kinds.symbols import current_graph
from ..trees import flatten
from .convert import convert_to_tensor, length_of, shape_of
from .dtypes import DType, array_dtype, as_dtype
from .errors import OutOfRangeError, invalid
from .gathering import gather
from .joining import concat, split, stack, unstack
from .shapes import TensorShape
from .shaping import range as numbers
from .shaping import reshape, shape, zeros

__all__ = ["TensorArray"]


class TensorArray:
    """A list of tensors of one dtype; each entry is written once, in any order.

    dtype, size       the dtype of the entries, and their number
    dynamic_size      writing past the end makes the array longer
    clear_after_read  outside graphs an entry can be read only once, as in TensorFlow
    element_shape     the shape of every entry; by default, that of the first one written
    infer_shape       all entries have the shape of the first

    It is differentiable. Outside graphs `write` modifies the array and returns it; inside, it
    returns a new one, so always write `ta = ta.write(…)`. The other arguments are ignored.

    >>> from pullback import tf
    >>> ta = tf.TensorArray(tf.float32, size=2)
    >>> ta = ta.write(0, 1.0).write(1, 5.0)
    >>> ta.stack().numpy()
    array([1., 5.], dtype=float32)
    """

    def __init__(
        self, dtype: Any, size: Any = None, dynamic_size: bool | None = None,
        clear_after_read: bool | None = None, tensor_array_name: str | None = None,
        handle: Any = None, flow: Any = None, infer_shape: bool = True,
        element_shape: Any = None, colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._clear = clear_after_read is not False
        self._infer = infer_shape
        self._shape = TensorShape(element_shape)
        self._whole: Any = None  # all entries in one tensor, if an index is symbolic
        self._read: set[int] = set()
        count = length_of(0 if size is None else size)
        self._entries: Any = [None] * count if isinstance(count, int) else None
        self._size = count

    @property
    def dtype(self) -> DType:
        """The dtype of the entries."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """True if writing past the end makes the array longer."""
        return self._dynamic

    @property
    def element_shape(self) -> TensorShape:
        """The shape of an entry, as far as it is known."""
        return self._shape

    def size(self, name: str | None = None) -> Any:
        """The number of entries, as a tensor."""
        if self._whole is not None:
            return shape(self._whole)[0]
        return convert_to_tensor(self._size, "int32") if self._entries is None else (
            convert_to_tensor(len(self._entries))
        )

    def __repr__(self) -> str:
        return f"<tf.TensorArray of {self._dtype.name}, element_shape={self._shape}>"

    # Writing --------------------------------------------------------------------------------

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write a tensor at an index, and return the array.

        Raises `OutOfRangeError` for an index out of range, `InvalidArgumentError` for another
        dtype, `ValueError` for another shape.
        """
        value, place = self._checked(value), length_of(index)
        if not isinstance(place, int) or self._entries is None:
            return self._written(convert_to_tensor(index), value)
        if place < 0 or (place >= len(self._entries) and not self._dynamic):
            raise _outside(place, len(self._entries))
        made = self if current_graph() is None else self._copy()
        made._entries.extend([None] * (place + 1 - len(made._entries)))
        made._entries[place] = value
        return made

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Write the slices of a tensor along its first axis at all indices."""
        value = convert_to_tensor(value, self._dtype)
        made = self if current_graph() is None else self._copy()
        made._shape = made._shape.merge_with(value.shape[1:])
        if value.shape[0] is None:
            made._entries, made._whole = None, value
            return made
        if not self._dynamic and self._entries is not None and (
            value.shape[0] > len(self._entries)
        ):
            raise _outside(value.shape[0] - 1, len(self._entries))
        made._entries, made._whole = unstack(value), None
        return made

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write the slices of a tensor along its first axis at the given indices."""
        made = self
        for place, entry in zip(shape_of(indices), unstack(convert_to_tensor(value, self._dtype)),
                                strict=True):
            made = made.write(place, entry)
        return made

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Write pieces of a tensor, of the given lengths along its first axis, in order."""
        made = self if current_graph() is None else self._copy()
        made._entries = split(convert_to_tensor(value, self._dtype), list(shape_of(lengths)))
        made._infer, made._whole = False, None
        return made

    # Reading --------------------------------------------------------------------------------

    def read(self, index: Any, name: str | None = None) -> Any:
        """The tensor at an index; zeros if nothing was written and the shape is known.

        Raises `OutOfRangeError` for an index out of range, `InvalidArgumentError` for one that
        was read before (unless `clear_after_read=False`).
        """
        place = length_of(index)
        if not isinstance(place, int) or self._entries is None:
            return gather(self.stack(), index)
        if not 0 <= place < len(self._entries):
            raise _outside(place, len(self._entries))
        if current_graph() is None and self._clear:
            if place in self._read and self._entries[place] is None:
                raise invalid("TensorArray.read", "an index that was not read before", f"{place}",
                              "create the array with clear_after_read=False")
            self._read.add(place)
            found = self._entry(place)
            self._entries[place] = None
            return found
        return self._entry(place)

    def stack(self, name: str | None = None) -> Any:
        """All entries stacked along a new first axis."""
        if self._whole is not None:
            return self._whole
        if self._entries is None:
            return self._zeros()
        if not self._entries:
            return zeros((0, *self._known("stack")), self._dtype)
        return stack([self._entry(i) for i in range(len(self._entries))])

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """The entries at the given indices, stacked along a new first axis."""
        places = shape_of(indices)
        if isinstance(places, tuple) and self._entries is not None and (
            all(isinstance(p, int) for p in places)
        ):
            return stack([self.read(p) for p in places])
        return gather(self.stack(), indices)

    def concat(self, name: str | None = None) -> Any:
        """All entries, concatenated along their first axis."""
        if self._entries is not None:
            return concat([self._entry(i) for i in range(len(self._entries))], 0)
        whole = self.stack()
        return reshape(whole, (-1, *tuple(whole.shape)[2:]))

    def identity(self) -> TensorArray:
        """A copy of the array with the same entries."""
        return self._copy()

    def close(self, name: str | None = None) -> None:
        """Release the entries."""
        self._entries, self._whole = [], None

    # Internal ---------------------------------------------------------------------------------

    def _kind(self) -> type:
        """The class of arrays derived from this one."""
        return type(self)

    def _copy(self, whole: Any = None) -> TensorArray:
        made: Any = object.__new__(self._kind())
        made.__dict__.update(self.__dict__)
        made._read = set(self._read)
        if whole is not None:
            made._entries, made._whole = None, whole
        elif self._entries is not None:
            made._entries = list(self._entries)
        return made

    def _checked(self, value: Any) -> Any:
        value = convert_to_tensor(value, dtype_hint=self._dtype)
        if value.dtype != self._dtype:
            raise invalid("TensorArray.write", f"a tensor of dtype {self._dtype.name}",
                          f"a tensor of {value.dtype.name}")
        if self._infer:
            self._shape.assert_is_compatible_with(value.shape)
            self._shape = self._shape.merge_with(value.shape)
        return value

    def _entry(self, place: int) -> Any:
        found = self._entries[place]
        return zeros(self._known("read"), self._dtype) if found is None else found

    def _known(self, subject: str) -> tuple[int, ...]:
        if not self._shape.is_fully_defined():
            raise invalid(f"TensorArray.{subject}", "written entries, or an element_shape",
                          f"element_shape {self._shape}")
        return tuple(self._shape)

    def _zeros(self) -> Any:
        """The initial tensor of a loop whose write indices are symbolic."""
        return zeros((self._size, *self._known("stack")), self._dtype)

    def _written(self, index: Any, value: Any) -> TensorArray:
        """The array with a tensor written at a symbolic index."""
        whole, index = self.stack(), ops.astype(index, array_dtype("int32"))
        if self._dynamic:
            more = ops.maximum(index + 1 - shape(whole)[0], 0)
            whole = concat([whole, zeros((raw(more), *self._known("write")), self._dtype)], 0)
        places = numbers(shape(whole)[0])
        here = reshape(places == index, (-1, *(1,) * value.ndim))
        made = ops.where(here, ops.expand_dims(value, axis=0), whole)
        return self._copy(made)


def _outside(place: int, count: int) -> Exception:
    return OutOfRangeError(
        None, None, str(invalid("TensorArray", f"an index in [0, {count})", f"{place}"))
    )


class Carried:
    """Loop variables of a graph, with each TensorArray replaced by a tensor."""

    def __init__(self, graph: Any, variables: Any, body: Callable[..., Any]) -> None:
        self.flat, self.rebuild = flatten(variables)
        self.single = not isinstance(variables, (list, tuple))
        self.arrays = [i for i, v in enumerate(self.flat) if isinstance(v, TensorArray)]
        if any(not self.flat[i]._shape.is_fully_defined() for i in self.arrays):
            self._find_shapes(graph, body)
        self.start = self.packed(self.rebuild(self.flat))

    def _find_shapes(self, graph: Any, body: Callable[..., Any]) -> None:
        """Learn the shapes of written entries from one trial iteration, which is discarded."""
        region = Region(graph)
        with region.building():
            values = [
                v._copy() if isinstance(v, TensorArray) else region.argument(
                    None if v.shape.rank is None else tuple(v.shape), v._data.dtype,
                    getattr(v._data, "kind", v._data.__class__),
                ) for v in self.flat
            ]
            probes = {i: _Probe(self.flat[i]) for i in self.arrays}
            given = [probes.get(i, v) for i, v in enumerate(values)]
            body(*self._arguments(self.rebuild(given)))
        for i, probe in probes.items():
            self.flat[i] = self.flat[i]._copy()
            self.flat[i]._shape = probe.seen

    def _arguments(self, variables: Any) -> Sequence[Any]:
        return [variables] if self.single else variables

    def packed(self, variables: Any) -> Any:
        """Variables with a tensor for each TensorArray."""
        flat, rebuild = flatten(variables)
        return rebuild([v.stack() if isinstance(v, TensorArray) else v for v in flat])

    def opened(self, variables: Any) -> Any:
        """Variables with the TensorArrays restored."""
        flat, rebuild = flatten(variables)
        for i in self.arrays:
            flat[i] = self.flat[i]._copy(flat[i])
        return rebuild(flat)

    def asking(self, cond: Callable[..., Any]) -> Callable[..., Any]:
        """The condition as a function of the packed tensors."""
        return lambda *tensors: cond(*self._opened(tensors))

    def turning(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """The body as a function of the packed tensors."""
        return lambda *tensors: self.packed(body(*self._opened(tensors)))

    def _opened(self, tensors: Sequence[Any]) -> Sequence[Any]:
        given = self.rebuild([v for t in tensors for v in flatten(t)[0]])
        return self._arguments(self.opened(given))

    def invariants(self, given: Any) -> Any:
        """The shape invariants of the packed tensors; None if all keep their shapes."""
        growing = [i for i in self.arrays if self.flat[i]._dynamic]
        if given is None and not growing:
            return None
        flat, rebuild = flatten(self.start)
        shapes = [_plain(v.shape) for v in flat]
        for i in growing:
            shapes[i] = (None, *shapes[i][1:])
        own = list(self._arguments(rebuild([_Shape(s) for s in shapes])))
        if given is not None:
            said = [given] if self.single else list(given)
            own = [o if isinstance(v, TensorArray) else s for o, s, v in zip(
                own, said, self._arguments(self.rebuild(self.flat)), strict=True
            )]
        found = [_shapes_in(part) for part in own]
        return found[0] if self.single else found


class _Shape:
    """A shape as a single leaf."""

    def __init__(self, lengths: Any) -> None:
        self.lengths = lengths


def _shapes_in(tree: Any) -> Any:
    if isinstance(tree, TensorShape):
        return _plain(tree)
    if isinstance(tree, _Shape):
        return tree.lengths
    if isinstance(tree, (list, tuple)) and any(isinstance(t, (TensorShape, _Shape)) for t in tree):
        return tuple(map(_shapes_in, tree))
    return {k: _shapes_in(v) for k, v in tree.items()} if isinstance(tree, dict) else tree


def _plain(given: TensorShape) -> Any:
    return None if given.rank is None else tuple(given)


class _Probe(TensorArray):
    """A TensorArray that records only the shapes written to it."""

    def __init__(self, array: TensorArray) -> None:
        self.__dict__.update(array._copy().__dict__)
        self.seen = self._shape

    def _kind(self) -> type:
        return TensorArray

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Record the shape."""
        self.seen = self.seen.merge_with(self._checked(value).shape)
        return self

    def read(self, index: Any, name: str | None = None) -> Any:
        """Zeros of the recorded shape."""
        return zeros(self._known("read"), self._dtype)

    def stack(self, name: str | None = None) -> Any:
        """A single entry of zeros."""
        return zeros((1, *self._known("stack")), self._dtype)
