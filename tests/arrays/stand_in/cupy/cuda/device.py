"""Two devices, of which one is the current one."""

from __future__ import annotations

from typing import Any

_entered = [0]


def current() -> int:
    return _entered[-1]


class Device:
    def __init__(self, device: Any = None) -> None:
        self.id = current() if device is None else int(device)
        if self.id not in (0, 1):
            raise RuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    def __enter__(self) -> Device:
        _entered.append(self.id)
        return self

    def __exit__(self, *error: Any) -> None:
        _entered.pop()

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


