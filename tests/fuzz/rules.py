"""Hand-written rules for random programs, made for either library.

They are as people write them, right or not: the two libraries must agree on what they mean.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any


def rules_of(t: Any) -> SimpleNamespace:
    """The rules for `pullback.torch`, or for PyTorch."""
    return SimpleNamespace(**_of_one_output(t), **_of_other_kinds(t), **_functions(t))


def _of_one_output(t: Any) -> dict[str, Any]:
    function = t.autograd.Function

    class Scaled(function):
        """Saves its argument; a gradient of its own."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return t.sin(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * (x * x * 0.5 + t.cos(x))

    class Product(function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return lowered(g * y * 2, x.shape), lowered(g * x, y.shape)

    class Clipped(function):
        """A backward pass that is not linear in the cotangent."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return (g * 2).clamp(-0.8, 0.8)

    class OfOutput(function):
        """Saves its output, which programs then may overwrite."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            out = t.exp(-x * x)
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (out,) = ctx.saved_tensors
            return g * out * 3

    return {"Scaled": Scaled, "Product": Product, "Clipped": Clipped, "OfOutput": OfOutput}


def _of_other_kinds(t: Any) -> dict[str, Any]:
    function = t.autograd.Function

    class Both(function):
        """Two outputs; one of them may get no cotangent."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x, t.cos(x)

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 2 * x - h * t.sin(x) * 0.5

    class Doubled(function):
        """Writes to its argument and returns it."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            x.mul_(2)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 1.5

    class Straight(function):
        """The straight-through estimator."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return t.sign(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    return {"Both": Both, "Doubled": Doubled, "Straight": Straight}


def _functions(t: Any) -> dict[str, Any]:
    def block(x: Any) -> Any:
        return t.tanh(x * 1.5) * x + t.sin(x)

    def hooked(x: Any) -> Any:
        """With a hook; PyTorch crashes if one is put on some tensors that were written to."""
        out = x * 1.0
        if out.requires_grad:
            out.register_hook(lambda g: g * 2)
        return out

    checkpoint = import_module(f"{t.__name__}.utils.checkpoint").checkpoint
    return {"block": block, "hooked": hooked, "checkpoint": checkpoint}


def lowered(g: Any, shape: Any) -> Any:
    """A gradient summed over the axes that broadcasting added or stretched."""
    while g.ndim > len(shape):
        g = g.sum(0)
    for axis, n in enumerate(shape):
        if n == 1 and g.shape[axis] != 1:
            g = g.sum(axis, keepdim=True)
    return g
