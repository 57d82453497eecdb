"""`map_fn`, `foldl`, `foldr` and `scan`: a function of the entries of tensors, along axis 0.

In a graph each is one operation, whose number of turns is known when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ..arrays import numpy_dtype
from ..core.op import OPS
from ..core.tensor import Tensor, raw, to_array, wrap
from ..errors import ArgumentError, DtypeError, ShapeError
from ..kinds import symbols as _symbols
from ..trees import flatten
from .graph import Graph
from .loops import Loop
from .program import Program
from .region_io import as_tensor, inside, outward, plain, same_nesting, structure
from .regions import Region
from .tensor_list import stacked, unstacked


def map_fn(
    fn: Callable[..., Any], elems: Any, dtype: Any = None, fn_output_signature: Any = None,
    name: str = "map_fn",
) -> Any:
    """What `fn` returns for each entry along the first axis, stacked.

    fn     takes an entry (of a nesting of tensors, in that nesting), returns tensors in any nesting
    elems  a tensor, or a nesting of tensors with first axes of one length
    dtype, fn_output_signature   the dtypes of what fn returns, to be checked, in its nesting

    Raises `ShapeError` where first axes differ, `DtypeError` for another dtype than was said.

    >>> import pullback as pb
    >>> map_fn(lambda x: x * x, pb.tensor([1.0, 2.0, 3.0]))
    Tensor([1., 4., 9.])
    """
    signature = dtype if fn_output_signature is None else fn_output_signature
    over = _over(name, elems)
    outs, rebuild = over.run(fn, None, carries=False, makes=True)
    if signature is not None:
        _check_signature(signature, outs, name)
    return rebuild(outs)


def foldl(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str = "foldl"
) -> Any:
    """The last of the values a ← fn(a, entry), for each entry along the first axis.

    initializer  what a begins with; left out, the first entry

    >>> import pullback as pb
    >>> foldl(lambda a, x: 10 * a + x, pb.tensor([1.0, 2.0, 3.0]))
    Tensor(123.)
    """
    return _folded(fn, elems, initializer, name, backwards=False)


def foldr(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str = "foldr"
) -> Any:
    """As `foldl`, from the last entry to the first.

    >>> import pullback as pb
    >>> foldr(lambda a, x: 10 * a + x, pb.tensor([1.0, 2.0, 3.0]))
    Tensor(321.)
    """
    return _folded(fn, elems, initializer, name, backwards=True)


def scan(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, reverse: bool = False,
    name: str = "scan",
) -> Any:
    """All of the values a ← fn(a, entry), for each entry along the first axis, stacked.

    initializer  what a begins with; left out, the first entry, which is then the first value
    reverse      from the last entry to the first; the values stand where their entries do

    >>> import pullback as pb
    >>> scan(lambda a, x: a + x, pb.tensor([1.0, 2.0, 3.0]))
    Tensor([1., 3., 6.])
    """
    first = None
    if initializer is None:
        first = initializer, elems = _first_of(elems, reverse, name)
    over = _over(name, elems, reverse)
    outs, rebuild = over.run(fn, initializer, carries=True, makes=True)
    if first is not None:
        heads = [OPS["expand_dims"](v, axis=0) for v in flatten(initializer)[0]]
        pairs = zip(heads, outs, strict=True)
        outs = [OPS["concat"]([o, h] if reverse else [h, o], axis=0) for h, o in pairs]
    return rebuild(outs)


def _folded(fn: Any, elems: Any, initializer: Any, name: str, *, backwards: bool) -> Any:
    if initializer is None:
        initializer, elems = _first_of(elems, backwards, name)
    outs, rebuild = _over(name, elems, backwards).run(fn, initializer, carries=True, makes=False)
    return rebuild(outs)


def _first_of(elems: Any, backwards: bool, name: str) -> tuple[Any, Any]:
    """The entry to begin with, and the others."""
    flat, rebuild = flatten(elems)
    tensors = [v if isinstance(v, Tensor) else Tensor(to_array(v)) for v in flat]
    for t in tensors:
        if (plain(raw(t).shape) or (None,))[0] == 0:
            raise ArgumentError(f"argument `elems` of {name}", "an entry to begin with", "none",
                                "pass initializer=")
    read = OPS["getitem"]
    if backwards:
        return (rebuild([read(t, -1) for t in tensors]),
                rebuild([read(t, slice(None, -1)) for t in tensors]))
    return (rebuild([read(t, 0) for t in tensors]),
            rebuild([read(t, slice(1, None)) for t in tensors]))


def _check_signature(signature: Any, outs: Sequence[Any], name: str) -> None:
    wanted = flatten(signature)[0]
    if len(wanted) != len(outs):
        raise ArgumentError(f"dtype of {name}", f"{len(outs)}, as fn returns", f"{len(wanted)}")
    for w, out in zip(wanted, outs, strict=True):
        w = w if isinstance(w, (type, str)) else getattr(w, "dtype", w)
        if numpy.dtype(w) != numpy_dtype(raw(out).dtype):
            raise DtypeError(f"what fn of {name} returns", f"dtype {numpy.dtype(w)}, as was said",
                             f"dtype {out.dtype}", "cast it in fn")


def _over(name: str, elems: Any, backwards: bool = False) -> Any:
    """How a function is run over entries: in a graph, or at once."""
    flat = flatten(elems)[0]
    if not flat:
        raise ArgumentError(f"argument `elems` of {name}", "a tensor", "none")
    graph = _symbols.current_graph() or _symbols.graph_of(*map(raw, flat))
    return _AtOnce(name, elems, backwards) if graph is None else (
        _InGraph(graph, name, elems, backwards)
    )


class _AtOnce:
    """A Python loop over the entries of arrays."""

    def __init__(self, name: str, elems: Any, backwards: bool) -> None:
        self.name, self.elems, self.backwards = name, elems, backwards
        flat, self.rebuild = flatten(elems)
        self.tensors = [v if isinstance(v, Tensor) else Tensor(to_array(v)) for v in flat]
        lengths = {v.shape[0] for v in map(self._with_axis, self.tensors)}
        if len(lengths) > 1:
            raise ShapeError(f"`{name}`", "tensors of one length along axis 0",
                             " and ".join(map(str, sorted(lengths))))
        (self.count,) = lengths

    def _with_axis(self, tensor: Any) -> Any:
        if not tensor.ndim:
            raise ShapeError(f"argument `elems` of {self.name}", "one axis or more", "shape ()")
        return tensor

    def run(self, fn: Any, initial: Any, *, carries: bool, makes: bool) -> Any:
        """The values for all entries, or the last one, and how they are nested."""
        if makes and not self.count:
            return self._of_none(fn, initial, carries)
        order = range(self.count)
        made: list[list[Any]] = []
        value = initial
        rebuild = flatten(initial)[1]
        for i in reversed(order) if self.backwards else order:
            entry = self.rebuild([OPS["getitem"](t, i) for t in self.tensors])
            value = fn(value, entry) if carries else fn(entry)
            if carries:
                same_nesting(structure(initial), value, self.name)
            flat, rebuild = flatten(value)
            made.append(flat)
        if not makes:
            return flatten(value)
        rows = made[::-1] if self.backwards else made
        return [OPS["stack"](list(column), axis=0) for column in zip(*rows, strict=True)], rebuild

    def _of_none(self, fn: Any, initial: Any, carries: bool) -> Any:
        """Of no entries: what a graph knows of the values."""
        graph = Graph()
        with graph.as_default():
            over = _InGraph(graph, self.name, self.elems, self.backwards)
            outs, rebuild = over.run(fn, initial, carries=carries, makes=True)
        found = Program([raw(t) for t in outs])([], {})
        return [wrap(self.tensors[0]._out, v) for v in found], rebuild


class _InGraph:
    """A loop of a graph over the entries of its tensors."""

    def __init__(self, graph: Any, name: str, elems: Any, backwards: bool) -> None:
        self.graph, self.name, self.backwards = graph, name, backwards
        self.cls = graph.tensor_class
        flat, self.rebuild = flatten(elems)
        self.tensors = [as_tensor(graph, to_array(v) if not isinstance(v, Tensor) else v,
                                  f"`elems` of {name}") for v in flat]
        self.shapes = [plain(raw(t).shape) for t in self.tensors]
        if () in self.shapes:
            raise ShapeError(f"argument `elems` of {name}", "one axis or more", "shape ()")
        known = {s[0] for s in self.shapes if s is not None} - {None}
        if len(known) > 1:
            raise ShapeError(f"`{name}`", "tensors of one length along axis 0",
                             " and ".join(map(str, sorted(known))))
        self.count = known.pop() if known else None

    def run(self, fn: Any, initial: Any, *, carries: bool, makes: bool) -> Any:
        """The values for all entries, or the last one, as tensors, and how they are nested."""
        starts: list[Any] = []
        if carries:
            starts = [as_tensor(self.graph, v, f"`initializer` of {self.name}")
                      for v in flatten(initial)[0]]
        region = Region(self.graph)
        with region.building():
            carried = [
                region.argument(plain(raw(t).shape), raw(t).dtype, raw(t).kind) for t in starts
            ]
            entries = [
                region.argument(None if s is None else s[1:], raw(t).dtype, raw(t).kind)
                for s, t in zip(self.shapes, self.tensors, strict=True)
            ]
            args = [self.rebuild(entries)]
            if carries:
                args.insert(0, flatten(initial)[1](carried))
            answer = fn(*args)
            if carries:
                same_nesting(structure(initial), answer, self.name)
            flat, rebuild = flatten(answer)
            outs = [self._out(region, v, starts[i] if carries else None)
                    for i, v in enumerate(flat)]
        region.finish()
        rows = [(a, a._node) for a in entries]
        made = outs if makes else []
        loop = Loop(self.name, region, list(zip(carried, outs, strict=False)), rows, made,
                    backwards=self.backwards)
        spaces = [(plain(raw(t).shape), raw(t).dtype) for t in starts]
        finals, found = loop.append(
            self.graph, starts, [unstacked(t, self.cls) for t in self.tensors],
            [*spaces, *[(None, raw(t).dtype) for t in made]], self.cls,
        )
        if not makes:
            return finals, rebuild
        return [
            stacked(t, self.count, outward(raw(o).shape, self.graph), self.cls)
            for t, o in zip(found, outs, strict=True)
        ], rebuild

    def _out(self, region: Region, value: Any, start: Any) -> Any:
        """A value that fn returned; one that is carried on looks as it did."""
        if start is None:
            return inside(region, value)
        out = inside(region, value, raw(start).dtype)
        before, after = plain(raw(start).shape), plain(raw(out).shape)
        if out.dtype != start.dtype:
            raise DtypeError(
                f"value that fn of {self.name} returns", f"dtype {start.dtype}, like its argument",
                f"dtype {out.dtype}", "cast one of them",
            )
        if before is not None and after is not None and (
            len(before) != len(after) or any(
                n is not None and m is not None and n != m
                for n, m in zip(before, after, strict=True)
            )
        ):
            raise ShapeError(
                f"value that fn of {self.name} returns", f"shape {before}, like its argument",
                f"shape {after}",
            )
        return out
