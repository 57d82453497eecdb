"""`Session`: runs a graph, and keeps the values of its variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..arrays import adapters
from ..arrays.symbol import AnyShape, Symbol
from ..core.state import Scoped
from ..core.tensor import Tensor, raw
from ..errors import ArgumentTypeError, GraphError, SessionError, ShapeError
from ..kinds.symbols import current_graph
from ..trees import flatten
from .observed import run_program
from .operation import Operation
from .program import Program, plain

_default: Scoped[Any] = Scoped("session", None)
fetching: Scoped[tuple[Any, ...]] = Scoped("fetching", ())
"""Listeners to every run: `wanted(elements)` returns symbols to fetch too, of those fetched;
`fetched(elements, values)` is called with all of them."""


def get_default_session() -> Any:
    """The session that `eval()` and `run()` use in this thread, or None.

    >>> from pullback.graphs import Graph
    >>> with Session(Graph()) as session:
    ...     get_default_session() is session
    True
    """
    return _default.get()


def session_for(session: Any, graph: Any) -> Any:
    """The session given, or else the default one.

    Raises `SessionError` where there is none, or where it is another graph's.
    """
    found = session or get_default_session()
    if found is None:
        raise SessionError(
            "eval() or run()", "a session", "no default one",
            "put it inside `with Session():`, or pass session=",
        )
    if found.graph is not graph:
        raise SessionError("eval() or run()", "a session of the tensor's graph", "another's",
                           "pass session=Session(tensor.graph)")
    return found


class Session:
    """Computes tensors of a graph, and keeps the values of its variables; two keep them apart.

    graph  the one to run; left out, the one that is being built

    Only what is asked for is computed. Raises `SessionError` for a placeholder that is not fed, a
    variable without a value, and after `close`.

    >>> import pullback as pb
    >>> from pullback.graphs import Graph, Session, placeholder
    >>> with Graph().as_default() as graph:
    ...     x = placeholder(pb.float64, [])
    ...     y = x * x
    >>> with Session(graph) as session:
    ...     session.run({"y": y, "both": [x, y]}, feed_dict={x: 3.0})
    {'y': np.float64(9.0), 'both': [np.float64(3.0), np.float64(9.0)]}
    """

    def __init__(self, target: Any = "", graph: Any = None, config: Any = None) -> None:
        if graph is None and not isinstance(target, str):
            target, graph = "", target
        self.graph = graph if graph is not None else self._graph()
        self.store: dict[Any, Any] = {}
        self._programs: dict[Any, Program] = {}
        self._closed = False
        self._entered: list[Any] = []

    def _graph(self) -> Any:
        found = current_graph()
        if found is None:
            raise GraphError("Session", "a graph", "none", "Session(graph)")
        return found

    # Running --------------------------------------------------------------------------------

    def run(
        self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None, options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """The values of tensors, in any nesting; None for operations, which are run.

        fetches    tensors, variables, operations, or their names
        feed_dict  {tensor, or its name: value}; any tensor may be fed, not only placeholders
        """
        wanted, rebuild = flatten(fetches)
        elements = [self._element(f, "fetches") for f in wanted]
        feeds: list[Symbol] = []
        values: list[Any] = []
        for key, value in (feed_dict or {}).items():
            symbol = self._element(key, "feed_dict")
            feeds.append(symbol)
            values.append(fed(symbol, value))
        listening = fetching.get()
        whole = [*elements, *[s for heard in listening for s in heard.wanted(elements)]]
        program = self._program(whole, feeds)
        answers = run_program("Session.run", program, values, self.store)
        made = [plain(a) for a in answers]
        for heard in listening:
            heard.fetched(whole, made)
        return rebuild(made[: len(elements)])

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function of the values of `feed_list` that runs the same fetches again and again.

        >>> import pullback as pb
        >>> from pullback.graphs import Graph, placeholder
        >>> with Graph().as_default() as graph:
        ...     x = placeholder(pb.float64, [])
        ...     y = x * x
        >>> Session(graph=graph).make_callable(y, [x])(3.0)
        np.float64(9.0)
        """
        feeds = list(feed_list or ())

        def call(*values: Any) -> Any:
            if len(values) != len(feeds):
                raise ArgumentTypeError(
                    "a callable of a session", f"{len(feeds)} values", f"{len(values)}"
                )
            return self.run(fetches, dict(zip(feeds, values, strict=True)))

        return call

    def _program(self, elements: Sequence[Any], feeds: Sequence[Symbol]) -> Program:
        if self._closed:
            raise SessionError("Session.run", "an open session", "a closed one")
        key = (tuple(map(id, elements)), tuple(map(id, feeds)))
        found = self._programs.get(key)
        if found is None:
            found = self._programs[key] = Program(elements, feeds, own=len(elements))
        return found

    def _element(self, value: Any, subject: str) -> Any:
        """The symbol or operation that something stands for."""
        found = self.graph.as_graph_element(value)
        data = raw(found)
        if data.__class__ is Symbol or isinstance(data, Operation):
            owner = data.graph if isinstance(data, Operation) else data.operation.graph
            if owner is not self.graph:
                raise GraphError(f"`{subject}` of Session.run", "what this session's graph has",
                                 f"{data.name!r} of another graph")
            return data
        raise ArgumentTypeError(
            f"`{subject}` of Session.run", "tensors, variables, operations or names",
            f"{value!r} (a {type(value).__name__})",
        )

    # Life -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the values of variables; nothing can be run any more."""
        self._closed = True
        self.store.clear()
        self._programs.clear()

    def as_default(self) -> _AsDefault:
        """A block in which `eval()` and `run()` use this session."""
        return _AsDefault(self)

    def __enter__(self) -> Session:
        held = _AsDefault(self, graph=True)
        held.__enter__()
        self._entered.append(held)
        return self

    def __exit__(self, *exc: object) -> None:
        self._entered.pop().__exit__(*exc)
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.graph!r}>"


class InteractiveSession(Session):
    """A session that is the default one from now on, until it is closed: for a notebook.

    >>> import pullback as pb
    >>> from pullback.graphs import Graph, placeholder
    >>> graph = Graph()
    >>> with graph.as_default():
    ...     x = placeholder(pb.float64, [])
    ...     y = x * x
    >>> session = InteractiveSession(graph=graph)
    >>> y.eval({x: 3.0})
    np.float64(9.0)
    >>> session.close()
    """

    def __init__(self, target: Any = "", graph: Any = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._before = _default.get()
        _default.set(self)

    def close(self) -> None:
        """Close it, and put back the session that was the default one before."""
        if _default.get() is self:
            _default.set(self._before)
        super().close()


class _AsDefault:
    """Holds a session as the default one; with `graph`, its graph as the one that is built."""

    def __init__(self, session: Session, graph: bool = False) -> None:
        self.session, self.graph = session, graph
        self._tokens: list[Any] = []

    def __enter__(self) -> Session:
        held = self.session.graph.as_default() if self.graph else None
        if held is not None:
            held.__enter__()
        self._tokens.append((_default.set(self.session), held))
        return self.session

    def __exit__(self, *exc: object) -> None:
        token, held = self._tokens.pop()
        _default.set(token)
        if held is not None:
            held.__exit__(None, None, None)


def fed(symbol: Symbol, value: Any) -> Any:
    """A value as an array for a symbol, in its dtype.

    Raises `ShapeError` and `ArgumentTypeError` for what does not fit.
    """
    if isinstance(value, Tensor):
        value = value._data
        if value.__class__ is Symbol:
            raise ArgumentTypeError(
                f"feed for {symbol.name!r}", "an array or numbers", "a tensor of a graph",
                "run it first",
            )
    try:
        adapter = adapters[symbol.kind]
        array = adapter.adopt(adapter.asarray(value, symbol.dtype))
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"feed for {symbol.name!r}", f"values of dtype {symbol.dtype}", str(error)
        ) from None
    if isinstance(symbol.shape, AnyShape):
        return array
    shape = tuple(symbol.shape)
    if len(shape) != len(array.shape) or any(
        n is not None and n != m for n, m in zip(shape, array.shape, strict=True)
    ):
        raise ShapeError(
            f"feed for {symbol.name!r}", f"shape {list(shape)}", f"shape {list(array.shape)}"
        )
    return array


