"""Imports run one way, downwards, those inside functions too."""

from __future__ import annotations

from pathlib import Path

from tests.house.sources import PACKAGE, ROOT, imports, module_of, name_of, python_files
from tests.house.sources import under_type_checking as typing_lines
from tests.loops import none_of

LAYERS = [
    ["errors", "_files", "_loading", "_places", "_user_code", "_parameters"],
    ["arrays", "_registry", "_aliases"],
    ["core"],
    ["kinds", "passes", "captures", "departures", "linearity", "lost_paths", "rng_replay",
     "transposition"],
    ["ops", "trees", "random"],
    ["composed"],
    ["protocols"],
    ["transforms"],
    ["tape", "forward_accumulator", "variable", "custom", "autograd", "recording", "linalg", "fft",
     "inspection", "special", "configuration"],
    ["graphs"],
    ["nn", "optim", "solvers"],
    ["xla"],
    ["tools", "distributed"],
    ["tf", "torch"],
    [""],  # the front page
    ["testing", "cli", "__main__"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

ALLOWED: dict[tuple[str, str], str] = {
    ("pullback/protocols/torch_calls.py", "pullback.torch.rules"):
        "PyTorch's functions have one table, the front end's; loaded at the first call of one",
    ("pullback/tape.py", "pullback.tools.explain.explain"):
        "`tape.explain` is a tool, which looks at everything; loaded when it is called",
    ("pullback/graphs/graph.py", "pullback.tools.draw.of_graph"):
        "`Graph.draw` is a tool, as `tape.explain` is",
}
"""(file, module) -> why this one import upwards must be."""

HEAVY = {"torch", "jax", "tensorflow", "scipy", "optree", "matplotlib", "sklearn", "rich",
         "safetensors", "orbax", "array_api_compat", "cupy", "cupyx", "hypothesis", "tensorboardX"}
"""Loaded inside the functions that need them."""

OF_A_LIBRARY = (
    "pullback/arrays/torch_/", "pullback/arrays/jax_/", "pullback/arrays/cupy_/", "pullback/xla/",
)
"""Files that are loaded with the first array of their library, which has been imported then."""

FILES = python_files("pullback")


def rank_of(module: str) -> int:
    return RANK[module.split(".")[1] if "." in module else ""]


def test_every_part_has_a_layer() -> None:
    parts = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert parts - {"__init__", "__main__"} <= set(RANK)


def upwards(path: Path) -> list[tuple[str, int]]:
    """What a file imports from the layers above its own."""
    own = rank_of(module_of(path))
    return [
        (module, line)
        for module, _, line in imports(path)
        if module.split(".")[0] == "pullback" and rank_of(module) > own
        and (name_of(path), module) not in ALLOWED
    ]


def test_imports_run_downwards() -> None:
    none_of(FILES, upwards, name_of)


def heavy(path: Path) -> list[tuple[str, int]]:
    """The large libraries that a file loads when it is imported."""
    skipped = typing_lines(path)
    own = name_of(path).startswith(OF_A_LIBRARY)
    kept = HEAVY - {"torch", "jax", "cupy", "cupyx", "array_api_compat", "optree"} if own else HEAVY
    return [
        (module, line)
        for module, top, line in imports(path)
        if top and line not in skipped and module.split(".")[0] in kept
    ]


def test_heavy_libraries_are_loaded_on_use() -> None:
    none_of(FILES, heavy, name_of)


def test_an_exception_is_used() -> None:
    for file, module in ALLOWED:
        assert module in {m for m, _, _ in imports(ROOT / file)}, f"{file} no longer needs {module}"


def test_every_folder_says_what_is_inside_and_what_it_may_import() -> None:
    folders = [p.parent for p in PACKAGE.glob("*/__init__.py")]
    assert len(folders) > 10
    for folder in folders:
        text = (folder / "README.md").read_text(encoding="utf-8")
        assert "mport" in text, folder
