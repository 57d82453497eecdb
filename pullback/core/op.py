"""Operations: a name, a forward by array type, and a rule for each array argument.

How one is written: `ops/README.md`. `ops/declaring.py` checks it and makes an `Op` of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._parameters import name_of, parameters_of
from .._registry import OPS as OPS
from ..arrays import Kernels
from .above import above
from .node import Node, where

SHAPE, DTYPE, SHAPES, INDEX, ALL_ARRAYS = -1, -2, -3, -4, -5


def _same(value: Any) -> Any:
    return value


class Rule:
    """How a cotangent of the output becomes one of an argument.

    function   what its author wrote, under `name`
    reads      for each parameter after `g`: a position among the saved values (inputs, then the
               output), or one of the negative marks above
    keywords   the attributes it takes
    partial    it returns the partial derivative, to be multiplied with `g` (elementwise only)
    same       it returns its one parameter as it is, as that of a sum does, and need not be called
    own        the library's own: that of an elementwise operation is its own transpose
    """

    __slots__ = ("function", "keywords", "name", "own", "partial", "reads", "same")

    def __init__(
        self, function: Callable[..., Any], reads: tuple[int, ...], keywords: tuple[str, ...],
        partial: bool,
    ) -> None:
        self.function, self.reads, self.keywords, self.partial = function, reads, keywords, partial
        self.name, module = name_of(function), str(function.__module__)
        self.own = module.startswith(__name__.partition(".")[0] + ".")
        code = getattr(function, "__code__", None)
        self.same = (
            code is not None and code.co_argcount == 1 and code.co_code == _same.__code__.co_code
        )

    def __call__(self, g: Any, saved: tuple[Any, ...], node: Node, index: int) -> Any:
        """The cotangent of argument `index`, from the output's and the saved values."""
        parent = node.parents[index]
        args = [
            saved[r] if r >= 0 else _special(r, saved, node, parent, index) for r in self.reads
        ]
        keywords = {k: node.attrs[k] for k in self.keywords}
        if self.partial:
            return g * self.function(*args, **keywords)
        return self.function(g, *args, **keywords)

    def is_short(self) -> bool:
        """Whether it reads at most one saved value, and nothing else."""
        return not self.keywords and len(self.reads) <= 1 and all(r >= 0 for r in self.reads)

    def is_parted(self) -> bool:
        """Whether its slope may be computed, and multiplied with `g`, part by part.

        Not that of other people's rules, which may hold arrays of the whole shape.
        """
        own = self.function.__module__.startswith("pullback.ops.")
        return own and self.partial and bool(self.reads) and self.reads[0] >= 0

    def saved(self, count: int, index: int) -> set[int]:
        """Which saved values it reads, for argument `index` of so many."""
        found = {r for r in self.reads if r >= 0}
        if ALL_ARRAYS in self.reads:
            found.update(i for i in range(count) if i != index)
        return found


def who(rule: Rule | None, node: Node, index: int) -> Callable[[], str]:
    """The subject of an error about what a rule returned, made when there is one."""
    return lambda: f"rule `{rule and rule.name}` of {where(node)}, argument {index}"


def pullback_flat(g: Any) -> Any:
    """Zeros: the rule of every operation that is flat wherever it has a derivative."""
    return OPS["zeros_like"](g)


def _nothing() -> None:
    """An operation whose calling path depends on no rule."""


def _special(mark: int, saved: tuple[Any, ...], node: Node, parent: Any, index: int) -> Any:
    if mark == SHAPE:
        return parent.shape
    if mark == DTYPE:
        return parent.dtype
    if mark == SHAPES:
        return node.attrs["shapes"]
    if mark == INDEX:
        return index
    return saved[:-1]


class Op:
    """One operation; `pullback.op` has its options."""

    __slots__ = (
        "__weakref__", "_keep", "arguments", "around", "batch", "collapses", "defaults",
        "differentiable", "dtype", "elementwise", "flat", "function", "keeps", "kernels", "linear",
        "looped", "name", "operate", "outputs", "positional", "pull", "pushes", "refresh",
        "required", "rules", "saves_shapes", "shape", "step", "together", "variadic", "view",
    )

    def __init__(
        self, forward: Callable[..., Any], native: str | None, *, name: str, elementwise: bool,
        view: bool, differentiable: bool, flat: bool, linear: bool, outputs: tuple[str, ...],
        reduction: bool, shape: str | None, dtype: Any,
    ) -> None:
        found = parameters_of(forward)
        skip = 0 if native is not None else 1  # the namespace
        self.name = name
        self.elementwise, self.view = elementwise, view
        self.differentiable, self.flat = differentiable, flat
        self.variadic = found.variadic is not None
        self.arguments = (
            found.positional_only[skip:] if found.variadic is None else (found.variadic,)
        )
        self.defaults: dict[str, Any] = found.defaults
        self.positional = found.positional
        self.required = (*found.positional, *found.keyword_only)
        self.kernels = Kernels(name, None if native else forward, native)
        self.rules: dict[int, Rule] = {}
        if flat:
            self.rules = {i: Rule(pullback_flat, (), (), False) for i in range(len(self.arguments))}
        self.pushes: dict[int, Rule] = {}
        self.collapses: dict[int, Rule] = {}
        self.linear, self.outputs = linear, outputs
        self.together: Rule | None = None
        self.batch: Any = None
        self.shape: Any = "reduced" if reduction else shape
        self.dtype = dtype
        self.looped = False
        self.around: Callable[[Any], Any] | None = None  # a faster `pull` from the usual one
        self.saves_shapes = False
        self._keep: dict[tuple[bool, ...], tuple[bool, ...]] = {}
        self.keeps = flat
        self.pull: Callable[[Node, Any, dict[Node, Any]], None]
        self.step: Callable[[Node, Any, dict[Node, Any], Any, bool, type], None]
        self.function: Callable[..., Any]
        self.operate: Callable[..., Any]
        self.refresh: Callable[[], None] = _nothing

    def __repr__(self) -> str:
        return f"<Op {self.name}>"

    def rule(self, index: int) -> Rule | None:
        """The rule of an argument, or None when it has no derivative."""
        return self.rules.get(0 if self.variadic else index)

    def keep(self, tracked: tuple[bool, ...]) -> tuple[bool, ...]:
        """Which of (inputs…, output) to save when these inputs are tracked."""
        found = self._keep.get(tracked)
        if found is None:
            n = len(tracked)
            wanted: set[int] = set()
            if self.flat:
                # A step is recorded only to override its gradient, and the override may read the
                # input, also on a finished computation.
                wanted.update(range(n))
            for index, needed in enumerate(tracked):
                if not needed:
                    continue
                for r in self._reads(index):
                    if r == ALL_ARRAYS:
                        wanted.update(j for j in range(n) if j != index)
                    elif r >= 0:
                        beyond = r - len(self.arguments)
                        wanted.add(n + beyond if beyond >= 0 else r)
            found = self._keep[tracked] = tuple(i in wanted for i in range(n + len(self.outputs)))
        return found

    def _reads(self, index: int) -> list[int]:
        """What the rules of an argument read, of both directions."""
        key = 0 if self.variadic else index
        rules = (
            self.rules.get(key), self.pushes.get(key), self.collapses.get(key), self.together
        )
        reads = [r for rule in rules if rule is not None for r in rule.reads]
        if self.linear and len(self.arguments) > 1:  # pushed by itself, with the others as saved
            reads.extend(i for i in range(len(self.arguments)) if i != index)
        return reads

    def changed(self) -> None:
        """Forget what was found out from the rules, as one of them is new."""
        self._keep.clear()
        self.refresh()


def op(forward: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Register an operation: the decorator `pullback.op`, which is in `ops/declaring.py`."""
    return above.op(forward, **options)
