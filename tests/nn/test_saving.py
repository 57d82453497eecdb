"""Saving: what is loaded equals what was saved, or saving refuses it; damaged files are errors."""

from __future__ import annotations

import contextlib
import enum
import importlib.util
import io
import json
import struct
import tempfile
from collections import Counter, OrderedDict, defaultdict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pullback as pb
import pullback.torch as torch
from pullback import nn
from pullback.errors import ArgumentError, ArgumentTypeError, FileFormatError, PullbackError
from pullback.nn.nesting import dumps, loads
from pullback.nn.saving import dtype_named
from tests.tier import examples

NUMBERS = [
    np.dtype(name) for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "complex64", "complex128")
]
if importlib.util.find_spec("ml_dtypes"):
    NUMBERS.append(dtype_named("bfloat16"))
DTYPES = [*NUMBERS, *map(np.dtype, (">f8", ">i2", "U3", "S2", "M8[ns]", "m8[s]", "M8[D]"))]

shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


@st.composite
def arrays(draw: Any, dtypes: Any = DTYPES) -> Any:
    """Arrays of any bytes, 0-d and empty ones, in any order of memory."""
    dtype, shape = draw(st.sampled_from(dtypes)), draw(shapes)
    if dtype.kind in "USbMm":
        made = draw(hnp.arrays(dtype, shape))
    else:
        count = int(np.prod(shape))
        entries = draw(st.lists(st.integers(-9, 9), min_size=count, max_size=count))
        made = np.array(entries, "int64").astype(dtype).reshape(shape)
        if dtype.kind in "fcV":
            made = made * np.array(0.5, dtype) + np.array(draw(st.sampled_from([0, np.inf])), dtype)
            made = made.astype(dtype).reshape(shape)
    return np.asfortranarray(made) if draw(st.booleans()) else made


tensors = st.builds(
    lambda array, learnt: nn.Parameter(array) if learnt and array.dtype.kind == "f"
    else pb.tensor(array), arrays(NUMBERS), st.booleans(),
)
scalars = st.builds(lambda array: array.ravel()[0] if array.size else np.int8(3), arrays())
texts = st.text(max_size=4) | st.builds(np.str_, st.text(max_size=3))
data = st.binary(max_size=4)
keys = st.recursive(
    texts | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False) | data
    | st.just(np.int64(4)) | st.just(1 << 4000),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=2), max_leaves=3,
)
leaves = (
    keys | st.floats() | st.complex_numbers(allow_nan=False) | arrays() | tensors | scalars
    | st.builds(bytearray, data) | st.builds(np.bytes_, data)
    | st.sampled_from([NUMBERS[0], NUMBERS[-1], np.dtype("M8[ns]")])
)


def containers(inner: Any) -> Any:
    return (
        st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
        | st.tuples(inner, inner) | st.builds(lambda x: [x, (x, x), {"x": x}], inner)
        | st.builds(OrderedDict, st.dictionaries(keys, inner, max_size=2))
        | st.builds(Counter, st.dictionaries(keys, st.integers(), max_size=2))
        | st.sets(keys, max_size=3)
    )


thorough = settings(max_examples=examples(250), deadline=None)
nested = st.recursive(leaves, containers, max_leaves=8)


def same(a: Any, b: Any, pairs: dict[int, int]) -> bool:
    """Whether two values agree in class, dtype, numbers, and in which parts are one object."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, dict, pb.Tensor, np.ndarray)):
        if id(a) in pairs:
            return pairs[id(a)] == id(b)
        pairs[id(a)] = id(b)
    if isinstance(a, pb.Tensor):
        return a.requires_grad == b.requires_grad and same_array(a.numpy(), b.numpy())
    if isinstance(a, (np.ndarray, np.generic)):
        return same_array(a, b)
    if isinstance(a, dict):
        return len(a) == len(b) and all(
            same(k, m, pairs) and same(v, w, pairs)
            for (k, v), (m, w) in zip(a.items(), b.items(), strict=True))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(v, w, pairs) for v, w in zip(a, b, strict=True))
    return bool(repr(a) == repr(b) if isinstance(a, (float, complex)) else a == b)


def same_array(a: Any, b: Any) -> bool:
    native = a.dtype if a.dtype.kind in "USV" else a.dtype.newbyteorder("=")
    return b.dtype == native and a.shape == b.shape and (
        np.ascontiguousarray(a, native).tobytes() == np.ascontiguousarray(b).tobytes())


@thorough
@given(nested)
def test_nested_values_are_loaded_as_they_were_saved(value: Any) -> None:
    assert same(value, loads(dumps(value)), {})


@thorough
@given(st.dictionaries(st.text(max_size=3), arrays(
    [d for d in NUMBERS if d != np.complex128]), max_size=3))
def test_named_arrays_are_loaded_as_they_were_saved(value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        nn.save(value, Path(folder) / "net.safetensors")
        found = nn.load(Path(folder) / "net.safetensors")
    assert found.keys() == value.keys()
    assert all(same_array(value[k], found[k].numpy()) for k in value)
    for tensor in found.values():
        tensor += tensor  # the memory is their own


def test_numpy_scalars_keep_their_values_and_dtypes() -> None:
    scalars = {str(d): np.array(i + 1, "int64").astype(d)[()] for i, d in enumerate(NUMBERS)}
    assert same(scalars, loads(dumps(scalars)), {})


def test_the_front_end_keeps_its_classes() -> None:
    w = torch.nn.Parameter(torch.ones(2))
    value = {"w": w, "again": [w, w.detach() * 2], "shape": w.shape, "dtype": torch.float16}
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    found = torch.load(file)
    assert found["again"][0] is found["w"]
    assert [type(v) for v in found.values()] == [type(v) for v in value.values()]
    assert (found["shape"], found["dtype"]) == (w.shape, torch.float16)
    assert found["again"][1].tolist() == [2.0, 2.0]


def test_a_list_that_contains_itself() -> None:
    value: list[Any] = [1]
    value += [value, {"outer": value}]
    found = loads(dumps(value))
    assert found[1] is found
    assert found[2]["outer"] is found


class Number(enum.IntEnum):
    ONE = 1


Point = namedtuple("Point", "x y")
around: tuple[list[Any]] = ([],)
around[0].append(around)
deep: list[Any] = []
for _ in range(5000):
    deep = [deep]


@pytest.mark.parametrize("value", [
    Number.ONE, Point(1, 2), defaultdict(list), np.ma.masked_array([1.0, 2.0], [True, False]),
    np.longdouble(1), np.array([None]), np.zeros(2, "f4,i4"), np.dtype("f4,i4"), len, range(3),
    nn.Linear(1, 1), around, deep, np.ones(1).view(type("Other", (np.ndarray,), {})),
], ids=lambda v: type(v).__name__)
def test_saving_refuses_other_classes(value: Any) -> None:
    with pytest.raises((ArgumentTypeError, ArgumentError)):
        dumps({"a": [value]})


@pytest.mark.parametrize("name", ["\ud800", "__metadata__"])
def test_names_that_the_format_cannot_hold(name: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="names"):
        nn.save({name: np.ones(2)}, tmp_path / "a")
    with pytest.raises(ArgumentTypeError, match="masked"):
        nn.save({"a": np.ma.masked_array([1.0], [True])}, tmp_path / "a")
    assert not list(tmp_path.iterdir())


# Damaged files -----------------------------------------------------------------------------------

SOUND = dumps({"step": 3, "w": [np.ones((2, 3)), (1.5, None)], "z": {1: 2j}})


@thorough
@given(st.integers(0, len(SOUND) - 1))
def test_truncated_files(length: int) -> None:
    for load in (loads, lambda content: torch.load(io.BytesIO(content))):
        with pytest.raises(FileFormatError):
            load(SOUND[:length])


@thorough
@given(st.integers(0, len(SOUND) - 1), st.integers(1, 255), st.binary(max_size=3))
def test_damaged_files(at: int, change: int, more: bytes) -> None:
    content = SOUND[:at] + bytes([SOUND[at] ^ change]) + more + SOUND[at + 1 :]
    with contextlib.suppress(FileFormatError):
        loads(content)


def described(tree: str) -> bytes:
    head = json.dumps({"__metadata__": {"pullback": tree}}).encode()
    return struct.pack("<Q", len(head)) + head


trees = st.recursive(
    st.none() | st.integers() | st.sampled_from(["0", "float32", "__class__", "O", "0x1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "tensor", "list", "tuple", "dict", "set", "counter", "dtype", "int", "same", "mark",
        "complex", "bytes", "memory", "shape", "size", "numpy_str"]), inner, max_size=2),
    max_leaves=6,
)


@thorough
@given(trees)
def test_damaged_descriptions(tree: Any) -> None:
    for load in (loads, lambda content: torch.load(io.BytesIO(content))):
        with contextlib.suppress(FileFormatError):
            load(described(json.dumps(tree)))


@pytest.mark.parametrize("tree", [
    '{"tensor": "zzz"}', '{"dict": [[1]]}', "{", '{"dtype": "__class__"}', "[" * 9000,
    '{"dict": [[{"list": []}, 1]]}', '{"same": 4}',
])
def test_wrong_descriptions_are_named(tree: str, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    path.write_bytes(described(tree))
    with pytest.raises(FileFormatError, match=r"a\.pt") as caught:
        torch.load(path)
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, ValueError)


def test_text_is_not_content() -> None:
    with pytest.raises(PullbackError, match="rb"):
        torch.load(io.StringIO("text"))
