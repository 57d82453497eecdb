"""`torch.random`: random number generators, seeds, and saved states."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import numpy

from .. import random as core
from ..core.tensor import raw
from ..errors import ArgumentError
from .creation import made
from .errors import as_runtime

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed",
    "seed", "set_rng_state",
]


class Generator(core.Generator):
    """A random number generator; its numbers differ from PyTorch's.

    >>> import pullback.torch as torch
    >>> g = Generator().manual_seed(0)
    >>> torch.randn(2, generator=g).shape, g.initial_seed()
    (torch.Size([2]), 0)
    """

    __slots__ = ()

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__(_FIRST_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Set the seed, and return the generator."""
        core.Generator.seed(self, _unsigned(seed))
        return self

    def seed(self, seed: int | None = None) -> int:  # type: ignore[override]
        """Set an unpredictable seed, and return it."""
        core.Generator.seed(self, seed)
        return self.initial_seed()

    def initial_seed(self) -> int:
        """The seed that was set last."""
        entropy = self._stream.bit_generator.seed_seq.entropy
        return int(entropy) % (1 << 63)

    def get_state(self) -> Any:
        """The state as a byte tensor."""
        return _as_bytes(super().get_state())

    def set_state(self, new_state: Any) -> Any:
        """Restore a saved state."""
        super().set_state(_as_state(new_state))
        return self


_FIRST_SEED = 67280421310721


def _unsigned(seed: int) -> int:
    return int(seed) % (1 << 64)


def _as_bytes(state: dict[str, Any]) -> Any:
    return made(numpy.frombuffer(json.dumps(state).encode(), numpy.uint8).copy())


def _as_state(tensor: Any) -> dict[str, Any]:
    try:
        return json.loads(numpy.asarray(raw(tensor)).tobytes())
    except ValueError:
        raise as_runtime(ArgumentError("state of a generator", "a result of get_state",
                                       f"a tensor of shape {tuple(tensor.shape)}")) from None


class _Default(Generator):
    """The default generator, used if no generator is given."""

    __slots__ = ()

    def __init__(self) -> None:  # it uses the library's stream
        pass

    @property
    def _stream(self) -> Any:
        return core.default_generator()._stream

    def manual_seed(self, seed: int) -> Generator:
        core.seed(_unsigned(seed))
        return self

    def seed(self, seed: int | None = None) -> int:  # type: ignore[override]
        core.seed(seed)
        return self.initial_seed()


default_generator = _Default()
"""The default generator."""


def manual_seed(seed: int) -> Any:
    """Set the seed of the default generator.

    >>> import pullback.torch as torch
    >>> _ = torch.manual_seed(3)
    >>> torch.initial_seed()
    3
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Set an unpredictable seed for the default generator, and return it."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that was set last."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The default generator's state as a byte tensor, for `set_rng_state`."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Restore a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, **how: Any) -> Iterator[None]:
    """Context manager that restores the default generator's state at its end."""
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)
