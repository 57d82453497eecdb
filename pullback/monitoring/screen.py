"""Where a run is shown while it goes: rich's live table, plain lines, or nothing but alarms."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from .table import Table


class Screen:
    """Nothing is shown but alarms, which go to standard error; the base of the others."""

    wait = float("inf")

    def __init__(self) -> None:
        self._next = 0.0

    def show(self, table: Callable[[], Table], at_once: bool = False) -> None:
        """Show how it stands, if it is time."""
        now = time.perf_counter()
        if self.wait < float("inf") and (at_once or now >= self._next):
            self._next = now + self.wait
            self.draw(table())

    def draw(self, table: Table) -> None:
        """Show a table."""

    def alarm(self, text: str) -> None:
        """Say it loudly."""
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Show nothing any more."""


class Lines(Screen):
    """A line of text every few seconds."""

    wait = 5.0

    def draw(self, table: Table) -> None:
        """The line above the table."""
        print(table.title, flush=True)


class Live(Screen):
    """A table that changes in place."""

    wait = 0.25

    def __init__(self, console: Any) -> None:
        super().__init__()
        from rich.live import Live as Rich

        self._live = Rich(console=console, auto_refresh=False)
        self._live.start()

    def draw(self, table: Table) -> None:
        """The table, with as many rows as the terminal has room for."""
        room = max(1, self._live.console.height - 6)
        more = len(table.rows) - room
        if more > 0:
            rest = [f"… and {more} more: seen.table()", *table.below]
            table = table._replace(rows=table.rows[:room], below=rest)
        self._live.update(table.__rich__(), refresh=True)

    def alarm(self, text: str) -> None:
        """Above the table, where it stays."""
        self._live.console.print(text, style="bold white on red", markup=False, highlight=False)

    def close(self) -> None:
        """Leave the last table standing."""
        self._live.stop()


def screen_for(live: Any) -> Screen:
    """The screen for an argument `live`: True, False, None (where there is a terminal), a Console.
    """
    if live is False:
        return Screen()
    try:
        from rich.console import Console
    except ImportError:
        return Lines() if live or sys.stdout.isatty() else Screen()
    console = Console() if live in (None, True) else live
    if console.is_jupyter or (console.is_terminal and not console.is_dumb_terminal):
        return Live(console)
    return Lines() if live else Screen()
