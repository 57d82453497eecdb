"""`jit`: a function or a whole training step, compiled by XLA."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from types import MethodType
from typing import Any

from ..errors import ArgumentTypeError

__all__ = ["Jitted", "jit"]


class Jitted:
    """A compiled function; made by `jit`.

    traces  the number of times that the function was traced so far
    """

    def __init__(
        self, function: Callable[..., Any], donate: bool, static_argnames: tuple[str, ...]
    ) -> None:
        self._options = function, donate, static_argnames
        self._calls: Any = None
        update_wrapper(self, function, updated=())

    @property
    def traces(self) -> int:
        """How often the function was traced."""
        return 0 if self._calls is None else int(self._calls.traces)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the function, compiled."""
        if self._calls is None:
            from .calls import Calls

            self._calls = Calls(*self._options)
        return self._calls(args, keywords)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: one compiled function per object."""
        if instance is None:
            return self
        function, donate, static = self._options
        name = f"_jit_{getattr(function, '__name__', 'call')}"
        known = vars(instance).get(name)
        if known is None or known._options[0].__func__ is not function:
            known = Jitted(MethodType(function, instance), donate, static)
            vars(instance)[name] = known
        return known

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted:
        function, donate, static = self._options
        return Jitted(copy.deepcopy(function, memo), donate, static)

    def __reduce__(self) -> Any:
        return Jitted, self._options

    def __repr__(self) -> str:
        return f"<pullback.jit {getattr(self, '__qualname__', self._options[0])}>"


def jit(
    step: Callable[..., Any] | None = None, *, donate: bool = True,
    static_argnames: str | Sequence[str] = (),
) -> Any:
    """A function that computes the same, compiled by XLA; also a decorator, with options or none.

    step             any function of Tensors and arrays, or a method
    donate           let new parameters take the memory of the old
    static_argnames  arguments that are Python values, for each of which the function is traced

    The function may read and write what it reaches: modules, optimizers, schedulers, variables,
    tensors and random generators become inputs and outputs of the compiled code, and have their new
    values after each call. JAX traces it once per kind of arguments (shapes, dtypes, training
    mode, …); numbers such as learning rates are computed by Python with each call, and may change.
    Arrays are JAX's; tensors of NumPy that it reaches are moved at the first call, and stay there.
    Gradients that an optimizer in the function has used are None afterwards.

    Raises `SymbolError` where the code needs a value (`if x > 0`, `float(x)`), `GraphError` for a
    write that cannot be kept, `ArgumentTypeError` for arrays of another library. See
    docs/scaling.md.
    """
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if step is None:
        return partial(jit, donate=donate, static_argnames=names)
    if not callable(step):
        raise ArgumentTypeError("argument `step` of pullback.jit", "a function",
                                f"a {type(step).__name__}")
    return Jitted(step, donate, names)
