"""Random programs: writing them, running them on a library, comparing, and shortening them."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.fuzz.rules import rules_of
from tests.fuzz.steps import Writer

LEAVES = [(3,), (2, 3), (3, 3), (), (1, 3), (4,)]
LARGEST, ENTRIES = 1e3, 40


@dataclass
class Program:
    """Lines over the variables `x0`, `x1`, … and the shapes of these."""

    seed: int
    shapes: list[tuple[int, ...]]
    lines: list[str]

    def leaves(self) -> list[np.ndarray]:
        """The values of the leaves, the same each time."""
        rng = np.random.default_rng(self.seed)
        return [np.asarray(rng.uniform(-1.2, 1.2, s)) for s in self.shapes]

    def without(self, n: int) -> Program:
        """The program without one line."""
        return Program(self.seed, self.shapes, [*self.lines[:n], *self.lines[n + 1 :]])

    def __str__(self) -> str:
        leaves = [f"x{i}: {s}" for i, s in enumerate(self.shapes)]
        return "\n".join([f"# seed {self.seed}; leaves {', '.join(leaves)}", *self.lines])


@dataclass
class Outcome:
    """What a program computes: the variables and gradients by name, or an error."""

    values: dict[str, Any] = field(default_factory=dict)
    gradients: dict[str, Any] = field(default_factory=dict)
    error: BaseException | None = None
    at: str = ""


def written(seed: int, t: Any) -> Program:
    """A random program; lines that PyTorch refuses are left out."""
    random = Random(seed)
    program = Program(seed, random.choices(LEAVES, k=random.randint(1, 3)), [])
    space = space_of(t, program)
    writer = Writer(random)
    writer.shapes = {f"x{i}": s for i, s in enumerate(program.shapes)}
    for i in range(len(program.shapes)):
        if random.random() < 0.8:  # a leaf itself cannot be written to
            _try(program, writer, space, f"w{i} = x{i} * 1.0")
    for _ in range(random.randint(3, 16)):
        _try(program, writer, space, writer.line())
    return program


def _try(program: Program, writer: Writer, space: dict[str, Any], line: str) -> None:
    """Add a line unless it fails, or makes a variable that is of no use."""
    before = {name: space[name] for name in writer.shapes}
    if writes_what_it_reads(line, before):
        return
    try:
        with warnings.catch_warnings():  # of PyTorch, which warns once: a line is kept in any case
            warnings.simplefilter("ignore")
            exec(line, space)
    except Exception:
        space.update(before)
        return
    name = line.partition(" = ")[0]
    made = space.get(name)
    if name not in writer.shapes and name.isidentifier() and made is not None:
        if not is_usable(made) or is_of_no_order(line, made, before):
            del space[name]
            return
        writer.shapes[name] = tuple(made.shape)
    for other in writer.shapes:
        writer.shapes[other] = tuple(space[other].shape)
    program.lines.append(line)


NAMES = re.compile(r"\b[vwx]\d+\b")


def _storage(x: Any) -> Any:
    """The memory of a tensor of PyTorch; itself of any other."""
    return x.untyped_storage().data_ptr() if hasattr(x, "untyped_storage") else id(x)


WRITE = re.compile(r"_\(|\] [*+]?= | [*+]= ")


def writes_what_it_reads(line: str, space: dict[str, Any]) -> bool:
    """Whether a line writes to memory that it reads through another view.

    What PyTorch then computes depends on the order in which it happens to read and write.
    """
    line = line.partition(": ")[2] if line.startswith("with ") else line
    write, own = WRITE.search(line), NAMES.match(line)
    if write is None or own is None or line.startswith(f"{own.group()} = "):
        return False
    rest, memory = line[write.end() :], _storage(space[own.group()])
    read = [name for name in NAMES.findall(rest) if _storage(space[name]) == memory]
    return any(name != own.group() for name in read) or f"{own.group()}[" in rest


def is_of_no_order(line: str, made: Any, space: dict[str, Any]) -> bool:
    """Whether a result of several tensors has another order of memory than row-major.

    Where operands differ in it, libraries choose it differently, and with it what is a view later.
    """
    several = len(set(NAMES.findall(line.partition(" = ")[2]))) > 1
    return several and hasattr(made, "is_contiguous") and not made.is_contiguous()


def is_usable(made: Any) -> bool:
    """Whether a variable is a small tensor of finite real numbers."""
    if not hasattr(made, "dtype") or "float64" not in str(made.dtype):
        return False
    numbers = made.detach().numpy()
    return 0 < numbers.size <= ENTRIES and bool(np.all(np.abs(numbers) < LARGEST))


def space_of(t: Any, program: Program, leaves: Any = None) -> dict[str, Any]:
    """The names that a program starts with."""
    if leaves is None:
        leaves = [t.tensor(a, dtype=t.float64, requires_grad=True) for a in program.leaves()]
    return {"t": t, "lib": _rules(t), **{f"x{i}": x for i, x in enumerate(leaves)}}


_made: dict[str, SimpleNamespace] = {}


def _rules(t: Any) -> SimpleNamespace:
    if t.__name__ not in _made:
        _made[t.__name__] = rules_of(t)
    return _made[t.__name__]


def loss_of(t: Any, space: dict[str, Any]) -> Any:
    """The weighted sum of the last four variables, and of the leaves."""
    names = [n for n in space if n[0] in "vwx"]
    total = 0.0
    for k, name in enumerate(dict.fromkeys([*names[-4:], *[n for n in names if n[0] == "x"]])):
        v = space[name]
        weights = np.cos(np.arange(np.prod(v.shape)) + k).reshape(tuple(v.shape))
        total = total + (v * t.tensor(weights, dtype=t.float64)).sum()
    return total


def run(t: Any, program: Program, differentiate: Callable[..., Any]) -> Outcome:
    """Run a program on a library, and differentiate its loss in one way of `WAYS`."""
    outcome = Outcome()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            space = space_of(t, program)
            for line in program.lines:
                outcome.at = line
                exec(line, space)
            outcome.at = "backward"
            leaves = [space[f"x{i}"] for i in range(len(program.shapes))]
            found = differentiate(t, loss_of(t, space), leaves)
        except Exception as error:
            outcome.error = error
            return outcome
    for name, value in space.items():
        if name[0] in "vwx":
            outcome.values[name] = np.array(value.detach().numpy())
    for i, g in enumerate(found):
        outcome.gradients[f"x{i}"] = None if g is None else np.array(g.detach().clone().numpy())
    return outcome


def by_backward(t: Any, loss: Any, leaves: Any) -> list[Any]:
    """`backward`, and what it leaves in `grad`."""
    loss.backward()
    return [x.grad for x in leaves]


def by_grad(t: Any, loss: Any, leaves: Any) -> list[Any]:
    """`autograd.grad`; nothing is accumulated."""
    return list(t.autograd.grad(loss, leaves, allow_unused=True))


def twice(t: Any, loss: Any, leaves: Any) -> list[Any]:
    """The gradient of the squared length of the gradient; zeros where there is none."""
    first = t.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
    live = [(g * g).sum() for g in first if g is not None and g.requires_grad]
    if not live:
        return [x.detach() * 0 for x in leaves]
    second = t.autograd.grad(sum(live), leaves, allow_unused=True)
    return [x.detach() * 0 if g is None else g for x, g in zip(leaves, second, strict=True)]


WAYS: dict[str, Callable[..., Any]] = {"backward": by_backward, "grad": by_grad, "twice": twice}


def difference(ours: Outcome, theirs: Outcome) -> str:
    """How two outcomes differ: "" if not at all."""
    if theirs.error is not None:
        return "" if ours.error is not None else f"allowed: {theirs.at}: {theirs.error}"
    if ours.error is not None:
        return f"refused: {ours.at}: {type(ours.error).__name__}: {ours.error}"
    for kind in ("values", "gradients"):
        for name, wanted in getattr(theirs, kind).items():
            found = getattr(ours, kind).get(name)
            if not _alike(found, wanted):
                return f"different {kind} of {name}: {found} for {wanted}"
    return ""


def _alike(found: Any, wanted: Any) -> bool:
    if wanted is None or found is None:
        return wanted is None and found is None
    if found.shape != wanted.shape:
        return False
    scale = np.max(np.abs(wanted), initial=1.0)
    return bool(np.allclose(found, wanted, rtol=1e-8, atol=1e-10 * scale, equal_nan=True))


def kind_of(wrong: str) -> str:
    """The first word of a difference: "different", "refused" or "allowed"; "same" for none."""
    return wrong.partition(":")[0].split()[0] if wrong else "same"


def shortened(program: Program, differs: Callable[[Program], str]) -> Program:
    """The program without the lines that do not matter for a difference of the same kind."""
    kind = kind_of(differs(program))
    n = len(program.lines) - 1
    while n >= 0:
        shorter = program.without(n)
        if kind_of(differs(shorter)) == kind:
            program = shorter
            n = min(n, len(program.lines))
        n -= 1
    return program


def given_seed(default: int | None = None) -> int:
    """The seed of a run: `PULLBACK_FUZZ_SEED`, else the default, else a new one each time."""
    given = os.environ.get("PULLBACK_FUZZ_SEED", default)
    return int.from_bytes(os.urandom(4), "little") if given is None else int(given)
