"""Finds the user's line: the innermost frame outside this package."""

import os
import sys
from types import FrameType, TracebackType

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
"""The folder of this package, as file names of its code begin."""


def is_own(file: str) -> bool:
    """Whether a file belongs to this package."""
    return file.startswith(PACKAGE)


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame outside this package, from some depth of calls on; None if none is."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame


def place() -> tuple[str, int]:
    """The file and line of the user's code that runs now."""
    frame = user_frame()
    return ("an unknown file", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def user_line() -> str:
    """The line of the user's code that runs now, as `file:line`."""
    frame = user_frame()
    return "an unknown line" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


_BESIDE = {"numpy", "scipy", "pandas", "sklearn", "matplotlib", "torch", "jax"}
"""Packages that convert what they are given, so that the line that matters called them."""


def line_outside() -> str:
    """The user's line, as `file:line`: the innermost outside this package and array libraries."""
    inner = user_frame()
    frame = _outside(inner)[0] or inner
    return "an unknown line" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def line_in(traceback: TracebackType | None) -> str:
    """The user's innermost line in a traceback, or empty."""
    found = ""
    while traceback is not None:
        frame = traceback.tb_frame
        own = frame.f_code.co_filename.startswith((PACKAGE, "<"))
        if not own and frame.f_globals.get("__name__", "").partition(".")[0] not in _BESIDE:
            found = f"{frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found


def calls_outside() -> list[tuple[str, str]]:
    """Module and name of the array libraries' functions that run, from the user's line inwards."""
    return [
        (f.f_globals.get("__name__", ""), f.f_code.co_name) for f in _outside(user_frame())[1]
    ]


def _outside(frame: FrameType | None) -> tuple[FrameType | None, list[FrameType]]:
    """The innermost frame outside this package and array libraries, and those that it called."""
    inside: list[FrameType] = []
    while frame is not None and (
        frame.f_globals.get("__name__", "").partition(".")[0] in _BESIDE
        or frame.f_code.co_filename.startswith((PACKAGE, "<__array_function__"))
    ):
        inside.insert(0, frame)
        frame = frame.f_back
    return frame, inside
