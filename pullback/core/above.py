"""The interface through which the core calls the layers above it.

The core has no other way upwards. Each function listed here is provided by a module above the core,
which is loaded when the function is first called, unless it has been loaded before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .._loading import loaded

Function = TypeVar("Function", bound=Callable[..., Any])

MODULES = {
    "backward": "autograd",
    "op": "ops.declaring",
    "begin": "passes.accumulator",
    "hooks": "passes.hooks",
    "sweep_in_regions": "passes.regions",
    "summed": "kinds.vmaps",
    "batched_reduce": "kinds.vmaps",
    "holds_symbols": "kinds.symbols",
    "waits": "kinds.symbols",
    "deferred": "kinds.symbols",
    "joined": "kinds.symbols",
    "unrecorded": "lost_paths",
    "left": "departures",
    "dropped": "lost_paths",
    "push_transposed": "transposition",
    "unlisted": "ops.operands",
    "owned": "ops.views",
    "carry": "ops.views",
    "put_node": "ops.views",
    "take_node": "ops.views",
    "share": "ops.views",
    "viewed": "ops.views",
}
"""Function -> the module of the package that provides it."""


class Above:
    """The functions, as attributes.

    backward         (tensors, gradients, …): `Tensor.backward`
    op               (forward, options): the decorator that registers an operation
    begin            (tensor, leaf or None): makes the tensor a leaf, which keeps its tangents
    hooks            () -> `passes/hooks.py`, which runs the hooks of tensors and nodes
    sweep_in_regions (nodes, cotangents, free) -> `reverse.sweep`, with large arrays in blocks
    summed           (cotangent, its shape, its node's) -> it, summed over examples of a vmap
    batched_reduce   (op, node, cotangent, saved, index) -> an argument's cotangent, or None
    holds_symbols    (cotangent or tangent, or a list of them) -> whether one is a symbol
    waits            (node) -> whether its rules must wait until a graph runs
    deferred         () -> `graphs/deferred_rules.py`, which puts rules off
    joined           (array, values) -> the array; in the graph of the values, if they have symbols
    left             (node, call, array) -> the array as NumPy's: its values leave the library
    unrecorded       (op, parents, result): an operation on tracked tensors was not recorded
    dropped          (kind, node, call, result): a call drops the history of a tensor on purpose
    push_transposed  (node, tangents, record, cls) -> the tangent of a node with a pullback only
    unlisted         (arguments) -> with arrays or Tensors for the lists among them
    owned            (tensor) -> its array, which has memory that views share
    carry            (tensor): what was written to it is put into its base and its other views
    put_node         (base, steps, view, node) -> the base's node, after its view got `node`
    take_node        (base, steps, view) -> the node of a view taken anew
    share            (tensor, detached): the two share memory where arrays share none
    viewed           (result, base, operation, attributes) -> those of a view; None for a copy
    """

    backward: Callable[..., None]
    op: Callable[..., Any]
    begin: Callable[[Any, Any], None]
    hooks: Callable[[], Any]
    summed: Callable[[Any, Any, Any], Any]
    batched_reduce: Callable[..., Any]
    holds_symbols: Callable[[Any], bool]
    waits: Callable[[Any], bool]
    deferred: Callable[[], Any]
    joined: Callable[[Any, Any], Any]
    left: Callable[..., Any]
    unrecorded: Callable[[Any, Any, Any], None]
    dropped: Callable[[str, Any, str, Any], None]
    push_transposed: Callable[..., Any]
    unlisted: Callable[[Any], Any]
    owned: Callable[[Any], Any]
    carry: Callable[[Any], None]
    put_node: Callable[[Any, Any, Any, Any], Any]
    take_node: Callable[[Any, Any, Any], Any]
    share: Callable[[Any, Any], None]
    viewed: Callable[[Any, Any, Any, Any], Any]

    def __getattr__(self, name: str) -> Any:
        module = MODULES.get(name)
        if module is None:
            raise AttributeError(name)
        loaded(f"{__name__.partition('.')[0]}.{module}")
        return self.__dict__[name]


above = Above()


def provide(function: Function) -> Function:
    """Provide a function under its own name, as a decorator."""
    assert function.__name__ in MODULES, function.__name__
    above.__dict__[function.__name__] = function
    return function
