"""Whether a hand-written rule is linear: in a graph, an operation looks when the graph runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..arrays.batched import zeros_by
from ..core.tensor import Tensor, raw, wrap
from ..kinds import symbols as _symbols
from ..linearity import probe_of
from .operation import Kind

PROBE = Kind("probe", lambda zeros, scale: probe_of((zeros.shape, zeros.dtype), zeros, scale))
PROBE.stateful = False


def probe(space: Any, like: Any, scale: float) -> Any:
    """The cotangent with which a rule is tried, of a shape that may not be known yet."""
    zeros = zeros_by(space[0], like, space[1])
    graph = _symbols.graph_of(zeros, like)
    (made,) = graph.append(
        PROBE, (graph.own(zeros),), {"scale": scale}, [(zeros.shape, zeros.dtype)], like.kind
    )
    return made


class Checked(Kind):
    """An operation that compares the results of a rule, and passes the tangents on.

    check   takes the values, sequences and mappings of arrays, and raises if they do not fit
    values  these, with places among the operation's arguments for arrays, and None
    """

    effect = True

    def __init__(
        self, check: Callable[..., None], values: Sequence[Any], pushed: list[int]
    ) -> None:
        super().__init__("check_linear")
        self.check, self.values, self.pushed = check, values, pushed

    def kernel(self, *arrays: Any) -> Any:
        """The tangents, or an error."""
        self.check(*[_filled(v, arrays) for v in self.values])
        found = [arrays[i] for i in self.pushed]
        return found[0] if len(found) == 1 else tuple(found)


def _filled(value: Any, arrays: Sequence[Any]) -> Any:
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
    found = {k: None if at is None else arrays[at] for k, at in pairs}
    return found if isinstance(value, Mapping) else list(found.values())


def checked(check: Callable[..., None], values: Sequence[Any]) -> list[Any]:
    """The tangents, the last but one of the values, as they are if the graph finds them right."""
    args: list[Any] = []

    def place(value: Any) -> int | None:
        if value is None:
            return None
        args.append(raw(value))
        return len(args) - 1

    keys: dict[Any, int] = {}  # of the mappings, nodes: by numbers, as the graph must not keep them
    places: list[Any] = [
        {keys.setdefault(k, len(keys)): place(v) for k, v in value.items()}
        if isinstance(value, Mapping) else [place(v) for v in value]
        for value in values
    ]
    graph = _symbols.graph_of(*args)
    own = [graph.own(a) for a in args]
    pushed = [i for i in places[-2] if i is not None]
    kind = Checked(check, places, pushed)
    made = iter(graph.append(
        kind, own, {}, [(own[i].shape, own[i].dtype) for i in pushed],
        own[pushed[0]].kind if pushed else own[0].kind,
    ))
    return [
        None if t is None else wrap(t._out, next(made), t._node) if isinstance(t, Tensor)
        else next(made)
        for t in values[-2]
    ]


later: Any = _symbols.later
later.probe, later.checked = probe, checked
