"""`torch.autograd.anomaly_mode`: backward errors name the forward line; NaN raises an error."""

from __future__ import annotations

from typing import Any

from ...core import state as _state
from ...core.node_hooks import nan_checked

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class _Anomaly:
    """Turns anomaly mode on or off until the block ends."""

    _before: tuple[bool, bool]

    def _set(self, mode: bool, check_nan: bool) -> None:
        self._before = _state.state().lines, nan_checked.get()
        _state.change(lines=bool(mode))
        nan_checked.set(bool(mode and check_nan))

    def __exit__(self, *exc: object) -> None:
        lines, checked = self._before
        _state.change(lines=lines)
        nan_checked.set(checked)


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
    return nan_checked.get()
