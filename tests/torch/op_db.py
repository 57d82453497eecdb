"""PyTorch's own database of operations, asked of the door: samples, answers, discrepancies.

Each operation is called on both sides with the same arrays; results, dtypes, gradients with random
cotangents, and gradients of these, are compared.
"""

from __future__ import annotations

import types
from typing import Any, NamedTuple

import numpy as np

import pullback.torch as ours
from pullback.errors import PullbackError


class NotComparedError(Exception):
    """A sample that the door has nothing for (layouts, devices, dtypes), or PyTorch itself."""


class Discrepancy(NamedTuple):
    """What differs: "error", "shape", "dtype", "value", "gradient" or "second"; and how."""

    kind: str
    text: str


# Of one side what is of the other -------------------------------------------------------------


def converted(value: Any, theirs: Any, memo: dict[int, Any]) -> Any:
    """Arguments with the door's tensors and dtypes; a tensor that is there twice is one again."""
    if isinstance(value, theirs.Tensor):
        if value.layout != theirs.strided or value.dtype is theirs.bfloat16:
            raise NotComparedError(str(value.dtype))
        if id(value) not in memo:
            made = ours.tensor(np.array(plain(value)), requires_grad=value.requires_grad)
            memo[id(value)] = value, made
        return memo[id(value)][1]
    if isinstance(value, theirs.dtype):
        if not hasattr(ours, str(value).removeprefix("torch.")):
            raise NotComparedError(str(value))
        return getattr(ours, str(value).removeprefix("torch."))
    if isinstance(value, (
        theirs.memory_format, theirs.layout, theirs.Generator, theirs.nn.Module,
    )):
        raise NotComparedError(str(value))
    if isinstance(value, dict):
        return {k: converted(v, theirs, memo) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, theirs.Size):
        return type(value)([converted(v, theirs, memo) for v in value])
    return tuple(value) if isinstance(value, theirs.Size) else value


def rebound(function: Any) -> Any:
    """A function of the database with the door in the place of `torch`."""
    if not isinstance(function, types.FunctionType) or ".testing." not in function.__module__:
        return function
    cells = tuple([
        types.CellType(rebound(c.cell_contents)) for c in function.__closure__ or ()
    ])
    made = types.FunctionType(
        function.__code__, {**function.__globals__, "torch": ours}, function.__name__,
        function.__defaults__, cells or None,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def counterpart(op: Any) -> Any:
    """The door's function of an entry, or its method; None if it has neither."""
    found: Any = ours
    for name in op.name.split("."):
        found = getattr(found, name, None)
    if found is None or isinstance(found, np.dtype):
        found = getattr(ours.Tensor, op.name, getattr(ours.Tensor, op.name + "_", None))
    return rebound(op.op) if found is not None and rebound(op.op) is not op.op else found


def plain(value: Any) -> Any:
    """An array of either side's tensor, or of a number."""
    if hasattr(value, "detach"):
        value = value.detach().resolve_conj().resolve_neg()
        if str(value.dtype) == "torch.bfloat16":  # which PyTorch does not make NumPy's
            return value.float().numpy(force=True).astype(ours.bfloat16)
        return value.numpy(force=True) if hasattr(value, "_is_zerotensor") else value.numpy()
    return np.asarray(value)


def parts(value: Any) -> list[Any]:
    """The tensors and numbers in nested results."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [part for v in value for part in parts(v)]
    return [] if value is None else [value]


# Compared -------------------------------------------------------------------------------------


def difference(one: Any, other: Any, kind: str = "value") -> list[Discrepancy]:
    """How an answer of the door differs from PyTorch's."""
    x, y = plain(one), plain(other)
    if x.shape != y.shape:
        return [Discrepancy("shape", f"{x.shape}, not {y.shape}")]
    if hasattr(other, "detach") and x.dtype != y.dtype:
        return [Discrepancy("dtype", f"{x.dtype}, not {y.dtype}")]
    if y.dtype.kind in "fc":
        single = y.dtype.itemsize == (4 if y.dtype.kind == "f" else 8)
        rtol, atol = (1e-5, 1e-6) if single else (1e-7, 1e-9)
        close = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=True)
    else:
        close = x == y
    if np.all(close):
        return []
    place = tuple(np.argwhere(~close)[0])
    return [Discrepancy(kind, f"{x[place]}, not {y[place]}, at {[int(i) for i in place]}")]


def cotangents(values: list[Any], rng: Any) -> list[Any]:
    """Random arrays of the shapes and dtypes of some results."""
    made = []
    for value in values:
        g = rng.normal(size=tuple(value.shape))
        if plain(value).dtype.kind == "c":
            g = g + 1j * rng.normal(size=tuple(value.shape))
        made.append(np.asarray(g).astype(plain(value).dtype))
    return made


def gradients(
    pairs: list[Any], inputs: list[Any], theirs: Any, rng: Any, more: bool
) -> tuple[list[Any], list[Any]]:
    """Those of both sides with the same cotangents, recorded for second ones if `more`."""
    here, there = [a for a, _ in pairs], [b for _, b in pairs]
    given = cotangents(there, rng)
    found = ours.autograd.grad(
        here, [a for a, _ in inputs], [ours.tensor(g) for g in given], allow_unused=True,
        create_graph=more,
    )
    expected = theirs.autograd.grad(
        there, [b for _, b in inputs], [of_theirs(g, theirs) for g in given], allow_unused=True,
        create_graph=more,
    )
    return list(found), list(expected)


def of_theirs(array: Any, theirs: Any) -> Any:
    """An array as a tensor of PyTorch's."""
    if array.dtype.name == "bfloat16":
        return theirs.tensor(array.astype(np.float32), dtype=theirs.bfloat16)
    return theirs.tensor(array)


def slopes_differ(found: list[Any], expected: list[Any], kind: str) -> list[Discrepancy]:
    """How gradients differ; None is as good as zeros."""
    wrong = []
    for one, other in zip(found, expected, strict=True):
        nothing = [g is None or not np.any(plain(g) != 0) for g in (one, other)]
        if all(nothing):
            continue
        if one is None or other is None:
            wrong.append(Discrepancy(kind, "None" if one is None else "not None"))
        else:
            wrong += [d._replace(kind=kind) for d in difference(one, other)]
    return wrong


def tracked(values: Any, answers: Any) -> list[Any]:
    """Pairs of results of which PyTorch's has a gradient that is more than nothing."""
    return [
        (a, b) for a, b in zip(parts(values), parts(answers), strict=True)
        if getattr(b, "requires_grad", False) and b.numel()
    ]


def compared(op: Any, sample: Any, theirs: Any, how: str = "value") -> list[Discrepancy]:
    """All that differs for a sample; the values of what is `how` "drawn" or "turned" may.

    Turned are vectors that are only known up to a factor of length 1: what the database makes of
    them, which is independent of it, is compared instead.
    """
    there, here = op.op, counterpart(op)
    how = "drawn" if sample.kwargs.get("dropout_p") else how
    memo: dict[int, Any] = {}
    arguments = converted((sample.input, sample.args, sample.kwargs), theirs, memo)
    try:
        answer = there(sample.input, *sample.args, **sample.kwargs)
    except NotImplementedError as error:
        raise NotComparedError(str(error)) from None
    try:
        value = here(arguments[0], *arguments[1], **arguments[2])
    except PullbackError as error:
        return [Discrepancy("error", str(error))]
    if len(parts(value)) != len(parts(answer)):
        return [Discrepancy("shape", f"{len(parts(value))} results, not {len(parts(answer))}")]
    wrong = []
    for a, b in zip(parts(value), parts(answer), strict=True):
        found = difference(a, b)
        wrong += [d for d in found if how == "value" or d.kind != "value"]
    if wrong or how == "drawn" or not op.supports_autograd:
        return wrong
    return _slopes(op, sample, arguments, memo, theirs, compare_values=how == "turned")


def _slopes(
    op: Any, sample: Any, arguments: Any, memo: dict[int, Any], theirs: Any, compare_values: bool
) -> list[Discrepancy]:
    """What differs in the gradients of what the database makes of a result, and in theirs."""
    shaped, wrapped = sample.output_process_fn_grad or (lambda x: x), op.gradcheck_wrapper
    answer = shaped(wrapped(op.op, sample.input, *sample.args, **sample.kwargs))
    value = rebound(shaped)(
        rebound(wrapped)(counterpart(op), arguments[0], *arguments[1], **arguments[2])
    )
    wrong = []
    if compare_values:
        for a, b in zip(parts(value), parts(answer), strict=True):
            wrong += difference(a, b)
    inputs = [(here, there) for there, here in memo.values() if there.requires_grad]
    pairs, rng = tracked(value, answer), np.random.default_rng(0)
    if wrong or not pairs or not inputs:
        return wrong
    if not all(a.requires_grad for a, _ in pairs):
        return [Discrepancy("gradient", "not recorded")]
    found, expected = gradients(pairs, inputs, theirs, rng, True)
    wrong = slopes_differ(found, expected, "gradient")
    pairs = [(a, b) for a, b in zip(found, expected, strict=True)
             if b is not None and b.requires_grad and a is not None and a.requires_grad]
    if wrong or not pairs:
        return wrong
    try:
        found, expected = gradients(pairs, inputs, theirs, rng, False)
    except RuntimeError as error:
        if isinstance(error, PullbackError):
            raise
        return []  # PyTorch has no second derivative
    return slopes_differ(found, expected, "second")
