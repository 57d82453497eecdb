"""Jobs in forked children, a few at a time: each says what it does, and is ended when it hangs."""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Say = Callable[[Any], None]

MEMORY = 3 << 30
"""A child that takes so many bytes more than its parent is ended: its mutant never stops adding."""


class Job:
    """Work for one child; `work` runs there, `heard` and `ended` in the parent."""

    def work(self, say: Say) -> None:
        """Do it, and tell the parent of each step."""
        raise NotImplementedError

    def heard(self, message: Any) -> float:
        """Take a message in; how many seconds may pass until the next one."""
        raise NotImplementedError

    def ended(self, how: str) -> list[Job]:
        """The child is gone: "done", "error" in `work`, "crashed", "timed out".

        Returns further jobs, to be done next.
        """
        raise NotImplementedError


@dataclass
class _Child:
    pid: int
    pipe: int
    job: Job
    limit: float
    base: int
    buffer: bytearray = field(default_factory=bytearray)
    how: str = "crashed"


def _pages(pid: int) -> int:
    """Bytes of memory of a process that are its own."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            resident, shared = map(int, file.read().split()[1:3])
    except OSError:
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def _fork(job: Job, first_limit: float, base: int) -> _Child:
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(writing)
        os.set_blocking(reading, False)
        return _Child(pid, reading, job, time.monotonic() + first_limit, base)
    status = 1
    try:
        os.close(reading)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        _work(job, writing)
        status = 0
    finally:
        os._exit(status)


def _work(job: Job, pipe: int) -> None:
    def say(message: Any) -> None:
        left = memoryview(json.dumps(message).encode() + b"\n")
        while left:
            left = left[os.write(pipe, left) :]

    try:
        job.work(say)
        say(["done"])
    except BaseException:
        say(["error", traceback.format_exc()])


class Crew:
    """Runs jobs, so many at a time, in the order in which they come."""

    def __init__(self, workers: int, first_limit: float = 120.0) -> None:
        self.workers, self.first_limit = workers, first_limit
        self.errors: list[str] = []

    def run(self, jobs: Iterator[Job]) -> None:
        """Do all jobs, and those that they leave behind."""
        children: dict[int, _Child] = {}
        waiting: list[Job] = []
        base = _pages(os.getpid())
        with selectors.DefaultSelector() as selector:
            while True:
                while len(children) < self.workers:
                    job = waiting.pop() if waiting else next(jobs, None)
                    if job is None:
                        break
                    child = _fork(job, self.first_limit, base)
                    children[child.pipe] = child
                    selector.register(child.pipe, selectors.EVENT_READ)
                if not children:
                    return
                for key, _ in selector.select(timeout=0.5):
                    self._read(children[key.fd])
                for child in list(children.values()):
                    self._watch(child)
                    if child.limit < 0:
                        selector.unregister(child.pipe)
                        del children[child.pipe]
                        os.close(child.pipe)
                        os.waitpid(child.pid, 0)
                        waiting += child.job.ended(child.how)

    def _read(self, child: _Child) -> None:
        """Take in what a child said; its limit is negative when it has ended."""
        data = os.read(child.pipe, 1 << 20)
        if not data:
            child.limit = -1.0
            return
        child.buffer += data
        *lines, rest = child.buffer.split(b"\n")
        child.buffer = bytearray(rest)
        for line in lines:
            message = json.loads(line)
            if message == ["done"]:
                child.how = "done"
            elif message[0] == "error":
                self.errors.append(message[1])
                child.how = "error"
            else:
                child.limit = time.monotonic() + child.job.heard(message)

    def _watch(self, child: _Child) -> None:
        if child.limit < 0:
            return
        late = time.monotonic() > child.limit
        if late or _pages(child.pid) - child.base > MEMORY:
            os.kill(child.pid, signal.SIGKILL)
            child.how, child.limit = "timed out", -1.0
