"""One workload of one system, in a process of its own: prints one line of JSON.

    python -m benchmarks.worker pullback small-1
"""

import importlib
import os
import resource
import sys
import time

from .workloads import FACTORS, IMPORT, MEMORY, MODULES, PACKAGES, WORKLOADS, Workload


def main(system: str, name: str, quick: bool) -> None:
    """Measure and print {"value": in the workload's unit, "version": the system's}."""
    if hasattr(os, "sched_setaffinity"):  # two processors for everybody
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    workload = WORKLOADS[name]
    if workload.kind == IMPORT:
        value = _import(MODULES[system])
    else:
        module = importlib.import_module(f"{__package__}.systems.{system}_")
        make = getattr(module, workload.function)
        arguments = workload.quick if quick else workload.arguments
        if workload.kind == MEMORY:
            value = _memory(make, workload, arguments)
        else:
            value = _time(*make(*arguments), 0.0 if quick else 0.7)
    import json  # after an import has been timed

    print(json.dumps({"value": value * FACTORS[workload.unit], "version": _version(system)}))


def _import(module: str) -> float:
    began = time.perf_counter()
    importlib.import_module(module)
    return time.perf_counter() - began


def _time(run, units: int, seconds: float) -> float:
    """Seconds a unit: the median of as many calls as fit, at least 3, after one not counted."""
    run()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2] / units


def _memory(make, workload: Workload, arguments) -> float:
    """Bytes by which the first calls raise the peak of resident memory above what was in use."""
    run, _ = make(*workload.small)
    run()
    run()
    run, _ = make(*arguments)
    before = _forget_peak()
    run()
    run()
    return max(0, _peak() - before)


def _forget_peak() -> int:
    """Start the peak anew from what is in use now (Linux only), and return it."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass
    return _peak()


def _peak() -> int:
    try:
        with open("/proc/self/status") as file:
            lines = [line for line in file if line.startswith("VmHWM")]
        return int(lines[0].split()[1]) * 1024
    except (OSError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


def _version(system: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    for package in PACKAGES.get(system, (system,)):
        try:
            return version(package)
        except PackageNotFoundError:
            pass
    return str(getattr(importlib.import_module(MODULES[system]), "__version__", ""))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "--quick" in sys.argv)
