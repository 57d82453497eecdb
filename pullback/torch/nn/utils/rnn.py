"""`torch.nn.utils.rnn`: padded batches of sequences."""

from __future__ import annotations

from typing import Any

from .... import ops
from ...errors import guarded

__all__ = ["pad_sequence", "unpad_sequence"]


@guarded
def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:
    """Pads sequences to one tensor (longest, batch, …) with a value.

    >>> import pullback.torch as torch
    >>> pad_sequence([torch.ones(2), torch.ones(1)], batch_first=True)
    tensor([[1., 1.],
            [1., 0.]])
    """
    given = list(sequences)
    longest = max(len(s) for s in given)

    def filled(s: Any) -> Any:
        room = longest - len(s)
        ends = (room, 0) if padding_side == "left" else (0, room)
        rest = [(0, 0)] * (len(s.shape) - 1)
        return ops.pad(s, [ends, *rest], constant_values=padding_value)

    return ops.stack([filled(s) for s in given], axis=0 if batch_first else 1)


@guarded
def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The unpadded sequences, given their lengths."""
    rows = padded_sequences.unbind(0 if batch_first else 1)
    return [row[: int(n)] for row, n in zip(rows, lengths, strict=True)]
