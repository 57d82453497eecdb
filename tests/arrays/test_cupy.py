"""CuPy itself, where it is installed; with or without a GPU.

Without one, CuPy can be imported, and its functions and their parameters can be looked at. So what
the adapter and the stand-in take CuPy for is held against CuPy here. What is computed on a GPU is
in `test_gpu.py`.
"""

from __future__ import annotations

import ast
import inspect
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pullback as pb
from pullback.arrays import adapters
from pullback.core.op import OPS
from pullback.errors import ArgumentTypeError, MixedLibrariesError
from tests.arrays.stand_in.cupy import signatures
from tests.house.sources import PACKAGE, name_of, tree
from tests.laws.cases import ROWS

cupy = pytest.importorskip("cupy")
for needed in ("cupyx.scipy.special", "cupyx.scipy.linalg"):
    pytest.importorskip(needed, exc_type=ImportError)

REFUSED = {
    **dict.fromkeys(
        ("betainc_by_a", "betainc_by_b", "gammainc_by_a"),
        "CuPy has no derivative of the incomplete functions in their parameters",
    ),
}
"""Operations that CuPy has no function for -> why."""


def array(*shape: int) -> Any:
    """An array that nobody may read: its memory is nowhere."""
    kept = cupy.cuda.UnownedMemory(4096, 1 << 10, None, 0)
    return cupy.ndarray(shape, memptr=cupy.cuda.MemoryPointer(kept, 0))


@pytest.mark.parametrize("name", sorted({row.name for row in ROWS} & set(OPS)))
def test_every_operation_has_a_function(name: str) -> None:
    kernels = OPS[name].op.kernels
    if name in REFUSED:
        with pytest.raises(ArgumentTypeError, match="cupy"):
            kernels[cupy.ndarray]
    else:
        assert callable(kernels[cupy.ndarray])


def used(path: Path) -> Iterator[str]:
    """The names of CuPy's and of the compatibility layer's that a file uses."""
    for node in ast.walk(tree(path)):
        chain: list[str] = []
        part: ast.expr | ast.AST = node
        while isinstance(part, ast.Attribute):
            chain.insert(0, part.attr)
            part = part.value
        if chain and isinstance(part, ast.Name) and part.id in ("cupy", "cupyx", "compat"):
            yield ".".join((part.id, *chain))


@pytest.mark.parametrize("path", sorted((PACKAGE / "arrays").glob("cupy_*.py")), ids=name_of)
def test_what_the_adapter_calls_is_there(path: Path) -> None:
    import array_api_compat.cupy as compat
    import cupyx

    known = {"cupy": cupy, "cupyx": cupyx, "compat": compat}
    for dotted in used(path):
        first, *rest = dotted.split(".")
        found = known[first]
        for name in rest:
            assert hasattr(found, name), dotted
            found = getattr(found, name)


@pytest.mark.parametrize(
    ("of", "lines"),
    [("", signatures.FUNCTIONS), ("", signatures.MAKING), ("linalg", signatures.LINALG),
     ("fft", signatures.FFT)],
)
def test_the_stand_in_has_the_parameters_of_cupy(of: str, lines: list[str]) -> None:
    module = getattr(cupy, of) if of else cupy
    for line in lines:
        name, _, rest = line.partition("(")
        wanted = inspect.signature(eval(f"lambda {rest[:-1]}: 0"))
        theirs = inspect.signature(getattr(module, name))
        bare = [p.replace(annotation=p.empty) for p in theirs.parameters.values()]
        assert bare == list(wanted.parameters.values()), line


def test_the_stand_in_has_functions_that_cupy_has() -> None:
    from cupyx.scipy import special

    assert all(type(getattr(cupy, name)) is cupy.ufunc for name in signatures.UFUNCS)
    assert all(hasattr(special, name) for name in signatures.SPECIAL)


def test_memory_is_known_by_the_array_at_its_base() -> None:
    x, adapter = array(3, 4), adapters[cupy.ndarray]
    assert adapter.name == "cupy"
    for view in (x[0][1:], x.T, x.reshape(-1)[2:], cupy.broadcast_to(x, (2, 3, 4))):
        assert adapter.owner(view) is x
    assert adapter.owner(x) is x
    assert weakref.ref(x)() is x
    assert not isinstance(x.data.mem, cupy.cuda.memory.PooledMemory)


def test_a_view_can_be_sealed() -> None:
    x, adapter = array(3), adapters[cupy.ndarray]
    view = adapter.sealed(x)
    assert adapter.is_sealed(view)
    assert not adapter.is_sealed(x)
    assert not adapter.is_sealed(x.view())
    assert adapter.is_sealed(cupy.broadcast_to(x, (2, 3)))


def test_libraries_do_not_mix() -> None:
    x = pb.tensor(array(3))
    assert type(x.data) is cupy.ndarray
    assert x.device == cupy.cuda.Device(0)
    with pytest.raises(MixedLibrariesError, match=r"(?s)cupy.*numpy|numpy.*cupy"):
        x + pb.ones(3)
