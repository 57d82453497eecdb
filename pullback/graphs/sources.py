"""What a graph begins with: placeholders and constants."""

from __future__ import annotations

from typing import Any

import numpy

from ..arrays import adapters
from ..core.tensor import raw
from ..errors import GraphError, SessionError
from ..kinds.symbols import current_graph
from .operation import Kind


def _unfed(name: str) -> Any:
    raise SessionError(
        f"placeholder {name!r}", "a value in feed_dict", "none", f"feed_dict={{{name}: array}}"
    )


PLACEHOLDER = Kind("placeholder", lambda name: _unfed(name))
PLACEHOLDER_WITH_DEFAULT = Kind("placeholder_with_default", lambda value: value)


def building(subject: str) -> Any:
    """The graph that is being built in this thread.

    Raises `GraphError` where there is none.
    """
    graph = current_graph()
    if graph is None:
        raise GraphError(
            subject, "a graph to add it to", "none", "put it inside `with graph.as_default():`"
        )
    return graph


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """A tensor of the graph whose value is given when it is run.

    dtype  of its entries
    shape  lengths of its axes, None for one that may be any; None for any shape at all

    >>> import numpy as np
    >>> from pullback.graphs import Graph
    >>> with Graph().as_default():
    ...     placeholder(np.float64, [None, 3], name="x")
    <Tensor 'x:0' shape=(None, 3) dtype=float64>
    """
    graph = building("placeholder")
    made = graph.source(
        PLACEHOLDER, None if shape is None else tuple(shape), numpy.dtype(dtype),
        {"name": ""}, name=name or graph.type_of(PLACEHOLDER),
    )
    made.op.attrs = {"name": made.op.name}
    return made


def placeholder_with_default(value: Any, shape: Any, name: str | None = None) -> Any:
    """A tensor that has a value unless another is given when the graph is run.

    value  an array or number; its dtype is the tensor's
    shape  of what may be given: None for a length, or for all of it, that may be any

    >>> from pullback.graphs import Graph, Session
    >>> with Graph().as_default() as graph:
    ...     x = placeholder_with_default(2.0, [])
    ...     y = x * x
    >>> session = Session(graph)
    >>> session.run(y), session.run(y, {x: 3.0})
    (np.float64(4.0), np.float64(9.0))
    """
    graph = building("placeholder_with_default")
    value = raw(value)
    if not hasattr(value, "dtype"):
        value = adapters[float].asarray(value)
    return graph.source(
        PLACEHOLDER_WITH_DEFAULT, None if shape is None else tuple(shape), value.dtype, {},
        [value], name=name or graph.type_of(PLACEHOLDER_WITH_DEFAULT),
    )
