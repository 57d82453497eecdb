"""Adapt functions of the TensorFlow 2 front end to graphs: named operations as results."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..._user_code import user_line
from ...core.tensor import Tensor as CoreTensor
from .graph import graph_for, opened
from .shapes import Dimension
from .tensor import in_graph

Function = Callable[..., Any]


def graphed(function: Function, default: str | None = None, scope: str | None = None) -> Function:
    """Wrap a function so that it returns graph tensors.

    default  the name of its operation, if it differs from the operation type
    scope    the name scope, for a function that builds several operations

    The argument `name` names the operation of the result; the names of other operations that the
    function builds begin with it.
    """
    names = list(inspect.signature(function).parameters)
    position = names.index("name") if "name" in names else None

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        name = None
        args = tuple([a.value if a.__class__ is Dimension else a for a in args])
        if position is not None:
            if position < len(args):
                name = args[position]
                args = (*args[:position], *args[position + 1 :])
                args, keywords = _shifted(args, keywords, names, position)
            else:
                name = keywords.pop("name", None)
        graph = graph_for((*args, *keywords.values()))
        with opened(graph):
            try:
                return built(graph, lambda: function(*args, **keywords), name, default, scope)
            except Exception as error:
                _place(error, function.__name__, name)
                raise

    # A TensorFlow 2 docstring example would show values, which graph tensors do not have.
    call.__doc__ = (function.__doc__ or "").partition(">>>")[0].rstrip()
    return call


def _place(error: Exception, function: str, name: str | None) -> None:
    """Add to an error what was being built and where, unless it already says so."""
    if not any("built at" in note for note in getattr(error, "__notes__", ())):
        called = f"`{function}`" if name is None else f"`{function}` named {name!r}"
        error.add_note(f"in {called}, built at {user_line()}")


def _shifted(args: tuple[Any, ...], keywords: dict[str, Any], names: list[str],
             position: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Keyword arguments for positional arguments after `name`."""
    positional = dict(zip(names[position + 1 :], args[position:], strict=False))
    return args[:position], {**positional, **keywords}


def built(
    graph: Any, build: Callable[[], Any], name: str | None, default: str | None = None,
    scope: str | None = None,
) -> Any:
    """Call a function in a graph, and name the operations that it builds."""
    start = len(graph.operations)
    if name is None and scope is None:
        found = _in_graph(graph, build(), default)
        last = _first_of(found)
        if default is not None and last is not None and last.number >= start:
            graph.call(last, default)
        return found
    with graph.name_scope(name or scope) as prefix:
        own = prefix[:-1]
        found = _in_graph(graph, build(), None)
    last = _first_of(found)
    if last is not None and last.number >= start and last.name.startswith(prefix):
        graph.settle(last, own)
    elif name is not None and last is not None:
        graph.free(own)
    return found


def _first_of(found: Any) -> Any:
    """The operation of a result, or of the first of several results."""
    while isinstance(found, (list, tuple)) and found:
        found = found[0]
    return found._data.operation if isinstance(found, CoreTensor) else None


def _in_graph(graph: Any, found: Any, name: str | None) -> Any:
    """Convert results to graph tensors, keeping their structure."""
    if isinstance(found, tuple) and hasattr(found, "_fields"):
        return type(found)(*[_in_graph(graph, v, name) for v in found])
    if isinstance(found, (list, tuple)):
        return type(found)([_in_graph(graph, v, name) for v in found])
    return in_graph(graph, found, name)
