"""Each operation with a view-or-copy meaning: writes in both directions, against PyTorch.

A write to the result may reach the input, and a write to the input the result: values and gradients
are PyTorch's, or the write is refused, with the reason in `REFUSED`.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest

import pullback as pb
import pullback.torch as door
from tests.loops import none_of
from tests.torch.view_or_copy import COMPLEX, PAIRS, ROWS, SCALARS

START = np.random.default_rng(5).normal(size=(4, 4))

REFUSED = {
    "unfold with overlap": "an entry stands in several windows: which write counts is undefined",
}
"""Writes to a result that PyTorch runs and the door refuses."""


def several(found):
    return list(found) if isinstance(found, (tuple, list)) else [found]


def values(x):
    x = x.detach()
    return np.array(x.resolve_conj().numpy())


def loss(torch, tensors):
    total = 0
    for i, x in enumerate(tensors):
        if x.requires_grad:
            parts = torch.view_as_real(x.clone().resolve_conj()) if x.is_complex() else x
            weights = np.random.default_rng(i).normal(size=tuple(parts.shape))
            total = total + (parts * parts * torch.tensor(weights)).sum()
    return total


def outcome(torch, function, kind, written, recorded):
    """What input and results hold after the write, and the gradient of a loss of all of them."""
    start = START + 1j * START.T[::-1] if kind == "complex" else START
    x = torch.tensor(start.copy(), requires_grad=recorded)
    y = x * 1.0
    y = y.sum() if kind == "scalar" else y.t() if kind == "turned" else y
    results = several(function(torch, y))
    target = results[-1] if written == "result" else y
    target.mul_(3)
    target.add_(1)
    found = [values(t) for t in (y, *results)]
    if recorded:
        loss(torch, [y, *results]).backward()
        found.append(values(x.grad))
    return found


def fault(name, function, kind, written, recorded):
    """What is wrong with one row, if anything."""
    import torch

    try:
        theirs = outcome(torch, function, kind, written, recorded)
    except RuntimeError:
        return None  # PyTorch refuses it
    try:
        ours = outcome(door, function, kind, written, recorded)
    except RuntimeError as error:
        return None if name in REFUSED and written == "result" else f"refused: {error}"
    for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one.shape != other.shape or not np.allclose(one, other):
            return f"{'gradient' if recorded and i == len(ours) - 1 else f'tensor {i}'} differs"
    return None


TABLES = {
    "rows": ROWS | PAIRS, "turned": ROWS, "scalar": SCALARS, "complex": COMPLEX,
}


@pytest.mark.needs("torch")
@pytest.mark.parametrize("written", ["result", "input"])
@pytest.mark.parametrize("kind", TABLES)
def test_a_write_reaches_what_it_reaches_in_pytorch(kind, written):
    none_of(
        [(name, recorded) for name in TABLES[kind] for recorded in (False, True)],
        lambda case: fault(case[0], TABLES[kind][case[0]], kind, written, case[1]),
        lambda case: f"{case[0]}{', recorded' * case[1]}",
    )


def test_the_table_has_every_view_or_copy_of_the_issue():
    assert len({name for table in TABLES.values() for name in table}) >= 119


# Order of axes --------------------------------------------------------------------------------

INDICES = {
    "integer, slice, list": (0, slice(None), [0, 1]),
    "integer, ellipsis, list": (0, ..., [0, 1, 2]),
    "list, slice, integer": ([0, 1], slice(None), 1),
    "slice, integer, list": (slice(None), 1, [0, 2]),
    "integer, new axis, list": (0, None, [0, 1]),
    "integer, slice, mask": (0, slice(None), np.array([True, False, True, True])),
    "integer, list, list": (1, [0, 1], [1, 2]),
    "list, integer, list": ([0, 1], 1, [1, 2]),
    "integer, slice, nested list": (0, slice(1, 3), [[0, 1], [2, 3]]),
    "negative integer": (-1, slice(None), [-1, 0]),
}


def taken(torch, index):
    return tuple([torch.tensor(p) if isinstance(p, np.ndarray) else p for p in index])


@pytest.mark.parametrize("name", INDICES)
def test_integers_beside_lists_leave_the_axes_where_the_lists_are(torch, name, rng):
    index, start = taken(torch, INDICES[name]), rng.normal(size=(2, 3, 4))
    first = [p for p in INDICES[name] if not isinstance(p, (list, np.ndarray))]
    x = torch.tensor(start, requires_grad=True)
    found = x[index]
    weights = rng.normal(size=tuple(found.shape))
    (found * torch.tensor(weights)).sum().backward()
    written = torch.zeros(2, 3, 4, dtype=torch.float64)
    written[index] = torch.tensor(weights)
    assert first
    np.testing.assert_allclose(x.grad.numpy(), written.numpy())
    np.testing.assert_allclose(written[index].numpy(), weights)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", INDICES)
def test_shapes_and_values_of_indices_are_pytorchs(name, rng):
    import torch

    start = rng.normal(size=(2, 3, 4))
    ours, theirs = (t.tensor(start)[taken(t, INDICES[name])] for t in (door, torch))
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


# Computed tensors without axes ----------------------------------------------------------------

SUM_VIEWS = {
    "expand_dims": lambda s: pb.expand_dims(s, axis=0),
    "reshape": lambda s: pb.reshape(s, (1, 1)),
    "None": lambda s: s[None],
    "ellipsis": lambda s: s[...],
    "empty index": lambda s: s[()],
    "squeeze": lambda s: pb.squeeze(s, axis=()),
    "permute_dims": lambda s: pb.permute_dims(s, ()),
}


@pytest.mark.parametrize("name", SUM_VIEWS)
def test_a_computed_scalar_is_written_through_its_views(name):
    def program(x):
        s = pb.sum(x * x)
        t = SUM_VIEWS[name](s)
        t *= 2.0
        s += pb.sum(x)
        return s * s + pb.sum(t)

    def plain(x):
        s = pb.sum(x * x) * 2.0 + pb.sum(x)
        return s * s + s

    x = pb.tensor([0.7, -0.4])
    for f in (program, pb.function(program)):
        np.testing.assert_allclose(f(x).item(), plain(x).item())
        np.testing.assert_allclose(pb.grad(f)(x).numpy(), pb.grad(plain)(x).numpy())
        np.testing.assert_allclose(pb.hessian(f)(x).numpy(), pb.hessian(plain)(x).numpy())


@pytest.mark.parametrize("library", ["numpy", pytest.param("torch", marks=pytest.mark.needs(
    "torch")), pytest.param("jax.numpy", marks=pytest.mark.needs("jax"))])
@pytest.mark.parametrize("part", ["real", "imag"])
def test_parts_of_complex_tensors_are_views(library, part, rng):
    """Eager and traced, in every library: a write to a part is a write to the number."""
    library = pytest.importorskip(library)
    start = rng.normal(size=3) + 1j * rng.normal(size=3)
    weights = 1.7

    def program(x):
        z = x * (2 + 1j)
        p = getattr(pb, part)(z)
        p *= weights
        z *= 1j
        return pb.sum(pb.real(z) ** 2) + 3 * pb.sum(pb.imag(z)) + pb.sum(p)

    def plain(x):
        z = x * (2 + 1j)
        re, im = pb.real(z), pb.imag(z)
        re, im = (re * weights, im) if part == "real" else (re, im * weights)
        re, im = -im, re
        return pb.sum(re**2) + 3 * pb.sum(im) + pb.sum(re if part == "real" else im)

    x = pb.tensor(library.asarray(start))
    for f in (program, pb.function(program)):
        np.testing.assert_allclose(float(f(x)), float(plain(x)), rtol=1e-5)
        found, right = (np.asarray(pb.grad(g)(x).data) for g in (f, plain))
        np.testing.assert_allclose(found, right, rtol=1e-5)


# What traced code fills -----------------------------------------------------------------------


def filled(w):
    rows = pb.zeros((3, 2))
    head = rows[:2]
    for i in range(3):
        rows[i] = w * (i + 1)
    head *= w
    return pb.sum(rows**3)


def test_a_buffer_is_filled_in_traced_code_as_outside():
    w = pb.tensor([0.7, -1.3])
    for law in (lambda f: f, pb.grad, pb.hessian):
        right = law(filled)(w).numpy()
        np.testing.assert_allclose(law(pb.function(filled))(w).numpy(), right)
        np.testing.assert_allclose(pb.function(law(filled))(w).numpy(), right)


def test_a_place_known_when_the_graph_runs():
    @pb.function
    def put(i, v):
        x = pb.zeros(3)
        x[i] = v
        return x

    assert put(pb.tensor(1), pb.tensor(2.0)).tolist() == [0.0, 2.0, 0.0]
    assert put(pb.tensor(2), pb.tensor(5.0)).tolist() == [0.0, 0.0, 5.0]


# What PyTorch runs ----------------------------------------------------------------------------

RUNS = {
    **{name: lambda torch, x, name=name: getattr(torch.nn.functional, name)(x) for name in (
        "elu", "celu", "selu", "gelu", "softplus", "logsigmoid", "hardtanh", "relu6",
        "hardsigmoid", "hardswish", "softsign", "silu", "mish", "softshrink", "hardshrink",
    )},
    "layer_norm": lambda torch, x: torch.nn.functional.layer_norm(x, (4,)),
    "batch_norm": lambda torch, x: torch.nn.functional.batch_norm(x, None, None, training=True),
    "erfinv": lambda torch, x: (x * 0.2).erfinv(),
    "round": lambda torch, x: x.round(),
    "floor": lambda torch, x: x.floor(),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_result_is_written_in_place(torch, name, rng):
    start, weights = rng.normal(size=(3, 4)), torch.tensor(rng.normal(size=(3, 4)))
    slopes = []
    for how in (lambda y: y.mul_(2.0).relu_(), lambda y: (y * 2.0).relu()):
        x = torch.tensor(start, requires_grad=True)
        (how(RUNS[name](torch, x * 1.0)) * weights).sum().backward()
        slopes.append(x.grad.numpy())
    np.testing.assert_allclose(*slopes)


@pytest.mark.parametrize("name", ["round", "floor", "ceil", "trunc"])
def test_a_step_function_lets_its_input_be_written(torch, name):
    x = torch.tensor([0.6, 1.4], requires_grad=True)
    y = x * 1.0
    q = getattr(y, name)()
    y.add_(1.0)
    (q * 5 + y).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_an_override_that_reads_a_written_input_says_so():
    y = pb.tensor([0.6, 1.4], requires_grad=True) * 1.0
    q = pb.round(y)
    y += 1.0
    with pytest.raises(pb.errors.InplaceError, match="round"):
        pb.sum(q).backward(overrides={"round": lambda g, x: g * x})


def test_second_order_through_vmap_of_grad(torch):
    x = torch.tensor([0.5, 0.7], dtype=torch.float64, requires_grad=True)
    z = torch.func.vmap(torch.func.grad(lambda t: (t.sin() * t).sum()))(x.expand(2, 2))
    (g,) = torch.autograd.grad(z.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.tolist(), [-3.754135793515591, -4.93608518562443])


def test_tensors_take_attributes(torch):
    x = torch.ones(2, requires_grad=True)
    x.tag = "weights"
    assert x.tag == "weights"
    assert not hasattr(x * 1, "tag")
    assert copy.deepcopy(x).tag == "weights"
