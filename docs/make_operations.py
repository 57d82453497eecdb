"""Print docs/operations.md, made from the registry of operations and the tables of the tests.

    PYTHONPATH=. python docs/make_operations.py > docs/operations.md

A test compares the page with what this prints. Numbers in the table of edges are computed here.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.op import ALL_ARRAYS, DTYPE, INDEX, OPS, SHAPE, SHAPES, Rule
from pullback.core.tensor import raw
from pullback.trees import leaves
from tests.arrays.laws import EAGER, LIBRARIES
from tests.laws.cases import ROWS
from tests.laws.test_batching import RAGGED

CHAPTERS = {
    "ops.arithmetic": "Arithmetic", "ops.exponential": "Powers, exponentials, logarithms",
    "ops.trigonometric": "Trigonometric and hyperbolic functions",
    "ops.complex_": "Complex numbers", "ops.rounding": "Rounding and identity",
    "ops.comparing": "Comparisons, logic, bits", "ops.selecting": "Selecting",
    "ops.statistics": "Reductions", "ops.cumulative": "Cumulative sums and products",
    "ops.norms": "Norms",
    "ops.products": "Products",
    "linalg": "Linear algebra, in `pullback.linalg`",
    "fft": "Fourier transforms, in `pullback.fft`",
    "special": "Special functions, in `pullback.special`",
    "ops.shaping": "Shaping", "ops.tiling": "Tiling and repeating", "ops.lengths": "Lengths",
    "ops.joining": "Joining and padding", "ops.indexing": "Indexing",
    "ops.taking": "Taking entries along an axis", "ops.searching": "Sorting, searching, sets",
    "ops.creation": "Creation", "ops.dtypes": "Dtypes", "ops.activations": "Activations",
    "ops.losses": "Losses", "ops.normalising": "Normalisation",
    "ops.convolution": "Convolutions", "ops.pooling": "Pooling",
    "ops.dropout_": "Dropout and embedding",
    "ops.scattering": "Devices", "ops.views": "Views", "custom.ready": "Ready-made gradients",
}

EDGES = [
    ("Kinks", [
        ("abs(x)", "x=0.0"), ("abs(z)", "z=0j"), ("sign(x)", "x=0.0"), ("round(x)", "x=0.5"),
        ("relu(x)", "x=0.0"), ("leaky_relu(x, 0.1)", "x=0.0"), ("elu(x, 2.0)", "x=0.0"),
        ("hard_tanh(x)", "x=1.0"), ("hard_sigmoid(x)", "x=3.0"), ("clip(x, 0.0, 1.0)", "x=1.0"),
        ("clip(x, 0.0, 1.0)", "x=1.5"), ("copysign(x, 1.0)", "x=0.0"),
        ("vector_norm(x)", "x=[0.0, 0.0]"), ("vector_norm(x, ord=1)", "x=[0.0, 2.0]"),
        ("hypot(x, y)", "x=0.0, y=0.0"), ("atan2(x, y)", "x=0.0, y=0.0"),
        ("std(x)", "x=[2.0, 2.0]"),
    ]),
    ("Ties", [
        ("maximum(x, y)", "x=1.0, y=1.0"), ("minimum(x, y)", "x=1.0, y=1.0"),
        ("maximum(x, y)", "x=nan, y=1.0"), ("max(x)", "x=[3.0, 1.0, 3.0]"),
        ("min(x)", "x=[1.0, 1.0, 1.0, 1.0]"), ("vector_norm(x, ord=inf)", "x=[3.0, 1.0, -3.0]"),
        ("max_pool2d(x, (1, 2))", "x=[[[[3.0, 3.0]]]]"), ("sort(x)[0]", "x=[2.0, 2.0, 2.0]"),
    ]),
    ("Powers and products with zeros", [
        ("x ** 0.0", "x=0.0"), ("x ** 1.0", "x=0.0"), ("x ** 2.0", "x=0.0"),
        ("x ** y", "x=0.0, y=0.0"), ("x ** y", "x=0.0, y=2.0"), ("x ** 0.5", "x=0.0"),
        ("prod(x)", "x=[0.0, 2.0, 3.0]"), ("prod(x)", "x=[0.0, 0.0, 3.0]"),
        ("cumulative_prod(x)[2]", "x=[0.0, 2.0, 3.0]"),
    ]),
    ("Where the derivative is infinite, and a zero cotangent", [
        ("sqrt(x)", "x=0.0"), ("where(x > 0, sqrt(x), 0.0)", "x=0.0"), ("log(x)", "x=0.0"),
        ("where(x > 0, log(x), 0.0)", "x=0.0"), ("1 / x", "x=0.0"),
        ("where(x == 0, 0.0, 1 / x)", "x=0.0"), ("asin(x)", "x=1.0"),
        ("where(x < 1, asin(x), 0.0)", "x=1.0"), ("where(x > 1, acosh(x), 0.0)", "x=1.0"),
    ]),
    ("Repeated eigenvalues, and singular values of 0", [
        ("linalg.eigvalsh(x)", "x=[[2.0, 0.0], [0.0, 2.0]]"),
        ("linalg.eigh(x)[1] ** 3", "x=[[2.0, 0.0], [0.0, 2.0]]"),
        ("linalg.eigvals(x)", "x=[[2.0, 0.0], [0.0, 2.0]]"),
        ("linalg.svd(x)[0] ** 3", "x=[[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]"),
        ("linalg.svdvals(x)", "x=[[2.0, 0.0], [0.0, 0.0]]"),
    ]),
    ("Infinite entries", [
        ("logsumexp(x)", "x=[-inf, 0.0]"), ("logsumexp(x)", "x=[-inf, -inf]"),
        ("softmax(x)[1]", "x=[-inf, 0.0, 0.0]"), ("logaddexp(x, y)", "x=-inf, y=-inf"),
        ("sigmoid(x)", "x=-inf"), ("softplus(x)", "x=inf"), ("log_sigmoid(x)", "x=-inf"),
    ]),
    ("Matrices", [
        ("linalg.det(x)", "x=[[0.0, 0.0], [0.0, 4.0]]"),
        ("linalg.pinv(x)", "x=[[0.0]]"), ("linalg.matrix_power(x, 0)", "x=[[0.0]]"),
        ("linalg.matrix_norm(x)", "x=[[0.0]]"), ("linalg.matrix_norm(x, ord='nuc')", "x=[[0.0]]"),
        ("linalg.matrix_norm(x, ord=1)", "x=[[1.0, 1.0]]"),
        ("linalg.matrix_norm(x, ord=2)", "x=[[2.0, 0.0], [0.0, 2.0]]"),
    ]),
]

HEAD = """\
# Operations

Every operation, by chapter. `docs/make_operations.py` generates this page from the registry, and a
test keeps it up to date.

Names and signatures are those of the Array API standard where it has the function. Operations on
raw arrays return raw arrays; operations on a Tensor return Tensors, and are recorded if a gradient
is needed. A name in the first column is a key for [overrides](overrides.md).

*Reads* lists, for each differentiable argument, what its rule reads besides the cotangent; a
recorded operation saves only that. A dash means that the rule reads nothing. *Forward* says how
forward mode handles the operation, *batch* how `vmap` does; the tests check both for every
operation, against finite differences and loops. *Kind*:

| kind | meaning |
|---|---|
| elementwise | each entry of the result depends on one entry of each argument |
| view | the result may share memory with the argument; see [inplace.md](inplace.md) |
| flat | the derivative is 0 wherever it exists; the input is saved only for overrides |
| no derivative | never recorded |
| function | a composition: it records the operations that it calls |

| forward | meaning |
|---|---|
| same | elementwise: the reverse-mode rule serves both modes |
| linear | the operation itself, applied to the tangent |
| rule | a pushforward of its own |
| transposed | the reverse-mode rule is transposed |

| batch | meaning |
|---|---|
| aligned | elementwise: the axes are aligned |
| reduction | the axes are counted behind the hidden one |
| rule | a batching rule of its own |
"""

COLUMNS = ("operation", "result", "reads", "forward", "batch", "kind")

EDGE_HEAD = """\
## Edges

At kinks and at the ends of domains the derivative is a choice. The script that generates this page
computes the gradients below. Two rules cover most of them: the gradient is never NaN where a number
is right; and a zero cotangent stays zero where the derivative is infinite, so that entries which a
`where` does not select contribute nothing.
"""

INNER_HEAD = """\
## Inner operations

The public functions above use these operations. They are not public functions themselves, but have
names: they appear in error messages and in `node.name()`, and can be overridden.
"""


def escaped(text: str) -> str:
    """Text that can stand in a cell of a table."""
    return text.replace("|", "\\|")


def table(*columns: str) -> str:
    """The head of a table."""
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"


def signature_of(function: Callable[..., Any]) -> str:
    """A signature without types."""
    found = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def summary_of(function: Any) -> str:
    """The first line of a docstring."""
    return escaped((inspect.getdoc(function) or "").partition("\n")[0])


def reads_of(op: Any) -> str:
    """What each rule reads."""
    return "; ".join(f"{op.arguments[i]}: {_read(op, rule)}" for i, rule in op.rules.items())


def _read(op: Any, rule: Rule) -> str:
    special = {
        SHAPE: "shape", DTYPE: "dtype", SHAPES: "shapes", INDEX: "its place",
        ALL_ARRAYS: "the others",
    }
    names = (*op.arguments, *op.outputs)
    return ", ".join(special[r] if r < 0 else names[r] for r in rule.reads) or "–"


def kind_of(op: Any) -> str:
    """What sort of operation it is."""
    marks = {"elementwise": op.elementwise, "view": op.view, "flat": op.flat,
             "no derivative": not op.differentiable}
    return ", ".join(name for name, holds in marks.items() if holds)


def forward_of(op: Any) -> str:
    """How a tangent goes through an operation."""
    if not op.differentiable:
        return ""
    if op.together is not None:
        return "rule"
    ways = {
        "rule" if i in op.pushes else "linear" if op.linear else
        "same" if op.elementwise else "transposed"
        for i in op.rules
    }
    return ", ".join(sorted(ways))


def batch_of(op: Any) -> str:
    """How a hidden axis goes through an operation; the two that hide and show axes see it."""
    if op.batch is not None or op.name in ("hide_axis", "show_axis"):
        return "rule"
    if op.shape == "reduced":
        return "reduction"
    return "aligned" if op.elementwise else "in a loop"


def row(name: str, function: Any) -> str:
    """One operation's row."""
    op = getattr(function, "op", None)
    shown = f"`{escaped(name + signature_of(function))}`"
    if op is None:
        return f"| {shown} | {summary_of(function)} | | | | function |"
    if op.name != name:
        shown += f" (recorded as `{op.name}`)"
    cells = (shown, summary_of(function), reads_of(op), forward_of(op), batch_of(op), kind_of(op))
    return f"| {' | '.join(cells)} |"


def chapters() -> Iterator[str]:
    """A table for every chapter."""
    for module_name, title in CHAPTERS.items():
        module = importlib.import_module(f"pullback.{module_name}")
        room = "." not in module_name  # what the front page has, too, stands in its own chapter
        found = {n: getattr(module, n) for n in module.__all__}
        functions = {
            n: f for n, f in found.items()
            if inspect.isroutine(f) and inspect.isroutine(getattr(pb, n, None)) != room
        }
        if functions:
            yield f"\n## {title}\n"
            yield table(*COLUMNS)
            yield from (row(name, f) for name, f in sorted(functions.items()))


def inner() -> Iterator[str]:
    """The operations that no public function bears the name of."""
    yield f"\n{INNER_HEAD}"
    yield table(*COLUMNS)
    pages = [pb, *(importlib.import_module(f"pullback.{n}") for n in CHAPTERS if "." not in n)]
    for name, function in sorted(OPS.items()):
        # Operations made elsewhere in the running program, as by a test, are not the library's.
        if function.__module__.startswith("pullback.") and not any(
            hasattr(page, name) for page in pages
        ):
            yield row(name, function)


# Array libraries ----------------------------------------------------------------------------

LEFT_OUT: dict[str, dict[str, str]] = {
    "NumPy": {}, "PyTorch": LIBRARIES["torch"].without, "JAX": EAGER,
    "CuPy": LIBRARIES["cupy"].without,
}
"""Library -> id of a row of the tests that is left out there -> why."""

LIBRARIES_HEAD = """\
## Array libraries

Every operation on every array library, by rule: **v** reverse mode (VJP), **j** forward mode (JVP),
**b** batching (`vmap`). Rules are written once for all libraries. A mark means that the tests run
the operation on the library's arrays and compare the result with NumPy's: PyTorch on the CPU, JAX
inside `jax.jit`, CuPy on a GPU or, without one, on a substitute made of NumPy. A number refers to
the reason for a gap.
"""


RAGGED_TAIL = """\
Public functions that are not listed are compositions of these. For some ({}) the number of entries
in the result depends on values, so they work neither in a batch nor under `jax.jit`."""


def rules_of(op: Any) -> str:
    """The marks of the rules that an operation has."""
    there = {
        "v": op.differentiable and bool(op.rules), "j": bool(forward_of(op)),
        "b": batch_of(op) != "in a loop",
    }
    return " ".join(mark if holds else "–" for mark, holds in there.items())


def rows_of(name: str) -> list[Any]:
    """The rows of an operation in the table of the tests."""
    return [row for row in ROWS if row.name.rpartition(".")[2] == name]


def cell(op: Any, left_out: dict[str, str], notes: dict[str, list[str]]) -> str:
    """What a library has of an operation's rules; a number points to the reason for a gap.

    notes  reason -> the rows that are left out for it; added to
    """
    ids = [row.id for row in rows_of(op.name)]
    gaps = [i for i in ids if i in left_out]
    numbers = []
    for i in gaps:
        notes.setdefault(left_out[i], []).append(i)
        numbers.append(f" ({list(notes).index(left_out[i]) + 1})")
    marks = rules_of(op) if len(gaps) < len(ids) else "–"
    return marks + "".join(dict.fromkeys(numbers))


def why_no_derivative(op: Any) -> str:
    """Why an operation has none, found by running it; nothing for one that has."""
    if op.differentiable:
        return ""
    results = [raw(r) for row in rows_of(op.name) for r in leaves(row.call(*row.draw()))]
    if all(np.asarray(r).dtype.kind in "biu" for r in results):
        return "gives integers or booleans"
    return "takes a shape and a dtype, no values"


def libraries() -> Iterator[str]:
    """Operations by array library by rule."""
    yield f"\n{LIBRARIES_HEAD}"
    yield table("operation", *LEFT_OUT, "why no derivative")
    notes: dict[str, list[str]] = {}
    for name, function in sorted(OPS.items()):
        if function.__module__.startswith("pullback."):
            op = function.op  # type: ignore[attr-defined]
            cells = [cell(op, left_out, notes) for left_out in LEFT_OUT.values()]
            yield f"| `{name}` | {' | '.join(cells)} | {why_no_derivative(op)} |"
    yield ""
    for i, (why, rows) in enumerate(notes.items(), 1):
        yield f"{i}. {why}. Test rows: {', '.join(f'`{escaped(r)}`' for r in rows)}."
    ragged = ", ".join(f"`{name}`" for name in sorted(RAGGED & set(dir(pb))))
    yield f"\n{RAGGED_TAIL.format(ragged)}"


def gradient_at(expression: str, values: str) -> str:
    """The gradients of an expression's sum, as the table shows them."""
    given = eval(f"dict({values})", {"inf": np.inf, "nan": np.nan})
    tensors = {k: pb.tensor(v, requires_grad=True) for k, v in given.items()}
    names = {name: getattr(pb, name) for name in dir(pb) if not name.startswith("_")}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        y = pb.sum(pb.real(eval(expression, {**names, **tensors})))
        found = pb.autograd.grad(y, list(tensors.values()))
    return ", ".join(_shown(g.numpy()) for g in found)


def _shown(g: np.ndarray) -> str:
    if g.ndim:
        return f"[{', '.join(_shown(part) for part in g.reshape(-1))}]"
    number = complex(g) + 0.0  # no -0
    return f"{number.real:g}" if not number.imag else f"{number:g}"


def edges() -> Iterator[str]:
    """The table of edges, a part at a time."""
    yield f"\n{EDGE_HEAD}"
    yield table("expression", "at", "gradient")
    for title, cases in EDGES:
        yield f"| **{title}** | | |"
        for expression, values in cases:
            gradient = gradient_at(expression, values)
            yield f"| `{escaped(expression)}` | {values.replace('=', ' = ')} | {gradient} |"


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD.rstrip("\n"), *chapters(), *inner(), *libraries(), *edges()]) + "\n"


if __name__ == "__main__":
    print(page(), end="")
