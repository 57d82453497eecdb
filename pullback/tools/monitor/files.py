"""Writes numbers to files during training: CSV tables and TensorBoard events.

`write` flushes its numbers to the file, so a crash loses none of them.
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

from ...nn.saving import MissingPackageError

Target = str | os.PathLike[str]


class Writer(Protocol):
    """Writes the numbers of each step."""

    def write(self, step: int, seconds: float, record: Mapping[str, float]) -> None:
        """Writes the numbers to the file."""

    def close(self) -> None:
        """Closes the file."""


class Sheet:
    """A CSV file with one row per step; a new column is empty in earlier rows."""

    def __init__(self, path: Target) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._columns = ["step", "seconds"]
        self._file = self.path.open("w", newline="", encoding="utf-8")
        self._begin()

    def write(self, step: int, seconds: float, record: Mapping[str, float]) -> None:
        """Writes a row."""
        more = [name for name in record if name not in self._columns]
        if more:
            self._widen(more)
        row = {"step": step, "seconds": f"{seconds:.3f}", **record}
        self._rows.writerow([row.get(name, "") for name in self._columns])
        self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _begin(self) -> None:
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(self._columns)
        self._file.flush()

    def _widen(self, more: list[str]) -> None:
        """Rewrites the file with more columns in a new file, which then replaces the old one."""
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
    """A TensorBoard event file in a folder, written by `tensorboardX`: one event per step.

    Raises `MissingPackageError` if `tensorboardX` is not installed.
    """

    def __init__(self, folder: Target) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        writer = needed("tensorboardX.event_file_writer", "TensorBoard files")
        self._event = importlib.import_module("tensorboardX.proto.event_pb2").Event
        self._summary = importlib.import_module("tensorboardX.proto.summary_pb2").Summary
        own = f".{os.getpid()}.{next(_number)}"  # another run may start in the same second
        self._writer = writer.EventsWriter(os.path.join(os.fspath(folder), "events"), own)

    def write(self, step: int, seconds: float, record: Mapping[str, float]) -> None:
        """Writes an event with all numbers."""
        values = [self._summary.Value(tag=k, simple_value=v) for k, v in record.items()]
        event = self._event(wall_time=time.time(), step=step, summary=self._summary(value=values))
        self._writer.write_event(event)
        self._writer.flush()

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()


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
