"""Live output of a run: rich's live table, plain lines, or only alarms."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from .table import Table


class Screen:
    """Base class; shows only alarms, on standard error."""

    wait = float("inf")

    def __init__(self) -> None:
        self._next = 0.0

    def show(self, table: Callable[[], Table], at_once: bool = False) -> None:
        """Shows the state if enough time has passed."""
        now = time.perf_counter()
        if self.wait < float("inf") and (at_once or now >= self._next):
            self._next = now + self.wait
            self.draw(table())

    def draw(self, table: Table) -> None:
        """Shows a table."""

    def alarm(self, text: str) -> None:
        """Prints an alarm."""
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Ends the output."""


class Lines(Screen):
    """Prints a line of text every few seconds."""

    wait = 5.0

    def draw(self, table: Table) -> None:
        """Prints the title of the table."""
        print(table.title, flush=True)


class Live(Screen):
    """Shows a table that is updated in place."""

    wait = 0.25

    def __init__(self, console: Any) -> None:
        super().__init__()
        from rich.live import Live as Rich

        self._live = Rich(console=console, auto_refresh=False)
        self._live.start()

    def draw(self, table: Table) -> None:
        """Shows the table, with as many rows as fit into the terminal."""
        room = max(1, self._live.console.height - 6)
        more = len(table.rows) - room
        if more > 0:
            rest = [f"… and {more} more: seen.table()", *table.below]
            table = table._replace(rows=table.rows[:room], below=rest)
        self._live.update(table.__rich__(), refresh=True)

    def alarm(self, text: str) -> None:
        """Prints the alarm above the table, where it stays."""
        self._live.console.print(text, style="bold white on red", markup=False, highlight=False)

    def close(self) -> None:
        """Keeps the last table on the screen."""
        self._live.stop()


def screen_for(live: Any) -> Screen:
    """The screen for the argument `live`: True, False, None (if there is a terminal), a Console.
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
