"""`draw`: the recorded graph of tensors, or the part between two, as a picture."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ...core.cotangent import conjugated
from ...core.multi_output import Pick
from ...core.node import Node
from ...core.op import OPS
from ...core.tensor import Tensor, is_inexact, raw
from ...errors import ArgumentError, ArgumentTypeError
from ...kinds.symbols import holds_symbols
from ...passes.ends import start as begun
from ...trees import leaves
from ..explain.explain import explain
from .boxes import Scene
from .history import History
from .layout import Drawn
from .layout.drawn import FORMATS
from .slopes import Slopes

SHOWN = ("space", "gradient", "saved", "line", "cuts")


class Recording(Drawn):
    """A picture of a recorded graph; notebooks show it in any format by `_repr_html_`."""

    def _repr_html_(self) -> str:
        if self.format == "svg":
            return f'<div style="overflow:auto;max-height:720px">{self.svg}</div>'
        return str(super()._repr_html_())


def draw(
    y: Any, x: Any = None, *, tape: Any = None, cotangent: Any = None, gradients: bool = True,
    format: str = "svg", fold: bool | None = None, show: Collection[str] = SHOWN,
    names: Any = None,
) -> Any:
    """Returns a picture of the recorded operations that lead to y, from top to bottom.

    y          a Tensor, or a pytree of Tensors; for a tensor of a graph, same as `Graph.draw`; or
               the concrete graph of a traced function
    x          tensors: draws only operations on a path from these. If there is no path, draws both
               sides and the cut
    tape       a GradientTape: operations recorded outside of it end the paths
    cotangent  the cotangents of y, for `gradients`; default: ones
    gradients  runs one backward pass, which keeps the graph, and shows the norm of each gradient
               and its shares of zeros and NaN. Hooks do not run; custom gradients do
    format     the format in a notebook: "svg", "html" (folds, zooms, searches), "dot" or "text"
    fold       whether to draw each group as one box; default: only as many as a large graph needs
    show       further lines in a box: some of "space", "gradient", "saved", "line"; and "cuts":
               the places where tensors lost their history beside the drawn paths
    names      {name: Tensor}, or a module, whose parameters then have their names

    The picture has `.svg`, `.html`, `.dot` and `.text`, and `save(path)` chooses the format by the
    file's suffix. For line numbers, record inside `with pullback.debug():`.

    Raises `ArgumentError` and `ArgumentTypeError` for invalid arguments, `RuleError` for a
    cotangent with another shape.

    >>> import pullback as pb
    >>> from pullback.tools.draw import draw
    >>> x = pb.tensor([3.0, 4.0], requires_grad=True)
    >>> picture = draw(pb.sum(x * x), x)
    >>> picture
    <picture of 4 operations>
    >>> picture.picture.boxes[0].rows
    ('float64 [2]', '‖g‖ 10')
    """
    if format not in FORMATS:
        raise ArgumentError("argument `format` of draw", f"one of {', '.join(FORMATS)}",
                            repr(format))
    if isinstance(show, str) or not set(show) <= set(SHOWN):
        raise ArgumentError("argument `show` of draw", f"some of {', '.join(SHOWN)}", repr(show))
    if hasattr(y, "graph") and not isinstance(y, Tensor):
        return y.graph.draw(format=format, fold=fold)
    targets, sources = _tensors(y, "y"), ([] if x is None else _tensors(x, "x"))
    if any(holds_symbols(t) for _, t in targets):
        flat = [t for _, t in targets]
        graph = raw(flat[0]).operation.graph
        between = None if x is None else ([t for _, t in sources], flat)
        return graph.draw(flat, between=between, format=format, fold=fold)
    history = History(
        [t._node for _, t in targets if t._node is not None],
        None if tape is None else tape._recorded(),
    )
    starts = [t._node for _, t in sources if t._node is not None]
    joined = x is None or history.between(starts)
    reasons = [] if joined else [
        explain([t for _, t in targets], source, tape=tape) for _, source in sources
    ]
    slopes = Slopes(history, _roots(targets, cotangent)) if gradients else None
    called = _called(names) | {t._node: n for n, t in sources if t._node is not None
                               and t._node not in _called(names)}
    scene = Scene(history, slopes, called, _spaces(targets), _spaces(sources), show, reasons)
    return Recording(scene.picture(), format, fold)


def _tensors(values: Any, subject: str) -> list[tuple[str, Any]]:
    """(name, tensor) of each tensor in a pytree."""
    flat = leaves(values)
    for value in flat:
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(f"argument `{subject}` of draw", "a Tensor, or several",
                                    f"a {type(value).__name__}")
    if isinstance(values, Tensor):
        return [(subject, values)]
    import optree

    places = optree.tree_accessors(values, is_leaf=lambda v: isinstance(v, Tensor))
    return [(place.codify(subject), t) for place, t in zip(places, flat, strict=True)]


def _spaces(tensors: list[tuple[str, Any]]) -> list[tuple[str, Node | None, str]]:
    return [(n, t._node, f"{str(t.dtype).rpartition('.')[2]} {list(t.shape)}")
            for n, t in tensors]


def _roots(targets: list[tuple[str, Any]], cotangent: Any) -> dict[Node, Any]:
    """target node -> its initial cotangent."""
    given = [None] * len(targets) if cotangent is None else leaves(cotangent)
    if len(given) != len(targets):
        raise ArgumentError("argument `cotangent` of draw", f"one for each of {len(targets)}",
                            f"{len(given)}")
    roots: dict[Node, Any] = {}
    for (_, target), g in zip(targets, given, strict=True):
        node = target._node
        if node is None or not is_inexact(target._data):
            continue
        start = OPS["ones_like"](target._data) if g is None else raw(begun(target, g, "draw"))
        start = conjugated(start)
        roots[node] = start if node not in roots else roots[node] + start
    return roots


def _called(names: Any) -> dict[Node, str]:
    """node -> its name."""
    if names is None:
        return {}
    pairs = names.named_parameters() if hasattr(names, "named_parameters") else None
    if pairs is None and not isinstance(names, Mapping):
        raise ArgumentTypeError("argument `names` of draw", "{name: Tensor}, or a module",
                                f"a {type(names).__name__}", 'names={"w": w}')
    found = {}
    for name, tensor in pairs if pairs is not None else names.items():
        node = getattr(tensor, "_node", None)
        if node is not None:
            found[node.parents[0] if isinstance(node, Pick) else node] = str(name)
    return found
