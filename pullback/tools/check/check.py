"""`check`: run the laws over a function."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy

from ...errors import ArgumentError, ArgumentTypeError, LostGradientError, suggestion
from . import calling as calling
from . import numeric as numeric
from . import spaces as spaces

# isort: split
# Laws are checked in the order of these imports: numbers first, then what may explain them.
from . import hazards as hazards
from .finding import Finding, failed, not_applicable
from .laws import LAWS, Law
from .report import Report
from .steady import restoring
from .subject import Subject, numpy_of
from .words import first_of


def check(
    f: Callable[..., Any], *examples: Any, order: int = 2,
    surrogate: Callable[..., Any] | None = None,
    derivative_of: Callable[..., Any] | None = None, dtypes: Sequence[str] | None = None,
    seed: int = 0, skip: Mapping[str, str] | Sequence[str] = (), rtol: float | None = None,
    atol: float | None = None, name: str | None = None, kwargs: Mapping[str, Any] | None = None,
) -> Report:
    """Returns a `Report` on whether the gradients of a function are right at the given examples.

    f          an operation, a function with a custom gradient, a `Function`, or any function of
               tensors
    examples   its arguments: numbers, arrays, Tensors, pytrees; others are passed unchanged, and so
               are Python numbers for which a custom gradient returns None
    order      order=1 checks first derivatives only; order=2 also second derivatives
    surrogate, derivative_of   the function whose derivative the rule returns on purpose, if it is
               not f's own: for straight-through estimators, gradient reversal
    dtypes     names of the dtypes that f must accept; default: tries all real dtypes
    seed       of all random numbers
    skip       names of laws to leave out, or {name: reason}
    rtol, atol  allowed differences; the default depends on the dtype
    name, kwargs   the function's name in the report, and keyword arguments for it

    Raises `ArgumentTypeError` if f is not callable; `ArgumentError` for another order, or for an
    unknown law in `skip`.

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
    with restoring():
        subject.set_constants_aside()
        for law in LAWS.values():
            if law.name in reasons:
                findings.append(replace(not_applicable(reasons[law.name]), law=law.name))
            else:
                start = time.perf_counter()
                findings += [replace(found, law=law.name) for found in findings_of(law, subject)]
                seconds[law.name] = time.perf_counter() - start
                if law.name == "call" and findings[-1].status != "passed":  # nothing can be checked
                    why = findings[-1].reason or "the call failed: see the law \"call\""
                    reasons = {**dict.fromkeys(LAWS, why), **reasons}
    return Report(subject.name, findings, seconds)


def findings_of(law: Law, subject: Subject) -> Iterator[Finding]:
    """The findings of a law; an error raised by the law is a failure too."""
    try:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield from list(law.test(subject))
    except Exception as error:
        yield failed(
            f"`{subject.name}`, when its gradient is computed", "a result", first_of(error),
            error.fix if isinstance(error, LostGradientError) else "correct the code that raises",
            inputs=map(numpy_of, subject.point),
        )
