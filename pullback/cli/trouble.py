"""Messages for failed commands: a few lines for misuse, a traceback for the user's code."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from pathlib import Path
from types import TracebackType

from ..errors import PullbackError

_HERE = Path(__file__).resolve().parent
_LOADERS = {importlib.__file__, "<frozen runpy>", "<frozen importlib._bootstrap>",
            "<frozen importlib._bootstrap_external>"}


def told(command: str, error: Exception) -> int:
    """Prints an error to standard error; returns 1 for the user's code, 2 for misuse.

    Raises the error itself if it is a bug of this library.
    """
    if isinstance(error, BrokenPipeError):  # as for `pullback ops | head`: the reader has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    users = _users(error.__traceback__)
    if users is not None or isinstance(error, SyntaxError):
        ours = isinstance(error, PullbackError)  # hide the internal traceback
        traceback.print_exception(error.with_traceback(users), chain=not ours)
        return 1
    if isinstance(error, (PullbackError, OSError)):
        print(f"pullback {command}: {error}", file=sys.stderr)
        return 2
    raise error


def _users(at: TracebackType | None) -> TracebackType | None:
    """The part of a traceback from the user's code on; None if this library raised."""
    while at is not None:
        file = at.tb_frame.f_code.co_filename
        folders = Path(file).resolve().parents
        if file not in _LOADERS and folders[0] != _HERE:
            is_ours = _HERE.parent in folders and _HERE / "bundle" not in folders
            return None if is_ours else at
        at = at.tb_next
    return None
