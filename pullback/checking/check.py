"""`check`: run the laws over a function."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy

from ..errors import ArgumentError, ArgumentTypeError, suggestion
from . import calling as calling
from . import numeric as numeric
from . import spaces as spaces
from . import traps as traps
from .finding import Finding, failed, not_applicable
from .laws import LAWS, Law
from .report import Report
from .subject import Subject, numpy_of
from .words import first_of


def check(
    f: Callable[..., Any], *examples: Any, order: int = 2,
    surrogate: Callable[..., Any] | None = None,
    derivative_of: Callable[..., Any] | None = None, dtypes: Sequence[str] | None = None,
    seed: int = 0, skip: Mapping[str, str] | Sequence[str] = (), rtol: float | None = None,
    atol: float | None = None, name: str | None = None, kwargs: Mapping[str, Any] | None = None,
) -> Report:
    """Check the gradients of a function at some examples of its arguments.

    f          an operation, a hand-written gradient, a `Function`, any function of tensors
    examples   its arguments: numbers, arrays, Tensors, structures; anything else is handed on
    order      2: its gradient can be differentiated too, and is right; 1: it is not asked
    surrogate, derivative_of   the function whose derivative the rule means to be, where that is
               not f's: straight-through estimators, gradient reversal
    dtypes     names of the dtypes that f is said to take; left out, real ones are tried
    seed       of everything that is drawn
    skip       names of laws that are left out, or {name: why}
    rtol, atol  how far numbers may be apart; by the dtype if left out
    name, kwargs   what f is called in the report, and keyword arguments for it

    Raises `ArgumentTypeError` for what cannot be called, `ArgumentError` for another order or for
    a law to be skipped that is not there.

    >>> import pullback as pb
    >>> bool(check(pb.tanh, pb.tensor([0.5, -1.0])))
    True
    >>> @pb.custom_gradient
    ... def square(x):
    ...     return x * x, lambda g: g * x
    >>> report = check(square, 3.0)
    >>> report.ok, report.failures[0].fix
    (False, 'it is 0.5 times what it should be')
    """
    if not callable(f):
        raise ArgumentTypeError("argument `f` of `check`", "a function", f"{f!r:.60}")
    if order not in (1, 2):
        raise ArgumentError("argument `order` of `check`", "1 or 2", repr(order))
    for unknown in set(skip) - set(LAWS):
        raise ArgumentError(
            "argument `skip` of `check`", "names of laws", repr(unknown), suggestion(unknown, LAWS)
        )
    subject = Subject(
        f, examples, kwargs, surrogate=surrogate or derivative_of, order=order, dtypes=dtypes,
        seed=seed, name=name or "", rtol=rtol, atol=atol,
    )
    reasons = dict(skip) if isinstance(skip, Mapping) else dict.fromkeys(skip, "skipped")
    findings: list[Finding] = []
    seconds: dict[str, float] = {}
    for law in LAWS.values():
        if law.name in reasons:
            findings.append(replace(not_applicable(reasons[law.name]), law=law.name))
        else:
            start = time.perf_counter()
            findings += [replace(found, law=law.name) for found in findings_of(law, subject)]
            seconds[law.name] = time.perf_counter() - start
            if law.name == "call" and findings[-1].status != "passed":  # nothing can be asked
                why = findings[-1].reason or "nothing could be asked: see the law \"call\""
                reasons = {**dict.fromkeys(LAWS, why), **reasons}
    return Report(subject.name, findings, seconds)


def findings_of(law: Law, subject: Subject) -> Iterator[Finding]:
    """What a law finds; an error that it raises is a finding too."""
    try:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield from list(law.test(subject))
    except Exception as error:
        yield failed(
            f"`{subject.name}`, when its gradient is asked for", "an answer", first_of(error),
            "correct what raises", inputs=map(numpy_of, subject.point),
        )
