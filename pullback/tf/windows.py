"""What `tf.nn`'s convolutions and pools have in common: layouts, strides, paddings."""

from __future__ import annotations

from typing import Any

from .. import ops
from .convert import shape_of
from .errors import invalid

LAYOUTS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
"""number of spatial axes -> the layout with channels last, that with channels first."""


def layout_of(data_format: str | None, d: int, who: str) -> str:
    """The layout that is meant; channels last, where none is said.

    Raises an `InvalidArgumentError` for one that there is not.
    """
    if data_format is None:
        return LAYOUTS[d][0]
    if data_format not in LAYOUTS[d]:
        raise invalid(f"argument `data_format` of `{who}`", " or ".join(LAYOUTS[d]),
                      repr(data_format))
    return data_format


def channels_first(x: Any, layout: str, who: str) -> Any:
    """The order of axes that the core has."""
    if x.ndim != len(layout):
        raise invalid(f"argument `input` of `{who}`", f"{len(layout)} axes", f"shape {x.shape}")
    last = x.ndim - 1
    return x if layout[1] == "C" else ops.permute_dims(x, (0, last, *range(1, last)))


def as_given(x: Any, layout: str) -> Any:
    """The order of axes of a layout again."""
    return x if layout[1] == "C" else ops.permute_dims(x, (0, *range(2, x.ndim), 1))


def spatial(value: Any, layout: str) -> Any:
    """The numbers of the spatial axes: of one number, of one an axis, or of one for all axes."""
    d, given = len(layout) - 2, shape_of(value)
    if len(given) == 1:
        return given * d
    if len(given) == d:
        return given
    return given[1:-1] if layout[1] != "C" else given[2:]


def padding_of(padding: Any, layout: str, who: str) -> Any:
    """What the core takes for a padding: "same", "valid", or pairs of the spatial axes."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise invalid(f"argument `padding` of `{who}`", "SAME, VALID or pairs", repr(padding))
        return padding.lower()
    pairs = [tuple(int(n) for n in pair) for pair in padding]
    return tuple(pairs[1:-1] if layout[1] != "C" else pairs[2:])
