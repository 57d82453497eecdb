"""`python -m tests.fuzz --seconds 60 --jobs 2`: random programs, on PyTorch, JAX, in each mode."""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.fuzz import programs
from tests.fuzz.search import ASKED, search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each job")
    parser.add_argument("--seed", type=int, default=programs.given_seed())
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--asked", choices=ASKED, nargs="*", default=list(ASKED))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    asked = [given.asked[job % len(given.asked)] for job in range(given.jobs)]
    seeds = [given.seed + 10**7 * job for job in range(given.jobs)]
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        answers = list(pool.map(search, asked, seeds, [given.seconds] * given.jobs))
    for name in given.asked:
        total: Counter[str] = Counter()
        for own, found in zip(asked, answers, strict=True):
            if own == name:
                total += found.counts
                print("\n".join(found.reports.values()))
        print(f"{name}: {total.total()} programs, {dict(total)}")


if __name__ == "__main__":
    main()
