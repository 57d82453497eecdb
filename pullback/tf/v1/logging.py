"""`tf.logging`: a Python logger with TensorFlow 1's names."""

from __future__ import annotations

import logging as _logging
from typing import Any

__all__ = [
    "DEBUG", "ERROR", "FATAL", "INFO", "WARN", "debug", "error", "fatal", "get_verbosity", "info",
    "log", "set_verbosity", "warn", "warning",
]

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50
_logger = _logging.getLogger("pullback.tf.v1")
debug, info, warning, error = _logger.debug, _logger.info, _logger.warning, _logger.error
warn, fatal, log = _logger.warning, _logger.critical, _logger.log


def set_verbosity(v: Any) -> None:
    """Set the threshold: messages of this level and above are shown."""
    _logger.setLevel(v)


def get_verbosity() -> int:
    """The threshold of shown messages."""
    return _logger.getEffectiveLevel()
