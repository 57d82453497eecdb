"""`debug(nan=, inf=, inplace=)`: what stops at once, and what it leaves behind."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import AnomalyError, InplaceError
from pullback.tools.debug import guards

HERE = "test_guards.py"


@pytest.fixture(autouse=True)
def _quiet_numpy() -> Any:
    with np.errstate(all="ignore"):
        yield
    gc.collect()
    assert not guards._counts
    assert not guards._waiting


def tracked(*values: float) -> Any:
    return pb.tensor(np.array(values), requires_grad=True)


# Numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "value", "keyword", "text"),
    [
        (pb.log, -1.0, "nan", r"`log` at .*test_guards.*nan at index \(1,\), from x = -1.0"),
        (pb.log, 0.0, "inf", r"`log` at .*-inf at index \(1,\), from x = 0.0"),
        (lambda x: x / x, 0.0, "nan", r"`divide`.*nan.*x1 = 0.0, x2 = 0.0"),
        (lambda x: 1 / x, 0.0, "inf", r"`divide`.*inf"),
        (pb.exp, 1000.0, "inf", r"`exp`.*inf.*x = 1000.0"),
    ],
)
def test_the_operation_that_makes_it_raises(f: Any, value: float, keyword: str, text: str) -> None:
    x = tracked(1.0, value)
    f(x)  # outside, nothing is looked for
    with pb.debug(**{keyword: True}), pytest.raises(AnomalyError, match=f"(?s){text}"):
        f(x)


def test_only_what_is_looked_for() -> None:
    x = tracked(1.0, 0.0)
    with pb.debug(nan=True):
        pb.log(x)
    with pb.debug(inf=True):
        pb.sqrt(x - 1.0)
    with pb.debug():
        pb.log(x - 1.0)


def test_what_was_bad_before_is_nobodys_fault() -> None:
    x = tracked(1.0, np.nan, np.inf)
    with pb.debug(nan=True, inf=True):
        y = pb.where(pb.asarray([True, False, False]), x, -np.inf) + x
    assert np.isnan(np.asarray(y.detach())[1])


def test_the_step_of_a_backward_raises_with_line_values_and_cotangent() -> None:
    x = tracked(4.0, 0.0)
    with pb.debug(inf=True):
        y = pb.sqrt(x)  # this line
        line = test_the_step_of_a_backward_raises_with_line_values_and_cotangent.__code__
        with pytest.raises(AnomalyError) as caught:
            pb.sum(y * pb.tensor([1.0, -2.0])).backward()
    text = str(caught.value)
    assert f"{HERE}:{line.co_firstlineno + 3}" in text
    assert "`sqrt`" in text
    assert "-inf at index (1,)" in text
    assert "cotangent that came in is -2.0" in text
    assert "out = 0.0" in text
    assert "the forward was finite" in text
    assert "safe_where" in text


def test_an_infinity_of_a_hand_written_rule() -> None:
    """PyTorch's anomaly mode lets this one pass."""

    @pb.custom_gradient
    def bad(x: Any) -> Any:
        return x * 2, lambda g: g / 0.0

    x = tracked(1.0, 2.0)
    with pb.debug(nan=True, inf=True), pytest.raises(AnomalyError, match="bad"):
        pb.sum(bad(x) * pb.tensor([0.5, -1.5])).backward()


def test_a_rule_may_pass_by_what_is_not_finite() -> None:
    x = tracked(4.0, 0.0)
    with pb.debug(nan=True, inf=True):
        y = pb.where(x > 1, pb.sqrt(x), 0.0)
        pb.sum(y * y).backward()
    np.testing.assert_allclose(np.asarray(x.grad), [1.0, 0.0])


def test_in_a_vmap_a_grad_and_a_recorded_pull() -> None:
    with pb.debug(inf=True):
        with pytest.raises(AnomalyError, match="log"):
            pb.vmap(pb.log)(pb.tensor([1.0, 0.0]))
        with pytest.raises(AnomalyError, match="sqrt"):
            pb.grad(lambda x: pb.sum(pb.sqrt(x)))(pb.tensor([1.0, 0.0]))
        with pytest.raises(AnomalyError, match="sqrt"):
            pb.hessian(lambda x: pb.sum(pb.sqrt(x)))(pb.tensor([1.0, 0.0]))


def test_what_a_traced_function_gives_is_looked_at_for_nan() -> None:
    root = pb.function(lambda x: pb.sqrt(x))
    masked = pb.function(lambda x: pb.softmax(pb.where(x > 0, x, -np.inf)))
    root(tracked(1.0))
    with pb.debug(nan=True, inf=True):
        pb.sum(masked(tracked(1.0, -1.0))).backward()
        with pytest.raises(AnomalyError, match=r"(?s)function .*test_guards.*nan at index \(0,\)"):
            root(tracked(-1.0))


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "LBFGS"])
def test_steps_of_optimizers_are_no_alarm(name: str) -> None:
    w = pb.tensor([1.0, 2.0], requires_grad=True)
    optimizer = getattr(pb.optim, name)([w])
    kept = []

    def loss() -> Any:
        optimizer.zero_grad()
        kept.append(pb.sum((w - 3.0) ** 2 * w))
        kept[-1].backward()
        return kept[-1]

    with pb.debug(nan=True, inf=True, inplace=True):
        for _ in range(3):
            optimizer.step(loss) if name == "LBFGS" else (loss(), optimizer.step())


def test_minus_infinity_is_no_alarm_where_it_stands_for_nothing() -> None:
    mask = pb.tensor([[True, False], [True, True]])
    with pb.debug(nan=True, inf=True):
        scores = pb.where(mask, tracked(1.0, 2.0), -np.inf)
        pb.sum(pb.softmax(scores) * tracked(1.0, 2.0)).backward(retain_graph=True)
        pb.sum(pb.logsumexp(scores, axis=1)).backward(retain_graph=True)
        pb.log_softmax(scores)[0, 0].backward()
        np.max(tracked(1.0, 2.0), initial=-np.inf).backward()
        pb.sum(pb.logaddexp(tracked(1.0, 2.0), pb.tensor([-np.inf, 0.0]))).backward()


def test_nothing_is_left_behind_by_an_exception() -> None:
    x = tracked(0.0)
    with pytest.raises(ZeroDivisionError), pb.debug(nan=True, inf=True, inplace=True):
        raise ZeroDivisionError
    pb.log(x).backward()
    assert np.isinf(np.asarray(x.grad)).all()


# Writes -----------------------------------------------------------------------------------------


def test_the_line_that_writes_to_what_is_needed_raises() -> None:
    a = np.ones(3)
    with pb.debug(inplace=True):
        x = pb.Tensor(a, requires_grad=True)
        loss = pb.sum(x * x)
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 3
        with pytest.raises(ValueError, match="read-only"):
            a += 1
        loss.backward()
        a[0] = 5  # freed
    np.testing.assert_array_equal(np.asarray(x.grad), [2, 2, 2])


def test_a_tensor_that_is_needed_is_not_written_to_in_place() -> None:
    with pb.debug(inplace=True):
        y = pb.exp(tracked(1.0, 2.0))
        loss = pb.sum(y * y)
        with pytest.raises(InplaceError, match="iadd"):
            y += 1
        del loss, y


def test_what_no_rule_reads_can_be_written_to() -> None:
    a = np.ones(3)
    with pb.debug(inplace=True):
        loss = pb.sum(pb.Tensor(a, requires_grad=True) + 2.0)
        a[0] = 3
    loss.backward()


def test_it_is_let_go_when_the_graph_is_forgotten() -> None:
    a, b = np.ones(3), np.ones(3)
    with pb.debug(inplace=True):
        x = pb.Tensor(a, requires_grad=True)
        first, second = x * x, x * pb.Tensor(b)
    del first
    with pytest.raises(ValueError, match="read-only"):
        b[0] = 2  # the second product still needs it
    del second
    a[0] = b[0] = 2
    assert a[0] == b[0] == 2


def test_views_are_held_with_what_they_are_views_of() -> None:
    base = np.ones((3, 2))
    with pb.debug(inplace=True):
        x = pb.Tensor(base[0], requires_grad=True)
        y = pb.exp(pb.Tensor(base[1], requires_grad=True)) * x
        with pytest.raises(ValueError, match="read-only"):
            base[2, 1] = 4
    del y
    base[2, 1] = 4
    x.data[0] = 3
    assert base[0, 0] == 3


def test_what_was_read_only_stays_so() -> None:
    a = np.ones(3)
    a.flags.writeable = False
    with pb.debug(inplace=True):
        y = pb.exp(pb.Tensor(a, requires_grad=True)) * pb.Tensor(a)
    del y
    assert not a.flags.writeable


def test_values_saved_by_hand_are_held_too() -> None:
    class Square(pb.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    a = np.ones(3)
    with pb.debug(inplace=True):
        y = Square.apply(pb.Tensor(a, requires_grad=True))
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 3
    del y
    a[0] = 3


def test_training_goes_on_inside() -> None:
    model = pb.nn.Linear(3, 2)
    optimizer = pb.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    with pb.debug(nan=True, inf=True, inplace=True):
        for _ in range(3):
            loss = pb.mean(model(pb.ones((4, 3))) ** 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
    assert losses[2] < losses[1] < losses[0]
