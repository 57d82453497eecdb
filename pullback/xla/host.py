"""Numbers that Python computes anew in each call of a compiled step: rates, counts, corrections.

While a step is traced, the options of its optimizers and their counts of steps are `Number`s.
Arithmetic on them is noted as lines of a small program. The program runs before each call, in
Python's double precision, and its results enter the compiled code as one vector. So a learning
rate or a bias correction may change from call to call, and nothing is traced again.

A number on which the code branches becomes a condition: where it comes out otherwise, the step is
traced again.
"""

from __future__ import annotations

import importlib
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy

from ..arrays import adapters, entrances
from ..arrays.jax_.adapter import ADAPTER


def _internal(module: str, name: str) -> Any:
    """A function of JAX's that is not public; None in a version that does not have it."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:  # pragma: no cover
        return None


_context = _internal("jax._src.core", "trace_ctx")
_convert = _internal("jax._src.lax.lax", "_convert_element_type")

PLAIN = (bool, int, float)
LENGTH = 256
"""So many numbers can enter one compiled step."""
UNKNOWN = object()
_NUMBER = re.compile(r"\bn\d+\b")


class Number:
    """A number of the host that may be another in each call; see the file's docstring.

    host   the program that computes it
    name   its variable there
    value  what it is in the call that is traced
    """

    __slots__ = ("host", "name", "value")
    __array_ufunc__ = None

    def __init__(self, host: Host, name: str, value: Any) -> None:
        self.host, self.name, self.value = host, name, value

    shape = ()
    ndim = 0

    @property
    def dtype(self) -> Any:
        """The dtype of a Python number."""
        return numpy.dtype(type(self.value))

    def __jax_array__(self) -> Any:
        return self.host.array(self)

    def __float__(self) -> float:
        return float(self.host.fixed(self, float))

    def __int__(self) -> int:
        return int(self.host.fixed(self, int))

    __index__ = __int__

    def __bool__(self) -> bool:
        return bool(self.host.fixed(self, bool))

    def __hash__(self) -> int:
        return hash(self.host.fixed(self, None))

    def __repr__(self) -> str:
        return repr(self.value)

    def __neg__(self) -> Number:
        return self.host.computed("-{}", operator.neg, self)

    def __abs__(self) -> Number:
        return self.host.computed("abs({})", abs, self)


def _binary(symbol: str, function: Callable[[Any, Any], Any], *, reverse: bool) -> Any:
    text = "{} " + symbol + " {}"

    def method(self: Number, other: Any) -> Any:
        if isinstance(other, numpy.generic):
            other = other.item()
        if other.__class__ not in PLAIN and not isinstance(other, Number):
            return NotImplemented
        operands = (other, self) if reverse else (self, other)
        return self.host.computed(text, function, *operands)

    return method


for _name, _symbol, _function in [
    ("add", "+", operator.add), ("sub", "-", operator.sub), ("mul", "*", operator.mul),
    ("truediv", "/", operator.truediv), ("floordiv", "//", operator.floordiv),
    ("mod", "%", operator.mod), ("pow", "**", operator.pow),
]:
    setattr(Number, f"__{_name}__", _binary(_symbol, _function, reverse=False))
    setattr(Number, f"__r{_name}__", _binary(_symbol, _function, reverse=True))
for _name, _symbol, _function in [
    ("lt", "<", operator.lt), ("le", "<=", operator.le), ("gt", ">", operator.gt),
    ("ge", ">=", operator.ge), ("eq", "==", operator.eq), ("ne", "!=", operator.ne),
]:
    setattr(Number, f"__{_name}__", _binary(_symbol, _function, reverse=False))


class Host:
    """The program of one compiled step.

    vector   the tracer of the numbers that enter the compiled code
    """

    def __init__(self, vector: Any) -> None:
        self.vector = vector
        self._own = getattr(vector, "_trace", UNKNOWN)
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self.known: dict[str, Number] = {}
        self.entering: list[Number] = []
        self.conditions: set[str] = set()
        self.checks: dict[str, None] = {}
        self.stage = 0  # of events that have changed what the numbers come from
        self._places: dict[str, int] = {}
        self._arrays: dict[str, Any] = {}

    # Making numbers ---------------------------------------------------------------------------

    def named(self, value: Any, kind: str = "k") -> str:
        """A name for an object in the program."""
        name = f"{kind}{len(self.names)}"
        self.names[name] = value
        return name

    def read(self, text: str, value: Any) -> Number:
        """A number that is read in each call, by an expression; once per stage."""
        return self._noted(f"{text}  # {self.stage}", value)

    def computed(self, text: str, function: Callable[..., Any], *operands: Any) -> Number:
        """A number computed from others."""
        values = [v.value if isinstance(v, Number) else v for v in operands]
        written = [v.name if isinstance(v, Number) else self._literal(v) for v in operands]
        return self._noted(text.format(*written), function(*values))

    def _literal(self, value: Any) -> str:
        finite = value.__class__ is not float or (value == value and abs(value) != float("inf"))
        return f"({value!r})" if finite else self.named(value)

    def _noted(self, text: str, value: Any) -> Number:
        known = self.known.get(text)
        if known is None:
            name = f"n{len(self.known)}"
            self.lines.append(f"{name} = {text}")
            known = self.known[text] = Number(self, name, value)
        return known

    # Using them -------------------------------------------------------------------------------

    def fixed(self, number: Number, kind: Any) -> Any:
        """The value of a number, or its truth, on which the traced code depends from now on."""
        value = number.value if kind is None else kind(number.value)
        wanted = "" if kind is None else kind.__name__
        line = f"if {wanted}({number.name}) != {self._literal(value)}: return failed()"
        if line not in self.conditions:
            self.conditions.add(line)
            self.lines.append(line)
        return value

    def array(self, number: Number) -> Any:
        """What stands for a number in the compiled code: an entry of the vector, as a scalar."""
        now = None if _context is None else _context.trace  # scans have traces of their own
        if now is self._own and number.name in self._arrays:
            return self._arrays[number.name]
        place = self._places.setdefault(number.name, len(self._places))
        if place == len(self.entering):
            self.entering.append(number)
        entry = self.vector[min(place, LENGTH - 1)]
        if _convert is not None:  # as JAX has a Python number: it takes the dtype of the other
            entry = _convert(entry, weak_type=True)
        if now is self._own:
            self._arrays[number.name] = entry
        return entry

    def event(self, function: Callable[[], None]) -> None:
        """Let each call run a function here, which changes what later numbers come from."""
        self.lines.append(f"{self.named(function, 'event')}()")
        self.stage += 1

    def put(self, holder: Any, key: Any, value: Any) -> None:
        """Let each call put a value, a number or an object, into a dictionary."""
        text = value.name if isinstance(value, Number) else self.named(value)
        self.lines.append(f"{self.named(holder)}[{self.named(key)}] = {text}")
        self.stage += 1

    def put_counts(self, holders: str, key: str, text: str) -> None:
        """Let each call put a number of steps into all dictionaries of a list."""
        self.lines.append(f"for kept in {holders}: kept[{key!r}] = {text}")

    def require(self, text: str) -> None:
        """Let the compiled code be used where an expression of names is true."""
        self.checks.setdefault(text)

    def program(self, results: list[Number], undo: Callable[[], Any]) -> Callable[[], Any]:
        """The program: returns the vector and further numbers, or None where it does not fit.

        undo   makes a function that takes back what events and `put` have changed
        """
        lines = _needed(self.lines, {n.name for n in (*self.entering, *results)})
        first = next((i for i, line in enumerate(lines) if _changes(line)), len(lines))
        late = any(line.startswith("if ") for line in lines[first:])
        if late:  # a condition may fail after something was changed
            lines.insert(first, "failed = undo()")
        head = [f"if not ({text}): return None" for text in self.checks]
        values = [", ".join(n.name for n in numbers) for numbers in (self.entering, results)]
        body = ["failed = nothing", *head, *lines, f"return [{values[0]}], [{values[1]}]"]
        text = "\n".join(["def program():", *(f"    {line}" for line in body)])
        names = {**self.names, "undo": undo, "nothing": _nothing}
        exec(compile(text, "<numbers of a compiled step>", "exec"), names)
        return names["program"]


def _needed(lines: list[str], wanted: set[str]) -> list[str]:
    """The lines without numbers that are not used."""
    kept = []
    for line in reversed(lines):
        name, equals, _ = line.partition(" = ")
        if equals and _NUMBER.fullmatch(name) and name not in wanted:
            continue
        kept.append(line)
        wanted.update(_NUMBER.findall(line))
    return kept[::-1]


def _nothing() -> None:
    return None


def _changes(line: str) -> bool:
    return line.startswith(("event", "for ")) or "] = " in line


def _enter(number: Number) -> Any:
    return number.host.array(number)


adapters[Number] = ADAPTER  # operations take a number as an array of JAX
entrances[Number] = _enter
