"""GradientTape: watching, recording, asking."""

from __future__ import annotations

import copy
import gc
import threading
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from pullback.core.state import state


def watched(tape, *tensors):
    for t in tensors:
        tape.watch(t)


def test_a_watched_tensor_has_a_gradient_and_an_unwatched_one_none():
    x, y = pb.tensor([1.0, 2.0]), pb.tensor([3.0, 4.0])
    with pb.GradientTape() as tape:
        tape.watch(x)
        z = x * y
    gx, gy = tape.gradient(z, [x, y])
    np.testing.assert_array_equal(gx.numpy(), y.numpy())
    assert gy is None


def test_what_is_computed_before_the_tape_is_no_path():
    x = pb.tensor(2.0)
    early = x * x
    with pb.GradientTape() as tape:
        tape.watch(x)
        late = early * 3.0
    assert tape.gradient(late, x) is None


def test_what_is_computed_after_the_tape_is_no_path():
    x = pb.tensor(2.0)
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    z = y * y
    assert tape.gradient(z, x) is None
    assert float(tape.gradient(y, x)) == 4.0


def test_variables_are_watched_unless_not_trainable_or_told_not_to():
    a, b = pb.Variable(2.0), pb.Variable(3.0, trainable=False)
    with pb.GradientTape() as tape:
        y = a * a * b
    ga, gb = tape.gradient(y, [a, b])
    assert float(ga) == 12.0
    assert gb is None
    with pb.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(b)
        y = a * a * b
    ga, gb = tape.gradient(y, [a, b])
    assert ga is None
    assert float(gb) == 4.0


def test_watched_variables_lists_what_was_read_in_order():
    a, b, c = pb.Variable(1.0), pb.Variable(2.0), pb.Variable(3.0)
    with pb.GradientTape() as tape:
        b * a
        assert tape.watched_variables() == (b, a)
        tape.watch(c)
    assert [v is w for v, w in zip(tape.watched_variables(), (b, a, c), strict=True)] == [True] * 3


def test_nested_structures_of_sources_and_targets():
    x = {"a": pb.tensor(2.0), "b": (pb.tensor(3.0), [pb.tensor(4.0)])}
    with pb.GradientTape() as tape:
        tape.watch(x)
        target = {"p": x["a"] * x["b"][0], "q": x["b"][1][0] * 2.0}
    g = tape.gradient(target, x)
    assert float(g["a"]) == 3.0
    assert float(g["b"][0]) == 2.0
    assert float(g["b"][1][0]) == 2.0


def test_output_gradients_weigh_the_targets():
    rng = np.random.default_rng(0)
    x = pb.tensor(rng.normal(size=(3,)))
    weights = rng.normal(size=(3,))
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = pb.exp(x)
    g = tape.gradient([y, z], x, output_gradients=[pb.tensor(weights), None])
    np.testing.assert_allclose(g.numpy(), weights * 2 * x.numpy() + np.exp(x.numpy()))
    with pytest.raises(errors.RuleError, match="shape"):
        tape.gradient(y, x, output_gradients=pb.tensor(weights[:2]))
    with pytest.raises(ValueError, match="one for each"):
        tape.gradient([y, z], x, output_gradients=[pb.tensor(weights)])


def test_unconnected_gradients():
    x, y = pb.tensor([1.0, 2.0]), pb.tensor(3.0)
    with pb.GradientTape(persistent=True) as tape:
        watched(tape, x, y)
        z = y * 2.0
    assert tape.gradient(z, x) is None
    assert tape.gradient(z, x, unconnected_gradients="zero").tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="unconnected_gradients"):
        tape.gradient(z, x, unconnected_gradients="nothing")


def test_intermediate_sources_and_a_target_that_is_a_source():
    x = pb.tensor(3.0)
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        z = y * y
    assert float(tape.gradient(z, y)) == 18.0
    assert [float(g) for g in tape.gradient(z, [y, x, z])] == [18.0, 108.0, 1.0]
    assert float(tape.gradient(x, x)) == 1.0


def test_a_tape_that_is_not_persistent_answers_once():
    x = pb.tensor(3.0)
    with pb.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        tape.gradient(y, x)


def test_stop_recording_leaves_a_gap():
    x = pb.tensor(3.0)
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            hidden = x * x
        z = y + hidden
    assert float(tape.gradient(z, x)) == 6.0
    assert tape.gradient(hidden, x) is None
    with pytest.raises(RuntimeError, match="stop_recording"), tape.stop_recording():
        pass


def test_stop_recording_is_undone_by_an_exception():
    x = pb.tensor(3.0)
    with pb.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(ZeroDivisionError), tape.stop_recording():
            1 / 0  # noqa: B018
        y = x * x
    assert float(tape.gradient(y, x)) == 6.0


def test_reset_forgets():
    x = pb.tensor(3.0)
    with pb.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.reset()
        z = y * 2.0
        tape.watch(x)
        w = x * 5.0
    assert tape.gradient([z, w], x).item() == 5.0


def test_derivatives_of_any_order():
    x = pb.tensor(2.0)
    tapes = [pb.GradientTape() for _ in range(5)]
    for tape in tapes:
        tape.__enter__()
        tape.watch(x)
    y = x**5
    expected = [80.0, 160.0, 240.0, 240.0, 120.0]
    for tape, value in zip(reversed(tapes), expected, strict=True):
        tape.__exit__(None, None, None)
        y = tape.gradient(y, x)
        assert float(y) == pytest.approx(value)


def test_a_persistent_tape_inside_its_own_block_records_its_answers():
    x = pb.tensor(3.0)
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x
        first = tape.gradient(y, x)
    assert float(first) == 27.0
    assert float(tape.gradient(first, x)) == 18.0


def test_a_tape_asked_inside_its_own_block():
    x = pb.tensor(3.0)
    with pb.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        g = tape.gradient(y, x)
        x * x
    assert float(g) == 6.0


def test_two_tapes_with_different_watched_sets():
    x, y = pb.tensor(2.0), pb.tensor(5.0)
    with pb.GradientTape() as one, pb.GradientTape() as two:
        one.watch(x)
        two.watch(y)
        z = x * y
        only_x = x * x
    assert [g if g is None else float(g) for g in one.gradient(z, [x, y])] == [5.0, None]
    assert [g if g is None else float(g) for g in two.gradient([z, only_x], [x, y])] == [None, 2.0]


def test_tapes_that_overlap_without_nesting():
    x = pb.tensor(2.0)
    one, two = pb.GradientTape(), pb.GradientTape()
    one.__enter__()
    one.watch(x)
    a = x * x
    two.__enter__()
    two.watch(x)
    b = x * 3.0
    one.__exit__(None, None, None)
    c = x * 7.0
    two.__exit__(None, None, None)
    assert float(one.gradient([a, b, c], x)) == 4.0 + 3.0
    assert float(two.gradient([a, b, c], x)) == 3.0 + 7.0


def test_an_intermediate_that_only_another_tape_follows_is_no_source():
    x, y = pb.tensor(2.0), pb.tensor(5.0)
    with pb.GradientTape() as one, pb.GradientTape() as two:
        one.watch(x)
        two.watch(y)
        h = x * 3.0
        z = h * y
    assert two.gradient(z, h) is None
    assert float(one.gradient(z, h)) == 5.0


def test_jacobian_and_batch_jacobian_match_a_loop():
    rng = np.random.default_rng(1)
    w = pb.Variable(rng.normal(size=(3, 2)))
    x = pb.tensor(rng.normal(size=(4, 3)))
    with pb.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = pb.tanh(x @ w)
    jx, jw = tape.jacobian(y, [x, w])
    assert jx.shape == (4, 2, 4, 3)
    assert jw.shape == (4, 2, 3, 2)
    slope = 1 - np.tanh(x.numpy() @ w.numpy()) ** 2
    for b in range(4):
        for k in range(2):
            expected = np.zeros((4, 3))
            expected[b] = slope[b, k] * w.numpy()[:, k]
            np.testing.assert_allclose(jx.numpy()[b, k], expected)
    batch = tape.batch_jacobian(y, x)
    assert batch.shape == (4, 2, 3)
    np.testing.assert_allclose(
        batch.numpy(), np.stack([jx.numpy()[b, :, b] for b in range(4)])
    )
    with pytest.raises(ValueError, match="equal first axes"):
        tape.batch_jacobian(y, w)


def test_a_jacobian_is_differentiable():
    x = pb.tensor([1.0, 2.0])
    with pb.GradientTape() as outer:
        outer.watch(x)
        with pb.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        j = inner.jacobian(y, x)
        total = pb.sum(j)
    np.testing.assert_allclose(outer.gradient(total, x).numpy(), 6 * x.numpy())


def test_complex_gradients_follow_the_adjoint_convention():
    z = pb.tensor(np.array([1.0 + 2.0j, -0.5 + 1.0j]))
    with pb.GradientTape() as tape:
        tape.watch(z)
        loss = pb.sum(pb.abs(z) ** 2)
    np.testing.assert_allclose(tape.gradient(loss, z).numpy(), 2 * z.numpy())


@pytest.mark.parametrize("bad", [pb.tensor([1, 2]), pb.tensor([True])])
def test_integers_are_refused(bad):
    with pb.GradientTape() as tape:
        with pytest.raises(TypeError, match="floating"):
            tape.watch(bad)
        x = pb.tensor(1.0)
        tape.watch(x)
        y = x * 2.0
    with pytest.raises(TypeError, match="source 0"):
        tape.gradient(y, bad)


def test_what_is_no_tensor_is_refused():
    with pb.GradientTape() as tape, pytest.raises(TypeError, match=r"tape\.watch"):
        tape.watch(3.0)
    with pytest.raises(TypeError, match="source 0"):
        tape.gradient(pb.tensor(1.0), np.ones(2))


def test_an_exception_inside_a_tape_leaves_recording_as_it_was():
    before = state()
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), pb.GradientTape(), pb.GradientTape():
            raise error
        assert state() == before


def test_tapes_are_per_thread():
    x = pb.tensor(3.0)
    seen = []
    with pb.GradientTape() as tape:
        tape.watch(x)

        def other():
            seen.append((x * x).node)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        y = x * x
    assert seen == [None]
    assert float(tape.gradient(y, x)) == 6.0


def test_a_watched_tensor_records_nothing_once_the_tape_is_closed():
    x = pb.tensor(3.0)
    with pb.GradientTape() as tape:
        tape.watch(x)
    assert (x * x).node is None


def test_a_training_step_frees_its_graph_when_it_is_asked():
    gc.disable()
    try:
        v = pb.Variable(np.ones(1000))
        with pb.GradientTape() as tape:
            h = pb.exp(v)
            loss = pb.sum(h * h)
        array = weakref.ref(h.data)
        del h
        tape.gradient(loss, v)
        assert array() is None, "the loss alone kept the step's arrays alive"
    finally:
        gc.enable()


def test_assignment_inside_a_tape_keeps_both_readings_right():
    v = pb.Variable(3.0)
    with pb.GradientTape() as tape:
        y = v * v
        v.assign_add(1.0)
        z = v * v
    assert float(tape.gradient([y, z], v)) == 6.0 + 8.0


def test_variable_errors():
    v = pb.Variable([1.0, 2.0], name="v")
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        v.assign([1.0, 2.0, 3.0])
    i = pb.Variable([1, 2])
    with pytest.raises(TypeError, match="int64"):
        i.assign([1.5, 2.5])
    assert i.assign_sub([1, 1]).tolist() == [0, 1]
    assert v.assign_sub(pb.tensor([0.5, 0.5])).tolist() == [0.5, 1.5]
    assert v.name == "v"


def test_a_copied_variable_is_another_one_with_the_same_name():
    v = pb.Variable([1.0, 2.0], trainable=False, name="v")
    w = copy.deepcopy({"v": v})["v"]
    w.assign([5.0, 5.0])
    assert v.tolist() == [1.0, 2.0]
    assert (w.name, w.trainable) == ("v", False)


def test_requires_grad_tensors_are_watched_too():
    x = pb.tensor(3.0, requires_grad=True)
    with pb.GradientTape() as tape:
        y = x * x
    assert float(tape.gradient(y, x)) == 6.0
    y.backward()
    assert float(x.grad) == 6.0
