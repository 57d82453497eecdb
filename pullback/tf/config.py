"""`tf.config`: run `tf.function`s eagerly or traced, and list devices."""

from __future__ import annotations

from typing import NamedTuple

from .function import functions_run_eagerly as functions_run_eagerly
from .function import run_functions_eagerly as run_functions_eagerly


class PhysicalDevice(NamedTuple):
    """A device and its type, with TensorFlow's fields."""

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of a type. There is one, the CPU: the TensorFlow front end uses NumPy arrays.

    >>> list_physical_devices("GPU"), list_physical_devices()
    ([], [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')])
    """
    only = PhysicalDevice("/physical_device:CPU:0", "CPU")
    return [only] if device_type in (None, "CPU") else []
