"""Numbers as they come, in files: a table of comma-separated values, TensorBoard's events.

What was handed over is in the file when `write` returns, so a crash loses none of it.
"""

from __future__ import annotations

import csv
import importlib
import itertools
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ..nn.saving import MissingPackageError

Target = str | os.PathLike[str]


class Writer(Protocol):
    """Takes the numbers of each step."""

    def write(self, step: int, seconds: float, record: Mapping[str, float]) -> None:
        """Put them into the file."""

    def close(self) -> None:
        """End the file."""


class Sheet:
    """A CSV file with a row a step; a column that comes later is empty in the rows before."""

    def __init__(self, path: Target) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._columns = ["step", "seconds"]
        self._file = self.path.open("w", newline="", encoding="utf-8")
        self._begin()

    def write(self, step: int, seconds: float, record: Mapping[str, float]) -> None:
        """A row."""
        more = [name for name in record if name not in self._columns]
        if more:
            self._widen(more)
        row = {"step": step, "seconds": f"{seconds:.3f}", **record}
        self._rows.writerow([row.get(name, "") for name in self._columns])
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _begin(self) -> None:
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(self._columns)
        self._file.flush()

    def _widen(self, more: list[str]) -> None:
        """Write it again with more columns, beside the old one, which is then replaced."""
        self._file.close()
        self._columns += more
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        with self.path.open(newline="", encoding="utf-8") as old:
            rows = csv.reader(old)
            next(rows)
            self._file = beside.open("w", newline="", encoding="utf-8")
            self._begin()
            self._rows.writerows([*row, *[""] * len(more)] for row in rows)
        self._file.close()
        os.replace(beside, self.path)
        self._file = self.path.open("a", newline="", encoding="utf-8")
        self._rows = csv.writer(self._file, lineterminator="\n")


_number = itertools.count()


class Events:
    """A file of TensorBoard's in a folder, by `tensorboardX`: an event a step.

    Raises `MissingPackageError` where that is not installed.
    """

    def __init__(self, folder: Target) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        writer = needed("tensorboardX.event_file_writer", "TensorBoard files")
        self._event = importlib.import_module("tensorboardX.proto.event_pb2").Event
        self._summary = importlib.import_module("tensorboardX.proto.summary_pb2").Summary
        own = f".{os.getpid()}.{next(_number)}"  # another run may begin in the same second
        self._writer = writer.EventsWriter(os.path.join(os.fspath(folder), "events"), own)

    def write(self, step: int, seconds: float, record: Mapping[str, float]) -> None:
        """An event with all numbers."""
        values = [self._summary.Value(tag=k, simple_value=v) for k, v in record.items()]
        event = self._event(wall_time=time.time(), step=step, summary=self._summary(value=values))
        self._writer.write_event(event)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        self._writer.close()


def needed(module: str, what: str) -> Any:
    """A module of the extra `monitor`.

    Raises `MissingPackageError` where it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingPackageError(
            f"{what} of a monitor", f"the package {module.partition('.')[0]}", "none",
            "pip install 'pullback[monitor]'",
        ) from None
