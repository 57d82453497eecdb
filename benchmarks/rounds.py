"""Running the workers in turn, round by round, and what is read off their figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from .workloads import IMPORT, LIBRARIES, MODULES, WORKLOADS

_HERE = Path(__file__).parent
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_ENVIRONMENT = {
    **dict.fromkeys(_THREADS, "2"), "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu",
    "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "1",
    "PYTHONDONTWRITEBYTECODE": "",  # an import is timed as it is the second time
}


class Results:
    """Figures by workload and system, a list with one of each round."""

    def __init__(self) -> None:
        self.values: dict[str, dict[str, list[float]]] = {}
        self.versions: dict[str, str] = {}

    def add(self, workload: str, system: str, value: float) -> None:
        """Take a figure of the next round."""
        self.values.setdefault(workload, {}).setdefault(system, []).append(value)

    def median(self, workload: str, system: str) -> float | None:
        """The median of the rounds, or None where nothing was measured."""
        found = self.values.get(workload, {}).get(system)
        return median(found) if found else None

    def ratio(self, above: tuple[str, str], below: tuple[str, str]) -> float | None:
        """The median of the rounds' ratios between two (workload, system)."""
        first = self.values.get(above[0], {}).get(above[1])
        second = self.values.get(below[0], {}).get(below[1])
        if not first or not second or not all(second):
            return None
        return median([a / b for a, b in zip(first, second, strict=True)])


def installed() -> list[str]:
    """The systems that can be measured here."""
    return [system for system, module in MODULES.items() if find_spec(module) is not None]


def has(system: str, workload: str) -> bool:
    """Whether a system's file has the function of a workload."""
    wanted = WORKLOADS[workload]
    if wanted.systems and system not in wanted.systems:
        return False
    if wanted.kind == IMPORT:
        return system not in LIBRARIES
    text = (_HERE / "systems" / f"{system}_.py").read_text(encoding="utf-8")
    return f"def {wanted.function}(" in text


def measure(systems: list[str], workloads: list[str], rounds: int, quick: bool) -> Results:
    """Run every worker once a round: for each workload, one system after the other."""
    results = Results()
    for i in range(rounds):
        for workload in workloads:
            for system in systems:
                if has(system, workload):
                    _tell(f"round {i + 1} of {rounds}: {workload}, {system}")
                    if not i and WORKLOADS[workload].kind == IMPORT:
                        _work(system, workload, quick)  # writes the bytecode
                    answer = _work(system, workload, quick)
                    results.add(workload, system, answer["value"])
                    results.versions[system] = answer["version"]
    _tell("")
    return results


def _work(system: str, workload: str, quick: bool) -> Any:
    command = [sys.executable, "-m", f"{__package__}.worker", system, workload]
    done = subprocess.run(
        [*command, "--quick"] if quick else command, cwd=_HERE.parent, capture_output=True,
        text=True, env={**os.environ, **_ENVIRONMENT}, check=False,
    )
    if done.returncode:
        sys.exit(f"{system} failed at {workload} (leave it out with --systems):\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
