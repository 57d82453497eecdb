"""Random programs, on the front end and on PyTorch, and in every mode of the library."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz import programs, search
from tests.parts import need

PROGRAMS = {"backward": 5500, "twice": 3600, "modes": 1300, "jax": 150}
"""Some fifty seconds of programs for each question."""


@pytest.mark.full
@pytest.mark.parametrize("asked", search.ASKED)
def test_no_random_program_gives_another_number(asked: str, capsys: pytest.CaptureFixture) -> None:
    """An error in place of a number is allowed, another number never is.

    The programs are the same in each run, so that a change is judged by its own mistakes:
    `PULLBACK_FUZZ_SEED` takes others, and `python -m tests.fuzz` searches among new ones.
    """
    need("torch")
    seed = programs.given_seed(default=2026)
    found = search.search(asked, seed, count=PROGRAMS[asked])
    with capsys.disabled():
        print(f"\nfuzz {asked}: seed {seed}, {found.number} programs, {dict(found.counts)}")
    assert not found.different(), "\n".join(found.different())
    assert found.counts["same"] > 0.7 * found.number


def test_the_search_finds_a_planted_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    need("torch")
    import pullback.torch as ours

    monkeypatch.setattr(ours, "sin", lambda x: torch_free_sin(x))
    found = search.search("backward", 1, count=120)
    reports = [r for r in found.different() if "t.sin(" in r]
    assert reports, found
    assert min(r.count("\n") for r in reports) < 8, "a short program"


def torch_free_sin(x: object) -> object:
    """A sine whose slope is wrong by a thousandth."""
    import pullback as pb

    @pb.custom_gradient
    def sine(y: object) -> object:
        return pb.sin(y), lambda g: g * pb.cos(y) * 1.001

    return sine(x)


def test_programs_are_repeated_by_their_seed() -> None:
    torch = need("torch")
    texts = Counter(str(programs.written(7, torch)) for _ in range(3))
    assert len(texts) == 1
