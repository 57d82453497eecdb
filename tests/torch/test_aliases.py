"""Functions of the library under PyTorch's names, with the names of PyTorch's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import pullback.torch as torch
from pullback._aliases import aliases

NAMED = sorted(name for name, alias in aliases("torch").items() if alias.parameters)


def function(name: str) -> Callable[..., Any]:
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", NAMED)
def test_the_parameters_are_those_that_stand_with_the_function(name: str) -> None:
    assert [*inspect.signature(function(name)).parameters] == [
        p for p in aliases("torch")[name].parameters if p != "*"
    ]
    assert function(name).__doc__


CALLS = {
    "roll": {"shifts": 2, "dims": 1},
    "transpose": {"dim0": 0, "dim1": 1},
    "movedim": {"source": 0, "destination": 1},
    "argmax": {"dim": 1, "keepdim": True},
    "unbind": {"dim": 1},
    "tril": {"diagonal": -1},
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_are_given_by_place_or_by_name(name: str) -> None:
    x, given = torch.rand(3, 3), CALLS[name]
    found = function(name)(x, *given.values())
    for other in (function(name)(x, **given), function(name)(input=x, **given)):
        assert all(torch.equal(a, b) for a, b in zip(found, other, strict=True))


@pytest.mark.parametrize("arguments", [((1, 0, 5), {}), ((1,), {"shifts": 1}), ((1,), {"k": 1})])
def test_arguments_that_pytorch_refuses_are_refused(arguments: Any) -> None:
    args, keywords = arguments
    with pytest.raises(TypeError):
        torch.roll(torch.rand(3), *args, **keywords)
