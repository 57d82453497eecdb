"""Layouts, strides and paddings, shared by the convolutions and pools of `tf.nn`."""

from __future__ import annotations

from typing import Any

from .. import ops
from .convert import shape_of
from .errors import invalid

LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
"""number of spatial axes -> the channels-last layout, the channels-first layout."""


def layout_of(data_format: str | None, d: int, subject: str) -> str:
    """The layout; channels last if data_format is None.

    Raises an `InvalidArgumentError` for an unknown layout.
    """
    if data_format is None:
        return LAYOUTS[d][0]
    if data_format not in LAYOUTS[d]:
        raise invalid(f"argument `data_format` of `{subject}`", " or ".join(LAYOUTS[d]),
                      repr(data_format))
    return data_format


def channels_first(x: Any, layout: str, subject: str) -> Any:
    """Transpose to the core's axis order, channels first."""
    if x.ndim != len(layout):
        raise invalid(f"argument `input` of `{subject}`", f"{len(layout)} axes", f"shape {x.shape}")
    last = x.ndim - 1
    return x if layout[1] == "C" else ops.permute_dims(x, (0, last, *range(1, last)))


def as_given(x: Any, layout: str) -> Any:
    """Transpose back to the given layout."""
    return x if layout[1] == "C" else ops.permute_dims(x, (0, *range(2, x.ndim), 1))


def spatial(value: Any, layout: str) -> Any:
    """One number per spatial axis, from one number, one per spatial axis, or one per axis."""
    d, given = len(layout) - 2, shape_of(value)
    if len(given) == 1:
        return given * d
    if len(given) == d:
        return given
    return given[1:-1] if layout[1] != "C" else given[2:]


def padding_of(padding: Any, layout: str, subject: str) -> Any:
    """The core's form of a padding: "same", "valid", or one pair per spatial axis."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise invalid(
                f"argument `padding` of `{subject}`", "SAME, VALID or pairs", repr(padding)
            )
        return padding.lower()
    pairs = [tuple(int(n) for n in pair) for pair in padding]
    return tuple(pairs[1:-1] if layout[1] != "C" else pairs[2:])
