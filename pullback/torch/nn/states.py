"""`state_dict` and `load_state_dict`, with PyTorch's hooks and overridable steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...core.tensor import Tensor as CoreTensor
from ...errors import ArgumentTypeError
from ...nn.calling import Hook
from ...nn.hooks import RemovableHandle
from ...nn.module import _fitted, _put, _refusal
from ...recording import no_grad
from ..errors import as_runtime

__all__ = ["IncompatibleKeys", "States"]

_EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """The missing and the unexpected keys of `load_state_dict`."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys({self.missing_keys}, {self.unexpected_keys})"


class States:
    """The state_dict methods of modules."""

    def register_state_dict_pre_hook(self: Any, hook: Hook) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module's state is collected."""
        return self._register("state_pre", hook)

    def register_state_dict_post_hook(self: Any, hook: Hook) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after its state is collected."""
        return self._register("state_post", hook)

    def register_load_state_dict_pre_hook(self: Any, hook: Hook) -> RemovableHandle:
        """Call `hook(module, *arguments of _load_from_state_dict)` before a state is loaded."""
        return self._register("load_pre", hook)

    def register_load_state_dict_post_hook(self: Any, hook: Hook) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after a state is loaded."""
        return self._register("load_post", hook)

    def get_extra_state(self) -> Any:
        """Additional state of the module; subclasses may define it."""
        raise NotImplementedError

    def set_extra_state(self, state: Any) -> None:
        """Restore the result of `get_extra_state`; subclasses may define it."""
        raise NotImplementedError

    def _kept(self: Any) -> dict[str, Any]:
        """The module's own parameters and persistent buffers."""
        kept = {**self._parameters, **self._buffers}
        volatile = self._non_persistent_buffers_set
        return {k: v for k, v in kept.items() if v is not None and k not in volatile}

    def state_dict(
        self: Any, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Parameters and persistent buffers by name: detached, sharing memory.

        keep_vars  return the parameters and buffers themselves

        >>> import pullback.torch as torch
        >>> list(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).state_dict())
        ['0.weight', '0.bias']
        """
        if args:
            names = ("destination", "prefix", "keep_vars")
            given = dict(zip(names, args, strict=False))
            return self.state_dict(**{
                "destination": destination, "prefix": prefix, "keep_vars": keep_vars, **given
            })
        destination = OrderedDict() if destination is None else destination
        for (hook,) in self._hooked("state_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for (hook,) in self._hooked("state_post"):
            hook(self, destination, prefix, {})
        return destination

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in self._kept().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not States.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def load_state_dict(
        self: Any, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy the values of a state; returns the missing and unexpected keys.

        strict  raise an error for missing or unexpected keys
        assign  use the given tensors themselves instead of copying their values

        Raises a RuntimeError subclass for such keys and for mismatched shapes.
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentTypeError(
                f"load_state_dict of {type(self).__name__}", "a dictionary",
                f"a {type(state_dict).__name__}",
            )
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        with no_grad():
            self._load(dict(state_dict), "", strict, missing, unexpected, errors, assign)
        error = _refusal(self, missing if strict else [], unexpected if strict else [], errors)
        if error is not None:
            raise as_runtime(error)
        return IncompatibleKeys(missing, unexpected)

    def _load(
        self: Any, state: dict[str, Any], prefix: str, strict: bool, missing: list[str],
        unexpected: list[str], errors: list[str], assign: bool,
    ) -> None:
        metadata = {"assign_to_params_buffers": assign}
        for (hook,) in self._hooked("load_pre"):
            hook(self, state, prefix, metadata, strict, missing, unexpected, errors)
        self._load_from_state_dict(state, prefix, metadata, strict, missing, unexpected, errors)
        for name, module in self._modules.items():
            if module is not None:
                inner = f"{prefix}{name}."
                own = {k: v for k, v in state.items() if k.startswith(inner)}
                module._load(own, inner, strict, missing, unexpected, errors, assign)
        for (hook,) in self._hooked("load_post"):
            hook(self, IncompatibleKeys(missing, unexpected))

    def _load_from_state_dict(
        self: Any, state_dict: Mapping[str, Any], prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:
        kept = self._kept()
        for name, target in kept.items():
            key = prefix + name
            if key not in state_dict:
                missing_keys.append(key)
                continue
            try:
                self._take(name, target, state_dict[key], key, local_metadata)
            except (ValueError, TypeError) as error:
                error_msgs.append(str(error))
        extra = prefix + _EXTRA
        if type(self).set_extra_state is not States.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            else:
                missing_keys.append(extra)
            kept[_EXTRA] = None
        for key in state_dict:
            name, dot, _ = key.removeprefix(prefix).partition(".")
            known = name in self._modules if dot else name in kept
            if key.startswith(prefix) and not known:
                unexpected_keys.append(key)

    def _take(self: Any, name: str, target: Any, value: Any, key: str, how: Any) -> None:
        if not (how or {}).get("assign_to_params_buffers") or not isinstance(value, CoreTensor):
            _put(target, _fitted(target, value, f"{key!r}"))
            return
        if value.shape != target.shape:
            _fitted(target, value, f"{key!r}")  # raises
        if name in self._parameters and not isinstance(value, type(target)):
            value = type(target)(value.detach(), target.requires_grad)
        (self._parameters if name in self._parameters else self._buffers)[name] = value
