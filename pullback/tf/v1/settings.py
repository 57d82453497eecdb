"""Configuration of TensorFlow 1 programs: accepted, mostly without effect."""

from __future__ import annotations

from typing import Any

from .shapes import use_dimensions

__all__ = [
    "ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RunMetadata", "RunOptions",
    "control_flow_v2_enabled", "disable_control_flow_v2", "disable_eager_execution",
    "disable_resource_variables", "disable_tensor_equality", "disable_v2_behavior",
    "disable_v2_tensorshape", "enable_control_flow_v2", "enable_eager_execution",
    "enable_resource_variables", "enable_tensor_equality", "enable_v2_behavior",
    "enable_v2_tensorshape", "executing_eagerly", "resource_variables_enabled",
]


class _Options:
    """Stores its keyword arguments."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = self.__dict__[name] = _Options()
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class ConfigProto(_Options):
    """Session configuration; without effect."""


class GPUOptions(_Options):
    """GPU options; without effect."""


class GraphOptions(_Options):
    """Graph options; without effect."""


class OptimizerOptions(_Options):
    """Graph optimizer options; without effect."""

    L0, L1 = -1, 0
    OFF, DEFAULT, ON_1, ON_2 = -1, 0, 1, 2


class RunOptions(_Options):
    """Run options; without effect."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3


class RunMetadata(_Options):
    """Run metadata; always empty."""


def disable_v2_behavior() -> None:
    """TensorFlow 1 behaviour: entries of shapes are Dimensions from now on."""
    use_dimensions(True)


def enable_v2_behavior() -> None:
    """TensorFlow 2 behaviour: entries of shapes are ints and None from now on."""
    use_dimensions(False)


disable_v2_tensorshape, enable_v2_tensorshape = disable_v2_behavior, enable_v2_behavior


def executing_eagerly() -> bool:
    """False: in this module operations are built, and sessions run them.

    >>> executing_eagerly()
    False
    """
    return False


def resource_variables_enabled() -> bool:
    """True: a variable is read where the graph says so."""
    return True


def control_flow_v2_enabled() -> bool:
    """True: a branch or a loop is one operation."""
    return True


def _without_effect(name: str) -> Any:
    def call() -> None:
        return None

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Accepted and ignored."
    return call


disable_eager_execution = _without_effect("disable_eager_execution")
enable_eager_execution = _without_effect("enable_eager_execution")
enable_resource_variables = _without_effect("enable_resource_variables")
disable_resource_variables = _without_effect("disable_resource_variables")
enable_control_flow_v2 = _without_effect("enable_control_flow_v2")
disable_control_flow_v2 = _without_effect("disable_control_flow_v2")
enable_tensor_equality = _without_effect("enable_tensor_equality")
disable_tensor_equality = _without_effect("disable_tensor_equality")
