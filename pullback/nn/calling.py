"""Calling a module: `forward`, forward hooks and backward hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ArgumentTypeError
from .hooks import BackwardHooks, RemovableHandle

__all__ = ["Calling"]

Hook = Callable[..., Any]

_PRE, _POST = "forward_pre", "forward"
_BACKWARD_PRE, _BACKWARD = "backward_pre", "backward"

_Missing = type(
    "ArgumentTypeError", (ArgumentTypeError, NotImplementedError),
    {"__module__": ArgumentTypeError.__module__, "__doc__": ArgumentTypeError.__doc__},
)


class Calling:
    """The methods that run when a module is called."""

    _hooks: Mapping[str, dict[int, Any]] = {}  # replaced by the first registration

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every subclass defines it."""
        raise _Missing(
            f"call of {type(self).__name__}", "a method `forward`", "none",
            "define `def forward(self, x): …`",
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the forward pre-hooks, `forward`, and the forward hooks; return the result."""
        if not self._hooks:
            return self.forward(*args, **kwargs)
        try:
            return self._with_hooks(args, kwargs)
        except Exception:
            for hook, with_kwargs, always in self._hooked(_POST):
                if always:
                    hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
            raise

    def _hooked(self, kind: str) -> list[Any]:
        return list(self._hooks.get(kind, {}).values())

    def _with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for hook, with_kwargs, _ in self._hooked(_PRE):
            returned = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if returned is None:
                continue
            if with_kwargs:
                args, kwargs = returned
            else:
                args = returned if isinstance(returned, tuple) else (returned,)
        pre, post = ([h for h, *_ in self._hooked(k)] for k in (_BACKWARD_PRE, _BACKWARD))
        crossing = BackwardHooks(self, pre, post) if pre or post else None
        if crossing is not None:
            args = crossing.enter(args)
        result = self.forward(*args, **kwargs)
        for hook, with_kwargs, _ in self._hooked(_POST):
            how = (args, kwargs, result) if with_kwargs else (args, result)
            returned = hook(self, *how)
            result = result if returned is None else returned
        return result if crossing is None else crossing.leave(result)

    def _register(self, kind: str, hook: Hook, prepend: bool = False, *how: Any) -> RemovableHandle:
        kept = vars(self).setdefault("_hooks", {}).setdefault(kind, {})
        return RemovableHandle(kept, (hook, *how), prepend=prepend)

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; a non-None result replaces the arguments.

        with_kwargs  call the hook with `(module, args, kwargs)`; it then returns both
        """
        return self._register(_PRE, hook, prepend, with_kwargs, False)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; a non-None result replaces the output.

        with_kwargs  call the hook with `(module, args, kwargs, output)`
        always_call  also call it if `forward` raised an error, with None as the output

        >>> import pullback as pb
        >>> layer = pb.nn.ReLU()
        >>> with layer.register_forward_hook(lambda module, args, out: out + 1):
        ...     layer(pb.tensor([-1.0, 2.0]))
        Tensor([1., 3.])
        """
        return self._register(_POST, hook, prepend, with_kwargs, always_call)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` once both gradients are computed.

        Both are tuples, with one entry per positional argument and per result (None without a
        gradient). A non-None result replaces `grad_input`.
        """
        return self._register(_BACKWARD, hook, prepend)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's backward; a result replaces it."""
        return self._register(_BACKWARD_PRE, hook, prepend)
