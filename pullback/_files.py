"""Writing files: every function of the library that saves something calls `write_file`."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from typing import Any

Target = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def write_file(path: Target, content: bytes | str) -> None:
    """Replace a file by one with this content; text is written as UTF-8.

    The content goes to a temporary file in the same folder, which is flushed to the disk and then
    renamed: after an error or a crash the file has its old content or the new one, never a part.
    As with `open`, a new file has the mode that the umask leaves, an existing one keeps its mode,
    and a symbolic link stays one: the file that it points to is written.

    Raises `OSError` as `open` does.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> write_file(path, "text")
    >>> path.read_text()
    'text'
    """
    data = content.encode() if isinstance(content, str) else content
    name = os.fsdecode(path)
    mode = _mode(name)
    if mode is not None and not stat.S_ISREG(mode):  # a device or a pipe; a folder is refused
        with open(name, "wb") as file:
            file.write(data)
        return
    if mode is not None and not os.access(name, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".pullback-{secrets.token_hex(8)}.tmp")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(temporary, flags, 0o666)  # the system takes the umask off
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name) from None
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _mode(name: str) -> int | None:
    """The type and mode of an existing file; None if there is none."""
    try:
        return os.stat(name).st_mode
    except FileNotFoundError:
        return None


def _sync_folder(folder: str) -> None:
    """Flush a rename to the disk, on systems that can."""
    flags: Any = getattr(os, "O_DIRECTORY", None)
    if flags is None:
        return
    with contextlib.suppress(OSError):  # some file systems refuse; the file itself is complete
        handle = os.open(folder, flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
