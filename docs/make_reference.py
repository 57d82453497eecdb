"""The reference: a page a part of the library, made from the docstrings of its public names.

`pages()` has the text of each. The site puts them into `reference/` while it is built
(docs/site_hooks.py), so they are never out of date and stand in no repository.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import textwrap
import types
from pathlib import Path
from typing import Any, NamedTuple

from docstrings import markdown

import pullback
from pullback.errors import PullbackError


class Page(NamedTuple):
    """One page: its file, its title, and what stands on it."""

    file: str
    title: str
    module: str
    chapters: tuple[tuple[str, str], ...] = ()
    """(heading, modules that its names come from); none for every name of the module."""


FRONT = (
    Page("tensors", "Tensors and recording", "pullback", (
        ("Tensors", "core.tensor variable graphs.arguments"),
        ("Recording", "recording"), ("The installation", "configuration"),
    )),
    Page("asking", "Computing gradients", "pullback", (
        ("Tapes", "tape forward_accumulator"),
    )),
    Page("transformations", "Transformations, traced functions, solvers", "pullback", (
        ("Transformations", "transforms"), ("Traced functions", "graphs.function"),
        ("Control flow", "graphs.flow"), ("Solvers", "solvers"),
    )),
    Page("writing", "Writing gradients", "pullback", (
        ("Custom gradients", "custom.gradient custom.function custom.vjp custom.jvp"),
        ("Ready made", "custom.ready"), ("Overrides", "custom.override"),
        ("Operations", "ops.declaring"),
    )),
    Page("processes", "Checkpoints of a run", "pullback", (("Checkpoints", "distributed"),)),
    Page("tools", "Checking, debugging, inspection", "pullback", (
        ("Checking", "tools.check"), ("Explaining", "tools.explain"),
        ("Debugging", "tools.debug"), ("Drawing", "tools.draw"), ("Measuring", "tools.profile"),
        ("Training monitor", "tools.monitor"),
    )),
    Page("elementwise", "Operations: elementwise", "pullback", (
        ("Arithmetic", "ops.arithmetic"), ("Powers, exponentials, logarithms", "ops.exponential"),
        ("Trigonometric and hyperbolic functions", "ops.trigonometric"),
        ("Complex numbers", "ops.complex_"), ("Rounding and identity", "ops.rounding"),
        ("Comparisons, logic, bits", "ops.comparing"), ("Selecting", "ops.selecting"),
        ("Special functions", "ops.special_error"),
    )),
    Page("arrays", "Operations: arrays", "pullback", (
        ("Creation", "ops.creation"), ("Dtypes", "ops.dtypes"),
        ("Shaping", "ops.shaping ops.tiling ops.lengths"), ("Joining and padding", "ops.joining"),
        ("Indexing", "ops.indexing ops.taking"), ("Sorting, searching, sets", "ops.searching"),
        ("Reductions", "ops.statistics"), ("Cumulative sums and products", "ops.cumulative"),
        ("Norms", "ops.norms"), ("Products", "ops.products"),
    )),
    Page("neural", "Operations: neural networks", "pullback", (
        ("Activations", "ops.activations"), ("Losses", "ops.losses"),
        ("Normalisation", "ops.normalising"),
        ("Convolutions and pooling", "ops.convolution ops.pooling"),
        ("Dropout and embedding", "ops.dropout_"),
    )),
)

PARTS = (
    Page("autograd", "autograd: gradients in PyTorch style", "pullback.autograd"),
    Page("nn", "nn: layers", "pullback.nn"),
    Page("nn_functional", "nn.functional: layers as functions", "pullback.nn.functional"),
    Page("nn_init", "nn.init: initialisation", "pullback.nn.init"),
    Page("optim", "optim: optimisers", "pullback.optim"),
    Page("schedulers", "optim.schedulers: learning rate schedules", "pullback.optim.schedulers"),
    Page("solvers", "solvers: roots, fixed points, equations", "pullback.solvers"),
    Page("graphs", "graphs: graphs, sessions, control flow", "pullback.graphs"),
    Page("random", "random: seeded random numbers", "pullback.random"),
    Page("linalg", "linalg: linear algebra", "pullback.linalg"),
    Page("fft", "fft: Fourier transforms", "pullback.fft"),
    Page("special", "special: special functions", "pullback.special"),
    Page("errors", "errors: every exception", "pullback.errors"),
)

DOORS = (
    Page("door_tf", "pullback.tf: TensorFlow 2", "pullback.tf", (
        ("tf", "math linalg nn random autodiff debugging nest optimizers train signal"),
    )),
    Page("door_tf_v1", "pullback.tf.v1: TensorFlow 1", "pullback.tf.v1", (
        ("tf.v1", "train losses layers nn math linalg initializers random testing logging"),
    )),
    Page("door_torch", "pullback.torch: PyTorch", "pullback.torch", (
        ("torch", "linalg special fft"),
    )),
    Page("door_torch_autograd", "pullback.torch.autograd and func", "pullback.torch.autograd", (
        ("torch.autograd", "functional forward_ad graph"), ("torch.func", ""),
        ("torch.utils.checkpoint", ""),
    )),
    Page("door_torch_nn", "pullback.torch.nn, optim, data", "pullback.torch.nn", (
        ("torch.nn", "functional init utils"), ("torch.optim", ""),
        ("torch.utils.data", ""),
    )),
)
"""Pages of several packages: (package, packages in it). An object has one entry, the first."""

CONSTANTS = "arrays"
"""The page that has numbers and dtypes."""

WIDE = 80
"""Columns of a signature."""

VALUES = (int, float, str, tuple, frozenset, dict, list)
"""What has no docstring of its own."""

DOOR_LEVEL = 4
"""The headings of a door's names; the list beside a page goes down to level 3, to its packages."""


def public(module: str) -> list[str]:
    """The public names of a module that are no modules themselves, and no loans."""
    found = importlib.import_module(module)
    listed = getattr(found, "__all__", None)
    names = listed if listed is not None else [n for n in dir(found) if not n.startswith("_")]
    return sorted(
        n for n in names if n != "TYPE_CHECKING" and not inspect.ismodule(getattr(found, n))
        and (listed is not None or is_own(getattr(found, n), module))
    )


def is_own(value: Any, module: str) -> bool:
    """Whether a value is a module's, or of a file inside it, and not something it imports."""
    home = getattr(value, "__module__", None)
    return not isinstance(home, str) or f"{home}.".startswith(f"{module}.")


def is_constant(value: Any) -> bool:
    """Whether it is a number or a dtype."""
    return not callable(value) or type(value).__module__.startswith("numpy")


def chapter_of(value: Any) -> tuple[str, str]:
    """(page, heading) that a name of the front page stands under: those of its nearest module."""
    home = value.__module__.removeprefix("pullback.")
    while True:
        for page in FRONT:
            for heading, modules in page.chapters:
                if home in modules.split():
                    return page.file, heading
        if "." not in home:
            raise LookupError(f"docs/make_reference.py: no chapter of FRONT has `{value}`")
        home = home.rpartition(".")[0]


@functools.cache
def front() -> dict[str, dict[str, list[str]]]:
    """Page -> heading -> names of the front page."""
    found: dict[str, dict[str, list[str]]] = {p.file: {h: [] for h, _ in p.chapters} for p in FRONT}
    for name in public("pullback"):
        value = getattr(pullback, name)
        if not is_constant(value) and not (inspect.isclass(value) and is_error(value)):
            page, heading = chapter_of(value)
            found[page][heading].append(name)
    return found


def is_error(value: type) -> bool:
    """Whether a class is an exception, and so has its entry among the errors."""
    return issubclass(value, BaseException)


@functools.cache
def of_doors() -> dict[str, dict[str, list[str]]]:
    """Page -> package -> names, of what the doors have and no package before it has."""
    found: dict[str, dict[str, list[str]]] = {}
    seen: set[int] = set()
    for spec in DOORS:
        found[spec.file] = {}
        for top, inner in spec.chapters:
            for package in (f"pullback.{top}", *(f"pullback.{top}.{i}" for i in inner.split())):
                own = own_of_door(package)
                found[spec.file][package] = [n for n, v in own.items() if id(v) not in seen]
                seen |= {id(v) for v in own.values()}
    return found


def own_of_door(package: str) -> dict[str, Any]:
    """What a package of a door has of its door's own, without dtypes."""
    module, door = importlib.import_module(package), ".".join(package.split(".")[:2])
    values = {n: getattr(module, n) for n in public(package)}
    return {n: v for n, v in values.items() if not is_constant(v) and is_own(v, door)}


@functools.cache
def addresses() -> dict[str, str]:
    """Dotted name, as people type it -> page and anchor of its entry."""
    found = {
        f"{page.module}.{name}": f"{page.file}.md#{anchor(page.module, name)}"
        for page in PARTS for name in public(page.module)
    }
    for file, packages in of_doors().items():
        for package, names in packages.items():
            found |= {f"{package}.{n}": f"{file}.md#{anchor(package, n)}" for n in names}
    for file, chapters in front().items():
        for names in chapters.values():
            found |= {f"pullback.{n}": f"{file}.md#{anchor('pullback', n)}" for n in names}
    return found


def anchor(module: str, name: str) -> str:
    """The anchor of an entry, the same on every page."""
    return f"{module}.{name}".removeprefix("pullback.").replace(".", "-")


def link(text: str) -> str | None:
    """Where a name between backticks is explained: dotted names, and classes."""
    known = addresses()
    dotted = re.sub(r"^pb\.", "pullback.", text.partition("(")[0])
    if dotted.startswith("pullback."):
        return known.get(dotted)
    if re.fullmatch(r"[A-Z]\w+", text):
        return known.get(f"pullback.{text}") or known.get(f"pullback.errors.{text}")
    return None


def signature(name: str, value: Any) -> str:
    """How it is called, without annotations."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    none = inspect.Parameter.empty
    bare = [
        p.replace(annotation=none, default=none if p.default is none else Shown(p.default))
        for p in found.parameters.values() if p.name not in ("self", "cls")
    ]
    shown = str(found.replace(parameters=bare, return_annotation=found.empty))
    if len(name + shown) <= WIDE:
        return name + shown
    inner = textwrap.fill(shown[1:-1], WIDE - 4, break_long_words=False)
    return f"{name}(\n{textwrap.indent(inner, '    ')}\n)"


class Shown(NamedTuple):
    """A default value as a signature shows it."""

    value: Any

    def __repr__(self) -> str:
        """A name for what has one, nothing with an address in memory."""
        if inspect.isclass(self.value) or inspect.isroutine(self.value):
            return str(self.value.__name__)
        text = repr(self.value)
        return "…" if " at 0x" in text or text.startswith("<") else text


@functools.cache
def entered() -> set[int]:
    """The objects that have an entry of their own."""
    modules = {p.module: public(p.module) for p in PARTS} | {"pullback": public("pullback")}
    modules |= {k: v for packages in of_doors().values() for k, v in packages.items()}
    return {id(getattr(importlib.import_module(m), n)) for m, names in modules.items()
            for n in names}


def members(cls: type) -> list[tuple[str, Any]]:
    """(name, member) of what a class and its hidden bases document, without Python's own."""
    found: dict[str, Any] = {}
    elsewhere = {part for base in cls.__mro__[1:] if id(base) in entered() for part in base.__mro__}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("pullback") and base not in elsewhere:
            found |= {n: v for n, v in vars(base).items()
                      if not n.startswith("_") and inspect.getdoc(v)}
    base = next((b for b in cls.__mro__[1:] if id(b) in entered()), None)
    return sorted(
        (n, v) for n, v in found.items() if not isinstance(v, VALUES)
        and not (hasattr(base, n) and inspect.getdoc(getattr(base, n)) == inspect.getdoc(v))
    )


def values(cls: type) -> list[str]:
    """The lines for the numbers and strings that a class names."""
    found = [f"{cls.__name__}.{n} = {v!r}" for n, v in vars(cls).items()
             if not n.startswith("_") and isinstance(v, VALUES)]
    return ["```python", *found, "```", ""] if found else []


def member_entry(cls_name: str, name: str, value: Any) -> list[str]:
    """The lines for one method or property."""
    function = getattr(value, "__func__", value)
    if isinstance(value, property) or not callable(function):
        title = f"{cls_name}.{name}"
    else:
        title = signature(f"{cls_name}.{name}", function)
    return ["", "```python", title, "```", "", markdown(inspect.getdoc(value) or "", link)]


def entry(module: str, name: str, level: int = 3) -> list[str]:
    """The lines for one name."""
    value = getattr(importlib.import_module(module), name)
    prefix = "" if level == DOOR_LEVEL else "pb."
    short = f"{module}.{name}".replace("pullback.", prefix, 1)
    lines = [f"{'#' * level} {name} {{ #{anchor(module, name)} }}", ""]
    shown = value.__name__ if isinstance(value, types.FunctionType) else name
    if shown != name and getattr(importlib.import_module(module), shown, None) is value:
        return [*lines, f"Another name of [`{shown}`](#{anchor(module, shown)}).", ""]
    if inspect.isclass(value) and is_error(value):
        return [*lines, *error_entry(value)]
    lines += ["```python", signature(short, value), "```", ""]
    lines += bases(value) if inspect.isclass(value) else []
    lines += [markdown(inspect.getdoc(value) or "", link)]
    lines += values(value) if inspect.isclass(value) else []
    for member, found in members(value) if inspect.isclass(value) else []:
        lines += ['<div class="member" markdown>', *member_entry(name, member, found), "</div>", ""]
    return lines


def error_entry(cls: type) -> list[str]:
    """The lines for an exception: what it means, how to catch it, and where its cure is."""
    kinds = [b.__name__ for b in cls.__bases__ if b not in (Exception, PullbackError)]
    lines = [markdown(inspect.getdoc(cls) or "", link)]
    lines += [f"Also a {', a '.join(f'`{k}`' for k in kinds)}.", ""] if kinds else []
    if cls.__name__ in sections():
        place = f"../limits.md#{sections()[cls.__name__]}"
        lines += [f"[What raises it, and what to write]({place})", ""]
    return lines


@functools.cache
def sections() -> dict[str, str]:
    """Exception -> anchor of its section in limits.md."""
    text = (Path(__file__).parent / "limits.md").read_text(encoding="utf-8")
    found = re.findall(r"^#+ `(\w+)` \((\w+)\)$", text, re.MULTILINE)
    return {name: f"{name}-{family}".lower() for name, family in found}


def bases(cls: type) -> list[str]:
    """What a class is a kind of, among what has an entry."""
    kinds = [f"[`{b.__name__}`]({classes()[b]})" for b in cls.__bases__ if b in classes()]
    return [f"A kind of {', '.join(kinds)}.", ""] if kinds else []


@functools.cache
def classes() -> dict[type, str]:
    """Class -> page and anchor of its entry."""
    found: dict[type, str] = {}
    for name, address in addresses().items():
        module, _, last = name.rpartition(".")
        value = getattr(importlib.import_module(module), last)
        if inspect.isclass(value):
            found.setdefault(value, address)
    return found


def constants() -> list[str]:
    """A table of the numbers and dtypes of the front page."""
    names = [n for n in public("pullback") if is_constant(getattr(pullback, n))]
    rows = [f"| `pb.{n}` | `{getattr(pullback, n)!r}` |" for n in names]
    return ["## Constants and dtypes", "", "| name | value |", "|---|---|", *rows, ""]


def door_page(spec: Page) -> str:
    """The text of a page of a door."""
    lines = [f"# {spec.title}", "", "Behaviour: [Compatibility front ends](../doors.md). All "
             "names, including those of the library itself: [Names](../door_names.md).", ""]
    for package, names in of_doors()[spec.file].items():
        lines += [f"## {package.removeprefix('pullback.')}", ""]
        for name in names:
            lines += entry(package, name, DOOR_LEVEL)
    return "\n".join(lines)


def page(spec: Page) -> str:
    """The text of one page."""
    if spec in DOORS:
        return door_page(spec)
    lines = [f"# {spec.title}", ""]
    if spec.module == "pullback":
        lines += ["These are names of `pullback` itself: `import pullback as pb`.", ""]
        for heading, names in front()[spec.file].items():
            if names:
                lines += [f"## {heading}", ""]
                for name in names:
                    lines += entry("pullback", name)
        if spec.file == CONSTANTS:
            lines += constants()
    else:
        doc = inspect.getdoc(importlib.import_module(spec.module)) or ""
        lines += [f"`{spec.module}`", "", markdown(doc, link), ""]
        for name in public(spec.module):
            lines += entry(spec.module, name, 2)
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """File within `reference/` -> its text."""
    return {f"{spec.file}.md": page(spec) for spec in (*FRONT, *PARTS, *DOORS)}
