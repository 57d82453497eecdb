"""Devices and kinds of memory."""

from . import device as device
from . import memory as memory
from .device import Device as Device
from .device import current as current
