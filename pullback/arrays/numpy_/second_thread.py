"""The second thread, which computes one half of a large array.

It takes no lock that its users could wait for while they hold it: a signal handler or a `__del__`
that computes a large array, at any instruction, gets its result. What it computes, it computes in
the context of its user (`numpy.errstate` is one). Threads do not survive a fork: a child starts
its own.
"""

from __future__ import annotations

import os
import sys
from _thread import start_new_thread
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue  # its `put` may be interrupted by another `put`
from threading import Lock, get_ident
from typing import Any

_CHECK = 1.0
"""Seconds of waiting after which a user makes sure that the thread is still there."""


class _Task:
    """A function to call; `done` is locked until it has returned or raised."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function, self.context, self.pid = function, copy_context(), os.getpid()
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = Lock()
        self.done.acquire()

    def run(self) -> None:
        """Call the function in its user's context."""
        try:
            self.result = self.context.run(self.function)
        except BaseException as error:
            self.error = error
        self.done.release()

    def finish(self) -> Any:
        """The result, or the exception raised."""
        while not self.done.acquire(timeout=_CHECK):
            if os.getpid() != self.pid or sys.is_finalizing():  # forked while it waited, or the end
                return self.function()
        error, self.error = self.error, None
        if error is not None:
            raise error
        return self.result


def _work(tasks: SimpleQueue[_Task]) -> None:
    """Run tasks until the process ends."""
    while True:
        tasks.get().run()


_started: list[tuple[int, SimpleQueue[_Task]]] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_started.clear)


def begin(function: Callable[[], Any]) -> Callable[[], Any]:
    """Start a function on the second thread, and return a function that waits for its result.

    Returns the function itself, to be called later, where no second thread can be had: on one
    processor, on the second thread itself, and while the interpreter shuts down.
    """
    if (os.cpu_count() or 1) < 2 or sys.is_finalizing():
        return function
    if not _started:
        tasks: SimpleQueue[_Task] = SimpleQueue()
        try:  # not `threading.Thread`, whose `start` holds a lock
            _started.append((start_new_thread(_work, (tasks,)), tasks))
        except RuntimeError:  # no more threads, or the interpreter shuts down
            return function
    ident, tasks = _started[0]
    if get_ident() == ident:  # a `__del__` runs there
        return function
    task = _Task(function)
    tasks.put(task)
    return task.finish
