"""Parsing the subscripts of `einsum`: validated, with `...` expanded and `->` added."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ..errors import ArgumentError, ShapeError

ascii_letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # `string` takes 0.5 ms


def fresh_letters(used: str) -> Iterator[str]:
    """Letters that are not in use.

    >>> next(fresh_letters("ab->a"))
    'c'
    """
    return iter(letter for letter in ascii_letters if letter not in used)


@lru_cache(maxsize=512)
def parse(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> str:
    """The complete subscripts, for operands of some shapes.

    >>> parse("...i,i", ((2, 3), (3,)))
    'ai,i->a'
    """
    text = subscripts.replace(" ", "")
    before, arrow, out = text.partition("->")
    terms = before.split(",")
    if len(terms) != len(shapes):
        raise _wrong(subscripts, f"{len(terms)} operands, one per term", f"{len(shapes)}")
    for term in (*terms, out):
        rest = term.replace("...", "", 1)
        if not all(letter in ascii_letters for letter in rest):
            raise _wrong(subscripts, "letters, `,`, `->` and one `...` per term", repr(term))
    full, hidden = _without_dots(subscripts, terms, shapes)
    if not arrow:
        letters = "".join(full)
        once = [c for c in sorted(set(letters)) if letters.count(c) == 1 and c not in hidden]
        out = "..." + "".join(once)
    out = out.replace("...", hidden)
    for letter in out:
        if out.count(letter) > 1 or not any(letter in term for term in full):
            raise _wrong(subscripts, "each letter of the result once, from an operand", letter)
    _check_lengths(subscripts, full, shapes)
    return ",".join(full) + "->" + out


def _without_dots(
    subscripts: str, terms: list[str], shapes: tuple[tuple[int, ...], ...]
) -> tuple[list[str], str]:
    """The terms with letters in place of `...`, and all of those letters."""
    counts = []
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        named = len(term.replace("...", ""))
        if named > len(shape) or (named < len(shape) and "..." not in term):
            raise ShapeError(
                f"operand {i} of einsum({subscripts!r})", f"axes for {term!r}",
                f"shape {shape}", "use `...` for axes without a letter",
            )
        counts.append(len(shape) - named)
    fresh = fresh_letters(subscripts)
    hidden = "".join(next(fresh) for _ in range(max(counts, default=0)))
    endings = [hidden[len(hidden) - n :] for n in counts]
    return [t.replace("...", end) for t, end in zip(terms, endings, strict=True)], hidden


def _check_lengths(
    subscripts: str, terms: list[str], shapes: tuple[tuple[int, ...], ...]
) -> None:
    """Check that a letter has one length, or 1 where it broadcasts; on a diagonal, one length."""
    lengths: dict[str, int] = {}
    for i, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        own = dict(zip(term, shape, strict=True))
        for letter, n in zip(term, shape, strict=True):
            known = lengths.get(letter, n)
            if own[letter] != n or (known != n and 1 not in (known, n)):
                raise ShapeError(
                    f"operand {i} of einsum({subscripts!r})",
                    f"{known if own[letter] == n else own[letter]} entries along {letter!r}",
                    f"{n} in shape {shape}",
                )
            lengths[letter] = n if known == 1 else known


def _wrong(subscripts: str, expected: str, got: str) -> ArgumentError:
    return ArgumentError(f"subscripts {subscripts!r} of `einsum`", expected, got)
