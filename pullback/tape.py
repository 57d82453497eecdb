"""`GradientTape`: records what is computed while it is open, from the tensors that it watches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .core import state as _state
from .core.cotangent import conjugated, wrapped
from .core.node import Leaf, Node, number
from .core.reverse import pull, within
from .core.tensor import Tensor, check_inexact, is_inexact, raw, wrap
from .custom.override import Overrides
from .errors import ArgumentError, ArgumentTypeError, DtypeError, TapeError, refuse_copy
from .kinds.symbols import current_graph
from .ops import broadcast_to, ones_like, reshape, stack, zeros_like
from .passes import accumulator, ends
from .passes.ends import notify_gradient
from .transforms.mapping import vmap
from .transforms.reverse import bases
from .transforms.trace import inside
from .transposition import zeros_for
from .trees import flatten, leaves
from .variable import Variable


class GradientTape:
    """Context manager: records computations on watched tensors, and computes their gradients.

    persistent                allows more than one call of `gradient`
    watch_accessed_variables  watches trainable variables (and tensors with requires_grad) when
                              they are read
    keep_values               saves every input and output, not only those that rules need, so that
                              any override finds them later

    Tapes nest to any order, can be open at the same time with different watched tensors, and can
    compute gradients inside their own block. Per thread. The names follow TensorFlow 2.

    >>> import pullback as pb
    >>> x = pb.tensor(3.0)
    >>> with pb.GradientTape() as outer:
    ...     outer.watch(x)
    ...     with pb.GradientTape() as inner:
    ...         inner.watch(x)
    ...         y = x * x * x
    ...     dy = inner.gradient(y, x)
    >>> dy, outer.gradient(dy, x)
    (Tensor(27.), Tensor(18.))
    """

    def __init__(
        self, persistent: bool = False, watch_accessed_variables: bool = True,
        keep_values: bool = False,
    ) -> None:
        self._persistent, self._keep_values = persistent, keep_values
        self._auto = watch_accessed_variables
        self._watched: set[Node] = set()
        self._variables: dict[Node, Variable] = {}
        self._spans: list[tuple[int, float]] = []
        self._opened: int | None = None
        self._inside: tuple[_state.State, _state.State] | None = None
        self._shared = self._spent = False  # shared: another tape was open at the same time

    __reduce_ex__ = refuse_copy

    # Opening and closing --------------------------------------------------------------------

    def __enter__(self) -> GradientTape:
        if self._opened is not None:
            raise TapeError("`with tape:`", "a tape that is not recording", "one that is recording")
        others = _state.state().tapes
        for tape in others:
            tape._shared = self._shared = True
        self._open()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._inside is not None:
            inside, before = self._inside
            try:
                self._close(inside, before, _state.set_state(before).old_value)  # Ctrl-C may follow
            finally:
                self._opened = self._inside = None  # the state refers to this tape: no cycle

    def _open(self) -> None:
        before = _state.state()
        keep = before.keep_values or self._keep_values
        inside = before.changed(tapes=(*before.tapes, self), keep_values=keep)
        try:
            self._inside, self._opened = (inside, before), number()
            _state.set_state(inside)
        except BaseException:  # Ctrl-C
            _state.set_state(before)
            self._inside = self._opened = None
            raise

    def _close(self, inside: _state.State, before: _state.State, old: Any) -> None:
        self._spans.append((self._opened or 0, number()))
        if old is not inside:
            _state.amend(old)
            left = tuple([t for t in _state.state().tapes if t is not self])
            keeps = before.keep_values or any(t._keep_values for t in left)
            _state.change(tapes=left, keep_values=keeps)

    def _recorded(self) -> list[tuple[int, float]]:
        return [*self._spans, *([] if self._opened is None else [(self._opened, math.inf)])]

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Context manager: the tape does not record computations inside the block.

        Raises `TapeError` if the tape is not recording.

        >>> import pullback as pb
        >>> x = pb.tensor(3.0)
        >>> with pb.GradientTape() as tape:
        ...     tape.watch(x)
        ...     with tape.stop_recording():
        ...         constant = x * 1.0
        ...     y = x * constant
        >>> tape.gradient(y, x)
        Tensor(3.)
        """
        if self._opened is None:
            raise TapeError("stop_recording()", "a tape that is recording", "one that is not")
        self.__exit__()
        try:
            yield
        finally:
            self._open()

    def reset(self) -> None:
        """Clears all recorded computations and watched tensors, as in a new tape."""
        self._watched.clear()
        self._variables.clear()
        self._spans.clear()
        self._spent = False
        if self._opened is not None:
            self._opened = number()

    # Watching -------------------------------------------------------------------------------

    def watch(self, tensor: Any) -> None:
        """Watches a tensor, or every tensor of a pytree, from now on.

        Raises `ArgumentTypeError` unless it is a Tensor, `DtypeError` for integers and booleans.
        """
        for x in leaves(tensor):
            if not isinstance(x, Tensor):
                raise ArgumentTypeError(
                    "argument of tape.watch", "a Tensor", f"a {type(x).__name__}",
                    "make it one with pullback.tensor(…)",
                )
            check_inexact(x._data, "tape.watch")
            if isinstance(x, Variable):
                assert x._leaf is not None
                self._variables[x._leaf] = x
                self._watched.add(x._leaf)
                continue
            node = x._node
            if node is None or node.level == _state.TANGENT:
                node = Leaf(x._data, _state.ALL)
                accumulator.begin(x, node)
            self._watched.add(node)

    def accessed(self, variable: Variable, leaf: Node) -> None:
        """Called by a variable when it is read."""
        if self._auto and variable._trainable:
            self._variables[leaf] = variable
            self._watched.add(leaf)

    def watched_variables(self) -> tuple[Variable, ...]:
        """Returns the variables read or watched so far, in order."""
        return tuple(self._variables.values())

    # Gradients ------------------------------------------------------------------------------

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: Any = "none",
        overrides: Any = None,
    ) -> Any:
        """Returns the gradient of the sum of the targets w.r.t. each source, as the sources' tree.

        target                 a Tensor or a pytree of Tensors, of any shape
        sources                watched tensors, variables, or tensors computed from them
        output_gradients       one cotangent per target, with its shape; default: ones
        unconnected_gradients  "none" or "zero": the result for a source without a path
        overrides              {operation: registered name or rule}, used for this call only, on the
                               computation that was already recorded; see `override_gradient`

        Raises `TapeError` for a second call unless the tape is persistent; `DtypeError` for an
        integer source; `RuleError` for a cotangent with another shape.

        >>> import pullback as pb
        >>> x = pb.tensor([1.0, 2.0])
        >>> with pb.GradientTape() as tape:
        ...     tape.watch(x)
        ...     squares = x * x
        >>> tape.gradient(squares, {"x": x}, output_gradients=pb.tensor([1.0, 10.0]))
        {'x': Tensor([ 2., 40.])}
        """
        zero = is_zero(unconnected_gradients)
        targets = [t for t in leaves(target) if t is not None]
        flat, rebuild = flatten(sources)
        nodes = [self._source(s, i) for i, s in enumerate(flat)]
        record = self._use()
        roots = _roots(targets, output_gradients, record)
        keep = self._persistent or self._shared or _is_recording()
        free = 0 if keep else _state.ALL
        cls = targets[0]._out if targets else Tensor
        found = self._pull(roots, nodes, record, free, overrides, cls)
        answers = [self._answer(s, n, found, zero) for s, n in zip(flat, nodes, strict=True)]
        notify_gradient("tape.gradient", targets, flat, answers, self)
        return rebuild(answers)

    def explain(self, target: Any, sources: Any, output_gradients: Any = None) -> Any:
        """Explains why this tape's gradient is None, zero, NaN or infinite; see `pullback.explain`.

        Can be called before or after `gradient`, and changes nothing.
        """
        from .tools.explain import explain

        return explain(target, sources, tape=self, cotangent=output_gradients)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: Any = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
        overrides: Any = None,
    ) -> Any:
        """Returns the Jacobian for each source, with shape target.shape + source.shape.

        One batched backward pass computes all rows. `parallel_iterations` limits the number of rows
        at a time, to save memory; `experimental_use_pfor=False` computes one row at a time, for
        custom gradients that cannot be batched. The other arguments are those of `gradient`.

        >>> import pullback as pb
        >>> x = pb.tensor([1.0, 2.0])
        >>> with pb.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> tape.jacobian(y, x)
        Tensor([[2., 0.],
                [0., 4.]])
        """
        zero = is_zero(unconnected_gradients)
        flat, rebuild = flatten(sources)
        chunk = parallel_iterations if experimental_use_pfor else 0
        (basis,) = bases([target])
        found = self._rows(target, basis, flat, overrides, chunk, 0)
        return rebuild([
            _shaped(r, (*target.shape, *s.shape), s, zero)
            for r, s in zip(found, flat, strict=True)
        ])

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: Any = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
        overrides: Any = None,
    ) -> Any:
        """Returns the Jacobian of each example: shape (b, *target.shape[1:], *source.shape[1:]).

        Entry k of the target must depend on entry k of the source only. The rows of all examples
        are computed together; the other arguments are those of `jacobian`.

        Raises `ArgumentError` if the first axes differ.
        """
        zero = is_zero(unconnected_gradients)
        if not (target.ndim and source.ndim and target.shape[0] == source.shape[0]):
            raise ArgumentError(
                "batch_jacobian", "a target and a source with equal first axes",
                f"shapes {target.shape} and {source.shape}",
            )
        chunk = parallel_iterations if experimental_use_pfor else 0
        (basis,) = bases([target[:1]])  # of one example, shared by all examples
        basis = broadcast_to(basis, (basis.shape[0], *target.shape))
        (found,) = self._rows(target, basis, [source], overrides, chunk, 1)
        shape = (target.shape[0], *target.shape[1:], *source.shape[1:])
        return _shaped(found, shape, source, zero)

    def _rows(
        self, target: Any, basis: Any, flat: Sequence[Any], overrides: Any, chunk: int | None,
        axis: int,
    ) -> list[Any]:
        """The gradients of each source for all cotangents of a basis along an axis; or None.

        chunk  the number of cotangents at a time; None for all, 0 for a loop
        """
        nodes = [self._source(s, i) for i, s in enumerate(flat)]
        record = self._use()
        reached: list[bool] = []

        def pull_one(g: Any) -> list[Any]:
            found = self._pull(_roots([target], [g], record), nodes, record, 0, overrides,
                               target._out)
            answers = [self._answer(s, n, found, False) for s, n in zip(flat, nodes, strict=True)]
            reached[:] = [a is not None for a in answers]
            return [a for a in answers if a is not None]

        rows = iter(_each(pull_one, basis, chunk, axis))
        return [next(rows) if r else None for r in reached]

    def _use(self) -> bool:
        """Checks that the tape may compute a gradient; returns whether to record it."""
        if self._spent:
            raise TapeError(
                "tape.gradient", "one call, because the tape is not persistent", "a second call",
                "use GradientTape(persistent=True)",
            )
        if not self._persistent:
            self._spent = True
            self.__exit__()
        return _is_recording() or bool(_state.state().accumulators)

    def _source(self, x: Any, index: int) -> Node | None:
        """The node of a source; None if this tape did not record it."""
        subject = f"source {index} of tape.gradient"
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(subject, "a Tensor or Variable", f"a {type(x).__name__}")
        if not is_inexact(x._data):
            raise DtypeError(
                subject, "a real or complex floating dtype", f"dtype {x.dtype}",
                "differentiate with respect to a float tensor",
            )
        node = x._leaf if isinstance(x, Variable) else x._node
        if node is None or node in self._watched:
            return node
        if isinstance(node, Leaf):
            return node if self._auto and node.trainable else None
        spans = self._recorded()
        if not within(spans, node.seq):
            return None
        if self._auto and not self._shared:
            return node
        return node if self._descends(node, spans) else None

    def _descends(self, node: Node, spans: list[tuple[int, float]]) -> bool:
        """Whether a computed node depends on a tensor that this tape watched."""
        seen, stack = {node}, [node]
        while stack:
            now = stack.pop()
            if now in self._watched or (
                self._auto and isinstance(now, Leaf) and now.trainable
            ):
                return True
            if within(spans, now.seq):
                new = [p for p in now.parents if p is not None and p not in seen]
                seen.update(new)
                stack.extend(new)
        return False

    def _pull(
        self, roots: dict[Node, Any], nodes: Sequence[Node | None], record: bool, free: int,
        overrides: Any, cls: type,
    ) -> dict[Node, Any]:
        wanted = [n for n in nodes if n is not None]
        rules = self._rules(overrides)
        if not wanted:
            return {}
        before = None
        if record and not _is_recording():  # only tangents of these values are needed
            before = _state.change(enabled=False)
        try:
            return pull(
                roots, wanted, record=record, free=free, overrides=rules,
                spans=self._recorded(), cls=cls,
            )
        finally:
            if before is not None:
                _state.restore(before)


    def _rules(self, overrides: Any) -> Any:
        """The replacement rules of a backward pass; None if there are none."""
        return Overrides(overrides) if overrides else None

    def _answer(self, source: Any, node: Node | None, found: dict[Node, Any], zero: bool) -> Any:
        """The gradient of a source, in its class and dtype; None or zeros if there is no path."""
        if node is not None and found.get(node) is not None:
            return wrapped(source._out, ends.settled(found, node))
        return wrap(source._out, zeros_like(source._data)) if zero else None


def _is_recording() -> bool:
    """Whether a tape, or a transformation like `grad`, may differentiate current computations.

    Always true while a graph is built: its gradients may be computed when it is done.
    """
    now = _state.state()
    return now.enabled and bool(now.tapes or inside.get() or current_graph())


def is_zero(unconnected: Any) -> bool:
    """Whether `unconnected_gradients` is "zero"; raises `ArgumentError` if it is unknown."""
    choice = getattr(unconnected, "value", unconnected)
    if choice not in ("none", "zero"):
        raise ArgumentError(
            "argument `unconnected_gradients`", "'none' or 'zero'", repr(unconnected)
        )
    return bool(choice == "zero")


def _roots(targets: list[Any], given: Any, record: bool) -> dict[Node, Any]:
    """target node -> cotangent in the internal convention; skips targets without history."""
    cotangents = [None] * len(targets) if given is None else leaves(given)
    if len(cotangents) != len(targets):
        raise ArgumentError(
            "argument `output_gradients`", f"one for each of {len(targets)} targets",
            f"{len(cotangents)}",
        )
    roots: dict[Node, Any] = {}
    for target, g in zip(targets, cotangents, strict=True):
        if not isinstance(target, Tensor):
            raise ArgumentTypeError("target of tape.gradient", "a Tensor", type(target).__name__)
        ends.check_inside([target], "tape.gradient")
        if (node := target._node) is None or not is_inexact(target._data):
            continue
        g = ones_like(target._data) if g is None else ends.start(target, g, "tape.gradient")
        g = conjugated(wrapped(target._out, g) if record else raw(g))
        roots[node] = g if node not in roots else roots[node] + g
    return roots


def _each(
    pull_one: Callable[[Any], list[Any]], basis: Any, chunk: int | None, axis: int
) -> list[Any]:
    """Maps a function over a basis along an axis: batched, or (chunk 0) in a loop."""
    if chunk != 0 or not basis.shape[0]:
        return vmap(pull_one, out_axes=axis, chunk_size=chunk or None)(basis)
    rows = [pull_one(g) for g in basis]
    return [stack(list(column), axis=axis) for column in zip(*rows, strict=True)]


def _shaped(rows: Any, shape: tuple[int, ...], source: Any, zero: bool) -> Any:
    if rows is not None:
        return reshape(rows, shape)
    return wrap(source._out, zeros_for((shape, source.dtype), source)) if zero else None
