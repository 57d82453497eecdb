"""`while_loop`: a function of its own result, as often as a condition says when the graph runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arrays.symbol import OpenShape
from ..core.op import OPS
from ..core.tensor import Tensor, raw
from ..errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from ..kinds import symbols as _symbols
from ..trees import flatten, leaves
from .hidden_axes import going
from .loops import Loop
from .region_io import as_tensor, inside, plain, same_nesting, structure
from .regions import Region


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any,
    maximum_iterations: Any = None, shape_invariants: Any = None, name: str = "while_loop",
) -> Any:
    """What loop_vars have become when `cond` of them is no longer true.

    cond, body          functions of the loop variables: one truth value; what the variables become,
                        in the same nesting
    loop_vars           a list or tuple of tensors, or of nested structures of them, passed one
                        by one; or one tensor
    maximum_iterations  an end, whatever `cond` says
    shape_invariants    a shape for each loop variable, in the same nesting, with None for lengths
                        that change from turn to turn

    In a graph it is one operation. It differentiates to any order, in loop variables and in tensors
    from outside; for that, what the variables were in each turn is kept. Outside of graphs it is
    a Python loop.

    Raises `ArgumentError` where the nesting changes, `DtypeError` where a dtype does, `ShapeError`
    where a shape does that is not said to.

    >>> import pullback as pb
    >>> from pullback.graphs import Graph, Session, gradients, placeholder
    >>> with Graph().as_default() as graph:
    ...     x = placeholder(pb.float64, [])
    ...     y, n = while_loop(lambda y, n: y < 100, lambda y, n: (y * y, n + 1), [x, 0])
    ...     dx, = gradients(y, x)
    >>> Session(graph).run([y, n, dx], {x: 3.0})
    [np.float64(6561.0), np.int64(3), np.float64(17496.0)]
    """
    for label, function in (("cond", cond), ("body", body)):
        if not callable(function):
            raise ArgumentTypeError(f"argument `{label}` of {name}", "a function",
                                    f"a {type(function).__name__}")
    many = isinstance(loop_vars, (list, tuple))
    variables = list(loop_vars) if many else [loop_vars]
    if not variables or not flatten(variables)[0]:
        raise ArgumentError(f"argument `loop_vars` of {name}", "one or more", "none")
    graph = _symbols.current_graph() or _symbols.graph_of(*map(raw, flatten(variables)[0]))
    if graph is None:
        answer = _eagerly(cond, body, variables, maximum_iterations, name)
    else:
        loop = _While(graph, name, variables, shape_invariants, many)
        answer = loop.built(cond, body, maximum_iterations)
    if not many:
        return answer[0]
    fields = getattr(type(loop_vars), "_make", type(loop_vars))
    return fields(answer)


def _eagerly(
    cond: Any, body: Any, variables: list[Any], maximum: Any, name: str
) -> list[Any]:
    """The Python loop."""
    wanted, limit = structure(tuple(variables)), None if maximum is None else int(maximum)
    turns = 0
    active: Any = None
    while limit is None or turns < limit:
        active = going(cond(*variables), active)
        if active is False:
            break
        found = _listed(body(*variables), len(variables))
        same_nesting(wanted, tuple(found), name)
        if active is not True:  # in a vmap, examples that have ended keep their values
            old, where = leaves(variables), OPS["where"]
            flat, rebuild = flatten(found)
            found = rebuild([v if v is None else where(active, v, o)
                             for v, o in zip(flat, old, strict=True)])
        variables, turns = found, turns + 1
    return variables


def _listed(answer: Any, count: int) -> list[Any]:
    """What a body returned, a value for each loop variable."""
    if isinstance(answer, list) or (isinstance(answer, tuple) and len(answer) == count):
        return list(answer)
    return [answer]


class _While:
    """The building of a loop in a graph."""

    def __init__(
        self, graph: Any, name: str, variables: list[Any], invariants: Any, many: bool
    ) -> None:
        self.graph, self.name, self.cls = graph, name, graph.tensor_class
        self.count = len(variables)
        flat, self.rebuild = flatten(tuple(variables))
        self.nesting = structure(tuple(variables))
        self.starts = [as_tensor(graph, v, f"loop variable {i} of `{name}`")
                       for i, v in enumerate(flat)]
        self.shapes = [raw(t).shape for t in self.starts]
        if invariants is not None:
            self._widen(list(invariants) if many else [invariants])

    def _widen(self, invariants: Any) -> None:
        """Take the shapes given for those of the loop variables."""
        flat = [s for part in invariants for s in _shapes(part)]
        if len(flat) != len(self.starts):
            raise ArgumentError(f"argument `shape_invariants` of {self.name}",
                                f"{len(self.starts)} shapes, one for each loop variable",
                                f"{len(flat)}")
        for i, (shape, tensor) in enumerate(zip(flat, self.starts, strict=True)):
            own = plain(raw(tensor).shape)
            if not fits(own, shape):
                raise ShapeError(
                    f"shape_invariants[{i}] of {self.name}",
                    f"a shape that the loop variable has, which is {own}", f"{shape}"
                )
        self.shapes = list(flat)

    def _arguments(self, region: Region) -> list[Any]:
        return [
            region.argument(shape if not isinstance(shape, OpenShape) else plain(shape),
                            raw(t).dtype, raw(t).kind)
            for shape, t in zip(self.shapes, self.starts, strict=True)
        ]

    def built(self, cond: Any, body: Any, maximum: Any) -> list[Any]:
        """The loop's results, in the nesting of its variables."""
        asking, region = Region(self.graph), Region(self.graph)
        with asking.building():
            answer = inside(asking, self._truth(cond(*self.rebuild(self._arguments(asking)))))
        asking.finish()
        with region.building():
            arguments = self._arguments(region)
            found = _listed(body(*self.rebuild(arguments)), self.count)
            same_nesting(self.nesting, tuple(found), self.name)
            outs = [self._carried(region, i, v) for i, v in enumerate(flatten(tuple(found))[0])]
        region.finish()
        loop = Loop(
            self.name, region, list(zip(arguments, outs, strict=True)),
            condition=(asking, raw(answer)), limited=maximum is not None,
        )
        spaces = [self._space(i, a, o)
                  for i, (a, o) in enumerate(zip(arguments, outs, strict=True))]
        limit = raw(maximum) if maximum is None or isinstance(maximum, Tensor) else int(maximum)
        results, _ = loop.append(self.graph, self.starts, [], spaces, self.cls, limit)
        return list(self.rebuild(results))

    def _truth(self, answer: Any) -> Any:
        shape = getattr(raw(answer), "shape", ())
        if plain(shape) not in ((), None):
            raise ShapeError(f"condition of `{self.name}`", "one truth value, of shape ()",
                             f"shape {plain(shape)}", "reduce it, as with pullback.any(x)")
        return answer

    def _carried(self, region: Region, i: int, value: Any) -> Any:
        """What a loop variable becomes, checked."""
        subject = f"loop variable {i} of `{self.name}`"
        start = raw(self.starts[i])
        if value is None:
            raise ArgumentTypeError(subject, "a tensor from the body", "None")
        out = inside(region, value, start.dtype)
        if out.dtype != start.dtype:
            raise DtypeError(subject, f"dtype {start.dtype}, as it begins",
                             f"dtype {out.dtype} after a turn", "cast one of them")
        shape, after = plain(self.shapes[i]), plain(raw(out).shape)
        if not fits(after, shape):
            raise ShapeError(
                subject, f"shape {shape} in every turn", f"shape {after} after a turn",
                "say with shape_invariants, or set_shape, which lengths change",
            )
        return out

    def _space(self, i: int, argument: Any, out: Any) -> tuple[Any, Any]:
        """What a loop variable looks like in the end: as in the beginning, if no turn changes it.
        """
        start, dtype = raw(self.starts[i]), raw(out).dtype
        if raw(out).shape == raw(argument).shape:
            return start.shape, dtype
        return plain(self.shapes[i]), dtype


def fits(shape: Any, wanted: Any) -> bool:
    """Whether every tensor of a shape is of another, in which None stands for any length."""
    if wanted is None:
        return True
    return shape is not None and len(shape) == len(wanted) and all(
        m is None or n == m for n, m in zip(shape, wanted, strict=True)
    )


def _shapes(tree: Any) -> list[Any]:
    """The shapes in a nesting of them: sequences of lengths, None for any shape."""
    if tree is None:
        return [None]
    if isinstance(tree, dict):
        return [s for key in sorted(tree) for s in _shapes(tree[key])]
    if any(isinstance(n, (tuple, list, dict)) for n in tree):
        return [s for part in tree for s in _shapes(part)]
    return [tuple(tree)]
