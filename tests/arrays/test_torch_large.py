"""Large tensors of PyTorch: what saves passes over memory changes no number that anybody sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb

torch = pytest.importorskip("torch")

from pullback.arrays.torch_ import large  # noqa: E402

SHAPE = 3, large.LARGE // 2


def drawn(salt: int, shape: tuple[int, ...] = SHAPE) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(salt))


def pulled(function: Callable[..., Any], *arrays: Any, g: Any) -> list[Any]:
    xs = [pb.Tensor(a, requires_grad=True) for a in arrays]
    out = function(*xs)
    return [d.data for d in pb.autograd.grad(out, xs, g[: out.shape[0]])]


def by_torch(function: Callable[..., Any], *arrays: Any, g: Any) -> list[Any]:
    xs = [a.clone().requires_grad_() for a in arrays]
    out = function(*xs)
    return list(torch.autograd.grad(out, xs, g[: out.shape[0]]))


def the_same(got: list[Any], wanted: list[Any]) -> None:
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(a, b)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "one cotangent for two": lambda x, y: (x + y) + x,
    "one tensor twice": lambda x, y: (x + x) * y,
    "parts and the whole": lambda x, y: x[1:] * x[:-1] + x[1:] + y[1:],
    "a transpose": lambda x, y: (x.T + x.T).T + y + x,
    "a row spread": lambda x, y: x + x[:1] + y * y,
    "many uses": lambda x, y: x * y + x * x - x / (2 + y * y),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_cotangent_is_added_to_in_place_where_nobody_sees_it(name: str) -> None:
    function, g = FUNCTIONS[name], drawn(3)
    before = g.clone()
    arrays = drawn(1), drawn(2)
    the_same(pulled(function, *arrays, g=g), by_torch(function, *arrays, g=g))
    torch.testing.assert_close(g, before, rtol=0, atol=0)


def test_numpys_memory_is_not_written() -> None:
    array = drawn(1).numpy().copy()
    before, place = array.copy(), {0: torch.from_numpy(array)}
    found = large.add(place.pop(0), drawn(2))
    np.testing.assert_array_equal(array, before)
    torch.testing.assert_close(found, drawn(1) + drawn(2))


def test_a_tensor_of_inference_mode_is_added_to_outside_of_it() -> None:
    with torch.inference_mode():
        place = {0: drawn(1)}
    torch.testing.assert_close(large.add(place.pop(0), drawn(2)), drawn(1) + drawn(2))


def test_a_value_that_a_rule_handed_on_is_not_written() -> None:
    kept = []

    @pb.custom_gradient
    def keeping(x: Any) -> Any:
        def grad(g: Any) -> Any:
            kept.append((g * 2).data)
            return pb.Tensor(kept[-1])

        return x * 2, grad

    x, g = drawn(1), drawn(3)
    (found,) = pulled(lambda x: x * x + keeping(x), x, g=g)
    torch.testing.assert_close(kept[0], 2 * g)
    torch.testing.assert_close(found, 2 * g * x + 2 * g)


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_it_works_where_pytorch_records_nothing(mode: Any) -> None:
    x, y, g = drawn(1), drawn(2), drawn(3)
    wanted = by_torch(FUNCTIONS["many uses"], x, y, g=g)
    with mode():
        the_same(pulled(FUNCTIONS["many uses"], x, y, g=g), wanted)


def test_results_can_be_used_by_pytorchs_own_autograd() -> None:
    x, g = drawn(1), drawn(3)
    (found,) = pulled(lambda x: x * x + x, x, g=g)
    w = drawn(4).requires_grad_()
    (w * found).sum().backward()
    torch.testing.assert_close(w.grad, found)


def test_old_memory_is_taken_where_it_is_free_and_only_there() -> None:
    old, more = drawn(1), drawn(2)
    place = {"old": old.clone(), "kept": old, "view": old.clone()[:]}
    view = place["view"][0]
    at = place["old"].data_ptr()
    found = large.add(place.pop("old"), more)  # outside of an assert, which would hold it
    assert found.data_ptr() == at
    before = view.clone()
    for name in ("kept", "view"):
        found = large.add(place.pop(name), more)
        torch.testing.assert_close(found, (old if name == "kept" else drawn(1)) + more)
    torch.testing.assert_close(view, before, rtol=0, atol=0)
    torch.testing.assert_close(old, drawn(1), rtol=0, atol=0)


@pytest.mark.parametrize("shape", [SHAPE, (2 * large.LARGE + 7,), (70_000, 9)])
@pytest.mark.parametrize("name", ["tanh", "sigmoid", "sin", "cosh", "exp"])
def test_a_derivative_taken_by_pieces_is_the_same(name: str, shape: tuple[int, ...]) -> None:
    x, g = drawn(1, shape), drawn(3, shape)
    one = drawn(5, shape[:1] + (1,) * (len(shape) - 1)).expand(shape)
    for cotangent in (g, one):
        wanted = by_torch(getattr(torch, name), x, g=cotangent)
        the_same(pulled(getattr(pb, name), x, g=cotangent), wanted)


def test_a_rule_of_somebody_elses_sees_the_whole() -> None:
    weight = drawn(2)

    @pb.op(elementwise=True, name="weighed_for_pieces")
    def weighed(xp: Any, x: Any, /) -> Any:
        return weight * x * x

    @weighed.partial("x")
    def partial_weighed_for_pieces(x: Any) -> Any:
        return 2 * weight * x

    x, g = drawn(1), drawn(3)
    the_same(pulled(weighed, x, g=g), [2 * g * weight * x])


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"weight_decay": 0.1}])
def test_sgd_takes_the_steps_it_takes_on_numpys_arrays(options: dict[str, float]) -> None:
    x, g = drawn(1, (400, 300)), drawn(3, (400, 300))
    found = []
    for make in (np.asarray, torch.as_tensor):
        p = pb.Tensor(make(x.clone()), requires_grad=True)
        optimizer = pb.optim.SGD([p], lr=0.3, **options)
        for _ in range(3):
            optimizer.step([pb.Tensor(make(g))])
        found.append(p.numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("axis", [0, 1])
def test_cross_entropy_of_infinite_logits_is_that_of_numpys_arrays(
    smoothing: float, axis: int
) -> None:
    rng = np.random.default_rng(1)
    logits = rng.standard_normal((6, 6))
    logits[1], logits[:, 2] = -np.inf, -np.inf
    logits[2, 0] = -np.inf
    logits[3, 1], logits[4, 4], logits[5, 5] = np.inf, np.inf, np.nan
    for targets in (np.arange(6), rng.integers(0, 6, 6).astype(np.uint8)):
        how = {"axis": axis, "reduction": "none", "label_smoothing": smoothing}
        with np.errstate(all="ignore"):
            wanted = pb.cross_entropy(logits, targets, **how)
        got = pb.cross_entropy(torch.as_tensor(logits), torch.as_tensor(targets), **how)
        np.testing.assert_allclose(got.numpy(), wanted)
