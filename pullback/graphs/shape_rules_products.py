"""Shapes of products, of linear algebra and of transforms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..arrays.symbol import Symbol
from .shape_rules import UndecidedError, broadcast, changed, is_any, rule, shape_of, unfit

# Matrices -----------------------------------------------------------------------------------


def signature(text: str) -> Callable[..., Any]:
    """A rule from the notation of NumPy's generalised functions.

    The axes in front of those named broadcast. A vector lacks the axes marked `?`. k is the
    smaller one of m and n.

    >>> x, y = (Symbol(None, 0, list, shape, None) for shape in [(5, 2, 3), (3,)])
    >>> signature("(m?,n),(n,p?)->(m?,p?)")("matmul", x, y)
    (5, 2)
    """
    takes, gives = (
        [re.findall(r"\w+\??", names) for names in re.findall(r"\((.*?)\)", side)]
        for side in text.split("->")
    )

    def shape(subject: str, /, *arrays: Any, **attrs: Any) -> Any:
        lengths: dict[str, int | None] = {}
        stacks = []
        for names, x in zip(takes, arrays, strict=False):
            own = shape_of(x)
            if len(own) < len(names):
                names = [n for n in names if not n.endswith("?")]
            if len(own) < len(names):
                raise UndecidedError
            split = len(own) - len(names)
            stacks.append(own[:split])
            for name, length in zip(names, own[split:], strict=True):
                known = lengths.get(name)
                if None not in (known, length) and known != length:
                    shapes = [shape_of(a) for a in arrays]
                    raise unfit(subject, f"dimensions that fit, as in {text}", shapes)
                lengths[name] = length if known is None else known
        stack = broadcast(stacks, subject)
        sides = (lengths.get("m"), lengths.get("n"))
        lengths["k"] = None if None in sides else min(sides)  # type: ignore[type-var]
        found = [
            arrays[0].shape if len(takes) == 1 and names == takes[0]
            else (*stack, *[lengths[n] for n in names if n in lengths])
            for names in gives
        ]
        return found if len(found) > 1 else found[0]

    return shape


def _chosen(attribute: str, signatures: Mapping[Any, str]) -> Callable[..., Any]:
    """A rule whose signature depends on an attribute."""
    rules = {value: signature(text) for value, text in signatures.items()}
    return lambda subject, *arrays, **attrs: rules[attrs[attribute]](subject, *arrays)


rule("tril", "triu", same_dtype=True)(signature("(m,n)->(m,n)"))
rule("matrix_transpose", same_dtype=True)(signature("(m,n)->(n,m)"))
rule("matmul")(signature("(m?,n),(n,p?)->(m?,p?)"))
rule("cholesky", "inv", "expm", "adjugate", "adjugate_along")(signature("(n,n)->(n,n)"))
rule("solve", "triangular_solve")(signature("(n,n),(n,p?)->(n,p?)"))
rule("det")(signature("(n,n)->()"))
rule("slogdet")(signature("(n,n)->(),()"))
rule("eigvalsh")(signature("(n,n)->(n)"))
rule("eigh", "eig")(signature("(n,n)->(n),(n,n)"))
rule("lu")(signature("(m,n)->(m,m),(m,k),(k,n)"))
rule("svdvals")(signature("(m,n)->(k)"))
rule("svd")(_chosen("full_matrices", {
    True: "(m,n)->(m,m),(k),(n,n)", False: "(m,n)->(m,k),(k),(k,n)",
}))
rule("qr")(_chosen("mode", {
    "complete": "(m,n)->(m,m),(m,n)", "reduced": "(m,n)->(m,k),(k,n)",
}))
rule("pinv", trial={"rtol": 0.5})(signature("(m,n)->(n,m)"))
rule("matrix_rank", trial={"rtol": 0.5})(signature("(n)->()"))


# Products and transforms --------------------------------------------------------------------


@rule("vecdot")
def vecdot(subject: str, x1: Any, x2: Any, /, *, axis: int) -> Any:
    """The broadcast shape without the axis."""
    both = list(broadcast([shape_of(x1), shape_of(x2)], subject))
    del both[axis]
    return tuple(both)


@rule("cross")
def cross(subject: str, x1: Any, x2: Any, /, **attrs: Any) -> Any:
    """The broadcast shape."""
    return broadcast([shape_of(x1), shape_of(x2)], subject)


@rule("einsum", rankless=True)
def einsum(subject: str, /, *operands: Symbol, subscripts: str) -> Any:
    """The length of each letter of the result."""
    before, _, out = subscripts.partition("->")
    known: dict[str, int | None] = {}
    for term, x in zip(before.split(","), operands, strict=True):
        lengths = (None,) * len(term) if is_any(x) else shape_of(x)
        for letter, n in zip(term, lengths, strict=True):
            if known.get(letter, 1) == 1 or (n is not None and n != 1):
                known[letter] = n
    return tuple([known[letter] for letter in out])


@rule("rfftn")
def rfftn(subject: str, x: Symbol, /, *, axes: Any, **attrs: Any) -> Any:
    """Half of the last transformed axis, and one more."""
    return changed(x, axes[-1], lambda n: n // 2 + 1, subject)


@rule("irfftn", trial={"n": 2})
def irfftn(subject: str, x: Symbol, /, *, n: Any, axes: Any, **attrs: Any) -> Any:
    """n on the last transformed axis."""
    own = list(x.shape)
    own[axes[-1]] = n if isinstance(n, int) else None
    return tuple(own)
