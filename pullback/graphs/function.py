"""`function`: a Python function that is traced into a graph once for each kind of arguments.

In the manner of TensorFlow 2. A call then runs the graph: no Python between the kernels. Tapes,
custom gradients, overrides and transformations work inside the function and around it.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._user_code import place
from ..arrays import SCALARS, adapters, is_array
from ..arrays.batched import Batched
from ..arrays.symbol import AnyShape
from ..core.op import OPS
from ..core.tensor import Tensor, raw, to_array, wrap
from ..errors import ArgumentError, ArgumentTypeError, GraphError, RetracingWarning
from ..kinds.symbols import current_graph
from ..trees import flatten
from ..variable import Variable
from .arguments import (
    Given,
    Slots,
    Space,
    TensorSpec,
    example,
    is_spec,
    plain_key,
    same,
    space_of,
)
from .closure import Closure
from .func_graph import LOCK, Body
from .subgraph_call import End, Piece, argument_ends
from .tensor import symbolic_class
from .tracing import building

_WARN, _KEPT = 32, 128
"""How many graphs a function has before it warns, and how many it keeps at most."""


class ConcreteFunction:
    """A function traced for one kind of arguments: a graph, and how to call it.

    graph                what was traced
    inputs, outputs      its tensors, as the graph has them
    structured_outputs   the same in the structure that the function returned

    >>> import pullback as pb
    >>> pb.function(lambda x: x * x).get_concrete_function(pb.TensorSpec([None], "float64"))
    <ConcreteFunction <lambda>(float64[None])>
    """

    def __init__(
        self, owner: Any, body: Body, given: Given, outputs: Sequence[Any], rebuild: Any
    ) -> None:
        self.name, self.graph = owner.name, body
        self._eager = given.eager
        self._slots = Slots(owner, given)
        self._rebuild = rebuild
        self._fixed = [None if isinstance(v, Tensor) else (v,) for v in outputs]
        ends: list[End] = [(raw(v), v._node) for v in outputs if isinstance(v, Tensor)]
        closed = body.closure.seal()
        self.closed = [c.tensor for c in closed]
        self._closed = closed
        self._written = [c for c in closed if c.written]
        ends += [(body.own(c.data), None) for c in self._written]
        effects = [o for o in body.operations if getattr(o.op, "effect", False)]
        feeds = [*argument_ends(body), *[(c.symbol, c.leaf) for c in closed]]
        self.piece = Piece(self.name, body, feeds, ends, effects, own=True)

    @property
    def inputs(self) -> list[Any]:
        """The tensors that arguments, and what is captured, are put in the place of."""
        return [self.graph.tensor(s) for s in self.graph.inputs()]

    @property
    def outputs(self) -> list[Any]:
        """The tensors that are returned."""
        returned = len(self.piece.outputs) - len(self._written)
        return [self.graph.tensor(s) for s, _ in self.piece.outputs[:returned]]

    @property
    def structured_outputs(self) -> Any:
        """The tensors that are returned, in the structure in which they are."""
        return self._arranged(self.outputs)

    @property
    def captured_inputs(self) -> list[Any]:
        """The tensors of the graph around it that it uses."""
        outer = self.graph.outer
        return [] if outer is None else [outer.tensor(s) for s in self.graph.taken()]

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables it reads or assigns."""
        return tuple(c.variable for c in self.graph.cells.values())

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those of them that are trainable."""
        return tuple(v for v in self.variables if v.trainable)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run it on arguments of the kind that it was traced for.

        Raises `ArgumentError` for tensors of another shape or dtype, `ArgumentTypeError` for other
        arguments, or another value of one that is no tensor.
        """
        arguments = [(s.shape, s.dtype) for s in self.graph.arguments]
        tensors = self._slots.tensors(args, keywords, arguments)
        for index, (value, symbol) in enumerate(
            zip(tensors, self.graph.arguments, strict=True)
        ):
            _, shape, dtype = space_of(value)
            wanted = None if isinstance(symbol.shape, AnyShape) else tuple(symbol.shape)
            if not TensorSpec(wanted, symbol.dtype).takes(shape, dtype):
                raise ArgumentError(
                    f"argument {index} of {self!r}", f"{symbol.dtype}{wanted}", f"{dtype}{shape}",
                    "call the function itself, which traces anew where it must",
                )
        return self.call(tensors)

    def call(self, tensors: Sequence[Any]) -> Any:
        """Run it on tensors that are known to be of its kind."""
        graph = current_graph()
        cls = self._eager if graph is None else graph.tensor_class
        found = self.piece([*tensors, *self.graph.taken(), *self.closed], cls)
        for closed in reversed(self._written):
            closed.put(raw(found.pop()))
        return self._arranged(found)

    def fits(self) -> bool:
        """Whether the tensors that it closes over still have the shapes it was traced for."""
        return all(c.fits() for c in self._closed)

    def _arranged(self, values: Sequence[Any]) -> Any:
        rest = iter(values)
        return self._rebuild([next(rest) if f is None else f[0] for f in self._fixed])

    def __repr__(self) -> str:
        parts = ", ".join(f"{s.dtype}{list(s.shape) if not isinstance(s.shape, AnyShape) else ''}"
                          for s in self.graph.arguments)
        return f"<ConcreteFunction {self.name}({parts})>"


class Function:
    """A Python function that runs as a graph; made by `function`.

    Called as the function is. The first call with arguments of a kind (their shapes and dtypes;
    of what is no tensor, the value) traces a graph, and later ones run it.

    >>> import pullback as pb
    >>> square = pb.function(lambda x: x * x)
    >>> square(pb.tensor(3.0)), square(pb.tensor(4.0))
    (Tensor(9.), Tensor(16.))
    >>> square.experimental_get_tracing_count()
    1
    """

    concrete: type = ConcreteFunction
    eager_tensor: type = Tensor

    def __init__(
        self, python_function: Callable[..., Any], input_signature: Sequence[Any] | None = None,
        reduce_retracing: bool = False, autograph: bool = False,
    ) -> None:
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self.signature = inspect.signature(python_function)
        self._reduce = reduce_retracing
        self._found: dict[Any, ConcreteFunction] = {}
        self._wide: dict[Any, list[Space]] = {}
        self._plain: dict[Any, ConcreteFunction] = {}
        self._traced = 0
        self._warned = False
        functools.update_wrapper(self, python_function, updated=())

    @property
    def name(self) -> str:
        """The Python function's."""
        return getattr(self.python_function, "__name__", "function")

    def __repr__(self) -> str:
        return f"<function of {self.name}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: each instance has traces of its own, and `self` is no argument."""
        if instance is None:
            return self
        key = f"_traced_{self.name}"
        table = getattr(instance, "__dict__", None)
        found = None if table is None else table.get(key)
        if found is None:
            found = type(self)(
                self.python_function.__get__(instance, owner), self.input_signature, self._reduce
            )
            if table is not None:
                table[key] = found
        return found

    def bound(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Arguments in the places that the function has for them, with its defaults."""
        found = self.signature.bind(*args, **keywords)
        found.apply_defaults()
        return found

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Run the graph for arguments like these, which is traced if there is none yet."""
        if keywords or current_graph() is not None:
            if self._is_mapped(args, keywords):
                return self._inlined(args, keywords)
            given = self._given(args, keywords)
            return self._concrete(given).call(given.tensors)
        key = plain_key(args)  # of tensors only: most calls are found with the least work
        found = None if key is None else self._plain.get(key)
        if found is not None and (not found.closed or found.fits()):
            return found.call(args)
        given = self._given(args, keywords)
        made = self._concrete(given)
        if key is not None and same(given.tensors, args) and not made.graph.captured:
            self._plain[key] = made
        return made.call(given.tensors)

    def get_concrete_function(self, *args: Any, **keywords: Any) -> ConcreteFunction:
        """The graph for some arguments, of which a `TensorSpec` may stand for a tensor."""
        if self.input_signature is not None and not args and not keywords:
            args = self.input_signature
        flat, rebuild = flatten((args, keywords))
        values = [example(v) if is_spec(v) else v for v in flat]
        args, keywords = rebuild(values)
        given = self._given(args, keywords)
        if self.input_signature is None:
            given.widen({id(v): s.shape for v, s in zip(values, flat, strict=True) if is_spec(s)})
        return self._concrete(given)

    def experimental_get_tracing_count(self) -> int:
        """How often the Python function was traced."""
        return self._traced

    def pretty_printed_concrete_signatures(self) -> str:
        """The kinds of arguments that it was traced for, a line each."""
        return "\n".join(map(repr, self._found.values()))

    # Inside ---------------------------------------------------------------------------------

    @staticmethod
    def _is_mapped(args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
        """Whether a graph is built and an argument is batched: one call of it cannot be."""
        return current_graph() is not None and any(
            raw(v).__class__ is Batched for v in flatten((args, keywords))[0]
        )

    def _inlined(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The Python function's operations, each of which is mapped in the graph being built."""
        if self.input_signature is not None:
            args, keywords = self._fitted(args, keywords), {}
        return self.python_function(*args, **keywords)

    def _given(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Given:
        if self.input_signature is not None:
            args = self._fitted(args, keywords)
            keywords = {}
        given = Given(self, args, keywords)
        if self.input_signature is not None:
            specs = [v for v in flatten(self.input_signature)[0] if is_spec(v)]
            given.specs = [
                Space((s[0], v.shape, s[2])) for v, s in zip(specs, given.specs, strict=True)
            ]
            given.key = ("signature", tuple(s[0] for s in given.specs))
        return given

    def _fitted(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
        """Arguments as the tensors that `input_signature` describes."""
        assert self.input_signature is not None
        bound = self.signature.bind(*args, **keywords)
        import optree

        signature: Any = self.input_signature
        specs, tree = optree.tree_flatten(signature)
        given: Any = tuple(bound.args)
        try:
            values: list[Any] = tree.flatten_up_to(given)
            if bound.kwargs:
                raise ValueError(f"keyword-only arguments {', '.join(bound.kwargs)}")
        except ValueError as error:
            raise ArgumentTypeError(
                f"call of `{self.name}`", f"arguments as of its input_signature, {tree}",
                str(error).splitlines()[0],
            ) from None
        fitted = [self._of(v, s) for v, s in zip(values, specs, strict=True)]
        return tuple(optree.tree_unflatten(tree, fitted))

    def _of(self, value: Any, spec: TensorSpec) -> Any:
        value = self.tensor_of(value, spec.dtype)
        _, shape, dtype = space_of(value)
        if not spec.takes(shape, dtype):
            raise ArgumentTypeError(
                f"call of `{self.name}`", f"{spec!r}, as of its input_signature",
                f"{dtype}{list(shape or ())}",
            )
        return value

    def tensor_of(self, value: Any, dtype: Any) -> Any:
        """An argument as a tensor: a variable is read, what is no tensor gets a dtype."""
        if isinstance(value, Variable):
            return OPS["identity"](value)
        if isinstance(value, Tensor):
            return value
        data = to_array(value)
        return wrap(self.eager_tensor, adapters[data.__class__].asarray(data, dtype))

    def _concrete(self, given: Given) -> ConcreteFunction:
        outer = current_graph()
        for key in (given.key, (given.key, id(outer))):
            found = self._found.get(key)
            if found is not None and found.fits():
                return found
        with LOCK:
            key = given.key
            if self._reduce:
                key = self._widened(given)
            for k in (key, (key, id(outer))):
                found = self._found.get(k)  # another thread may have traced it by now
                if found is not None and found.fits():
                    return found
            made = self._trace(given, outer)
            if made.graph.captured:
                key = (key, id(outer))
            self._found[key] = made
            if len(self._found) > _WARN:
                self._bound()
            return made

    def _bound(self) -> None:
        """Warn of ever more traces, once, and let go of the oldest beyond the limit."""
        if not self._warned:
            self._warned = True
            warnings.warn_explicit(
                f"function `{self.name}` was traced {self._traced} times: each new shape, and each "
                f"new value of an argument that is no tensor, is another graph, and the latest "
                f"{_KEPT} are kept. Pass numbers as tensors; for shapes pass "
                "`reduce_retracing=True`, or an `input_signature` with None for what changes",
                RetracingWarning, *place(),
            )
        while len(self._found) > _KEPT:
            oldest = self._found.pop(next(iter(self._found)))
            self._plain = {k: v for k, v in self._plain.items() if v is not oldest}

    def _widened(self, given: Given) -> Any:
        """A key, and specs, with None for lengths that differ from call to call."""
        structure, parts = given.key
        rough = (structure, tuple(
            (p[0], len(p[1]), str(p[2])) if p.__class__ is Space else p for p in parts
        ))
        known = self._wide.get(rough)
        if known is None:
            self._wide[rough] = given.specs
            return given.key
        wide = [
            Space((a[0], tuple(n if n == m else None for n, m in zip(a[1], b[1], strict=True)),
                    a[2]))
            for a, b in zip(known, given.specs, strict=True)
        ]
        self._wide[rough] = given.specs = wide
        return (rough, tuple(wide))

    def _trace(self, given: Given, outer: Any) -> ConcreteFunction:
        self._traced += 1
        body = Body(outer, symbolic_class(given.eager))
        body.closure = Closure(body)
        values = list(given.flat)
        with building(body):
            for place, name, (kind, shape, dtype) in zip(
                given.places, given.names(), given.specs, strict=True
            ):
                values[place] = body.argument(shape, dtype, kind, name)
            args, keywords = given.rebuild(values)
            answer = self.python_function(*args, **keywords)
            flat, rebuild = flatten(answer)
            outputs = [self._output(body, v) for v in flat]
        if body.created and self._traced > 1:
            raise GraphError(
                f"function `{self.name}`", "variables that are made in its first call only",
                f"{len(body.created)} more in a later one",
                "make them outside, or once: `if self.v is None: self.v = Variable(…)`",
            )
        return self.concrete(self, body, given, outputs, rebuild)

    def _output(self, body: Body, value: Any) -> Any:
        """A returned value as a tensor of the body; what is no number stays as it is."""
        if value is None or not (
            isinstance(value, Tensor) or value.__class__ in SCALARS or is_array(value)
        ):
            return value
        data = raw(value)
        if data.__class__ in SCALARS:
            data = self._number(data)
        symbol = body.own(data)
        if isinstance(value, Variable):
            return OPS["identity"](value)
        if symbol.face is value:
            return value
        return wrap(body.tensor_class, symbol, value._node if isinstance(value, Tensor) else None)

    def _number(self, value: Any) -> Any:
        return adapters[float].asarray(value)


def function(
    func: Callable[..., Any] | None = None, *, input_signature: Sequence[Any] | None = None,
    reduce_retracing: bool = False,
) -> Any:
    """A function that is traced into a graph once for each kind of arguments, and runs as that.

    input_signature   a `TensorSpec` for each argument, in which None stands for any length:
                      then there is one graph, and arguments are converted to it
    reduce_retracing  where a length differs from call to call, trace once for all lengths

    Tensors and arrays are arguments by their shape and dtype, everything else by its value: another
    value is another graph. Python code runs when it is traced, and only then; variables are read
    and assigned when the graph runs, in the order of the code; random numbers are drawn when it
    runs. Gradients, tangents and `vmap` go through a call, and `override_gradient` and
    `overrides=` reach the operations inside, also of a function traced before.

    Raises `SymbolError` where the code asks for a value (by `if`, `float`, …) while it is traced,
    `GraphError` for a variable made in a later call.

    >>> import pullback as pb
    >>> @pb.function
    ... def square(x):
    ...     print("traced")
    ...     return x * x
    >>> square(pb.tensor([1.0, 2.0])), square(pb.tensor([3.0, 4.0]))
    traced
    (Tensor([1., 4.]), Tensor([ 9., 16.]))
    >>> x = pb.tensor([5.0, 6.0], requires_grad=True)
    >>> pb.sum(square(x)).backward()
    >>> x.grad
    Tensor([10., 12.])
    """
    if func is None:
        return functools.partial(
            function, input_signature=input_signature, reduce_retracing=reduce_retracing
        )
    return Function(func, input_signature, reduce_retracing)
