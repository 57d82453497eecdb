"""`torch.autograd.anomaly_mode`: backward errors name the forward line; NaN raises an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import state as _state
from ...core.node import Node, where
from ...core.observe import Observer, Results
from ...core.op import OPS
from ...core.tensor import raw
from ...errors import AnomalyError

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class _NanCheck(Observer):
    """Raises an `AnomalyError` for the first NaN among the results of a step."""

    def step(self, node: Node, g: Any, run: Callable[[], Results]) -> Results:
        """Run the step, and check its results."""
        results = run()
        names = getattr(node.op, "arguments", ())
        for i, r in enumerate(results):
            if r is not None and bool(OPS["any"](OPS["isnan"](raw(r)))):
                name = f" (argument `{names[i]}`)" if i < len(names) else ""
                raise AnomalyError(
                    f"gradient of {where(node)}", "numbers",
                    f"a rule that returned nan values in its {i}th output{name}",
                    "check the values that it was computed from; 0 / 0 is the usual cause",
                )
        return results


_NAN_CHECK = _NanCheck()


class _Anomaly:
    """Turns anomaly mode on or off until the block ends."""

    _before: tuple[bool, bool]

    def _set(self, mode: bool, check_nan: bool) -> None:
        now = _state.state()
        self._before = now.lines, _NAN_CHECK in now.observers
        _change(bool(mode), bool(mode and check_nan))

    def __exit__(self, *exc: object) -> None:
        _change(*self._before)


def _change(lines: bool, check_nan: bool) -> None:
    rest = tuple(o for o in _state.state().observers if o is not _NAN_CHECK)
    _state.change(lines=lines, observers=(*rest, _NAN_CHECK) if check_nan else rest)


class detect_anomaly(_Anomaly):
    """Context manager: operations record their line, and NaN in a backward pass raises an error.

    check_nan  whether to check for NaN; an `AnomalyError` (a `RuntimeError`) names the operation

    >>> import pullback.torch as torch
    >>> x = torch.tensor(-1.0, requires_grad=True)
    >>> with torch.autograd.detect_anomaly():
    ...     x.exp().backward()
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan

    def __enter__(self) -> None:
        self._set(True, self._check_nan)


class set_detect_anomaly(_Anomaly):
    """Turns anomaly mode on or off immediately; as a context manager, until the block ends."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._set(mode, check_nan)

    def __enter__(self) -> None:
        return None


def is_anomaly_enabled() -> bool:
    """True if operations record their lines, in this thread."""
    return _state.state().lines


def is_anomaly_check_nan_enabled() -> Any:
    """True if a backward pass checks for NaN, in this thread."""
    return _NAN_CHECK in _state.state().observers
