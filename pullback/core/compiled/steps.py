"""Rules as steps: the kernels that a rule calls, found by calling it once on stand-ins.

A rule such as `1 - out * out` needs no interpreter: the compiled core calls the two kernels. Only
the library's own rules are looked at, and only those that are one formula: arithmetic, and
operations whose kernel is a ufunc. A rule that does anything else is called as it is.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy

from . import compiled, provide

_UFUNCS: dict[str, Any] = {
    "add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "truediv": numpy.divide,
}
_ALIKE: dict[str, Any] = {"quotient": numpy.divide}
"""Kernels that are no ufuncs -> the ufunc that gives the same where it raises no flag."""


class _Formula(Exception):  # noqa: N818  # caught below, and seen nowhere else
    """A rule is more than a formula."""


class _Steps:
    """The steps of one rule: kernel, ufunc, and where the arguments are."""

    def __init__(self) -> None:
        self.made: list[tuple[Any, Any, Any, Any]] = []
        self.values: list[_Value] = []

    def step(self, kernel: Any, ufunc: Any, *args: Any) -> _Value:
        """One more; its arguments are values or numbers."""
        for a in args:
            if a.__class__ not in (_Value, int, float):
                raise _Formula
        if not isinstance(ufunc, numpy.ufunc) or ufunc.nin != len(args) or ufunc.nout != 1:
            raise _Formula
        self.made.append((kernel, ufunc, args[0], args[1] if len(args) > 1 else None))
        self.values.append(_Value(self))
        return self.values[-1]


class _Value:
    """Stands in for an array: arithmetic on it is noted."""

    __slots__ = ("steps",)
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def __init__(self, steps: _Steps) -> None:
        self.steps = steps

    def __neg__(self) -> _Value:
        return self.steps.step(numpy.negative, numpy.negative, self)

    def __bool__(self) -> bool:
        raise _Formula

    def __eq__(self, other: object) -> bool:
        raise _Formula


def _operator(name: str, ufunc: Any) -> None:
    def forward(self: _Value, other: Any) -> _Value:
        return self.steps.step(ufunc, ufunc, self, other)

    def reflected(self: _Value, other: Any) -> _Value:
        return self.steps.step(ufunc, ufunc, other, self)

    setattr(_Value, f"__{name}__", forward)
    setattr(_Value, f"__r{name}__", reflected)


for _name, _ufunc in _UFUNCS.items():
    _operator(_name, _ufunc)


def _stand_in(function: Any, steps: _Steps) -> Any:
    """What a rule calls in place of an operation."""
    kernel = function.op.kernels[numpy.ndarray]
    return lambda *args: steps.step(kernel, _ALIKE.get(function.op.name, kernel), *args)


def find_steps(op: Any, function: Any, index: int) -> None:
    """Tell an operation's compiled function the steps of an argument's rule, if it has some."""
    rule = op.rules.get(index)
    own = rule is not None and rule.function.__module__.startswith("pullback.ops.")
    if not own or not isinstance(rule.function, FunctionType) or rule.keywords:
        return
    code, names = rule.function.__code__, rule.function.__globals__
    if code.co_freevars or any(r < 0 for r in rule.reads):
        return
    steps = _Steps()
    known: dict[str, Any] = {"__builtins__": {}}
    for name in code.co_names:
        value = names.get(name)
        if isinstance(value, compiled.Operation) and hasattr(value, "op"):
            known[name] = _stand_in(value, steps)
        elif value.__class__ in (int, float):
            known[name] = value
        else:
            return
    given = [_Value(steps) for _ in range(len(rule.reads) + (not rule.partial))]
    try:
        result = FunctionType(code, known)(*given)
    except (_Formula, TypeError, AttributeError):
        return
    if steps.made and result.__class__ is _Value and not any(result is v for v in given):
        _tell(function, index, rule, given, steps, result)


def _tell(
    function: Any, index: int, rule: Any, given: list[Any], steps: _Steps, result: Any
) -> None:
    """Number the values: the cotangent, what is read, the constants, the results of steps."""
    values = given if not rule.partial else [None, *given]
    constants = [a for made in steps.made for a in made[2:] if a.__class__ in (int, float)]
    first = len(values) + len(constants)
    results = {id(v): n for n, v in enumerate(values)}
    rest = iter(range(len(values), first))
    table: list[tuple[Any, Any, int, int]] = []
    for n, (kernel, ufunc, *args) in enumerate(steps.made):
        at = [-1 if a is None else next(rest) if a.__class__ is not _Value else results[id(a)]
              for a in args]
        table.append((kernel, ufunc, at[0], at[1]))
        results[id(steps.values[n])] = first + n
    if steps.values[-1] is result:  # the last step, as of a formula that is used whole
        function.table(index, rule.partial, tuple(rule.reads), tuple(constants), tuple(table))


provide(find_steps=find_steps)
