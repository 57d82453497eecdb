"""Arrays and errors as one line of text each, for findings."""

from __future__ import annotations

import os
import sysconfig
import traceback
from typing import Any

import numpy

from ..._user_code import PACKAGE

_OTHERS = (PACKAGE, sysconfig.get_path("stdlib"), "<")


def in_words(array: Any) -> str:
    """An array on one short line; shows the first and last entries only.

    >>> import numpy as np
    >>> in_words(np.arange(9.0) / 3)
    '[0. , 0.333333, ..., 2.333333, 2.666667]'
    """
    text = numpy.array2string(
        numpy.asarray(array), precision=6, threshold=6, edgeitems=2, separator=", "
    )
    return " ".join(text.split())


def first_of(error: BaseException) -> str:
    """An exception on one line, with the file and line of the user's code that raised it.

    >>> first_of(ValueError("too"))
    'ValueError: too'
    """
    said = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
    theirs = [
        f"{os.path.basename(frame.f_code.co_filename)}, line {line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if is_theirs(frame.f_code.co_filename)
    ]
    return f"{said} ({theirs[-1]})" if theirs else said


def is_theirs(file: str) -> bool:
    """Whether a file holds code of the user: no code of this library or of an installed one."""
    return not (file.startswith(_OTHERS) or "site-packages" in file)
