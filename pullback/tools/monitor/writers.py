"""Outputs of a monitor during training: CSV files, TensorBoard events, and the screen.

The files are flushed in every step, so a crash loses no numbers.
"""

from __future__ import annotations

import csv
import importlib
import io
import itertools
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..._files import write_file
from ...nn.saving import MissingPackageError
from ..table import Table

Target = str | os.PathLike[str]


class Rows:
    """A CSV file with one row per step; a new column is empty in earlier rows."""

    def __init__(self, path: Target) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._columns = ["step", "seconds"]
        self._start([])

    def write(self, step: int, seconds: float, record: Mapping[str, float]) -> None:
        """Writes a row."""
        if more := [name for name in record if name not in self._columns]:
            self.close()
            self._columns += more
            with self.path.open(newline="", encoding="utf-8") as earlier:
                self._start(csv.DictReader(earlier))
        self._rows.writerow({"step": step, "seconds": f"{seconds:.3f}", **record})
        self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _start(self, earlier: Any) -> None:
        """Writes a header and the earlier rows to a new file, which then replaces the old one."""
        text = io.StringIO(newline="")
        rows = csv.DictWriter(text, self._columns, restval="", lineterminator="\n")
        rows.writeheader()
        rows.writerows(earlier)
        write_file(self.path, text.getvalue())
        self._file = self.path.open("a", newline="", encoding="utf-8")
        self._rows = csv.DictWriter(self._file, self._columns, restval="", lineterminator="\n")


_number = itertools.count()


class Events:
    """A TensorBoard event file in a folder, written by `tensorboardX`: one event per step.

    `tensorboardX.SummaryWriter` writes in another thread, so that a crash would lose numbers; its
    `EventsWriter` writes at once. Raises `MissingPackageError` if `tensorboardX` is not installed.
    """

    def __init__(self, folder: Target) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        writer = needed("tensorboardX.event_file_writer", "TensorBoard files").EventsWriter
        self._event = needed("tensorboardX.proto.event_pb2", "TensorBoard files").Event
        suffix = f".{os.getpid()}.{next(_number)}"  # another run may start in the same second
        self._writer = writer(os.path.join(os.fspath(folder), "events"), suffix)

    def write(self, step: int, seconds: float, record: Mapping[str, float]) -> None:
        """Writes an event with all numbers."""
        values = [{"tag": name, "simple_value": value} for name, value in record.items()]
        event = self._event(wall_time=time.time(), step=step, summary={"value": values})
        self._writer.write_event(event)
        self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()


class Screen:
    """Shows the state of a run: rich's live table in a terminal, lines elsewhere, or only alarms.

    live   True, False, None (shows something if there is a terminal), or rich's Console
    """

    def __init__(self, live: Any) -> None:
        self._next, self._wait = 0.0, float("inf")
        self._live: Any = None
        if live is False:
            return
        try:
            from rich.console import Console
            from rich.live import Live
        except ImportError:
            if live or sys.stdout.isatty():
                self._wait = 5.0
            return
        console = Console() if live in (None, True) else live
        if console.is_jupyter or (console.is_terminal and not console.is_dumb_terminal):
            self._wait = 0.25
            self._live = Live(console=console, auto_refresh=False)
            self._live.start()
        elif live:
            self._wait = 5.0

    def show(self, table: Callable[[], Table], at_once: bool = False) -> None:
        """Shows the state if enough time has passed: the table, or its title as a line."""
        now = time.perf_counter()
        if self._wait == float("inf") or (now < self._next and not at_once):
            return
        self._next = now + self._wait
        if self._live is None:
            print(table().title, flush=True)
        else:
            room = max(1, self._live.console.height - 6)
            self._live.update(table().first(room).__rich__(), refresh=True)

    def alarm(self, text: str) -> None:
        """Prints an alarm on standard error, or above the live table, where it stays."""
        if self._live is None:
            print(text, file=sys.stderr, flush=True)
        else:
            style = "bold white on red"
            self._live.console.print(text, style=style, markup=False, highlight=False)

    def close(self) -> None:
        """Ends the output; the last table remains on the screen."""
        if self._live is not None:
            self._live.stop()


def needed(module: str, what: str) -> Any:
    """Imports a module of the extra `monitor`.

    Raises `MissingPackageError` if it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingPackageError(
            f"{what} of a monitor", f"the package {module.partition('.')[0]}", "none",
            "pip install 'pullback[monitor]'",
        ) from None
