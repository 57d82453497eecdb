"""Neural operations where rows do not reach: extremes, kinks, ties, nothing, misuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.arrays.numpy_ import convolutions, nn
from pullback.ops.activations import finite_max, gate
from pullback.ops.losses import cross_entropy_slope
from pullback.ops.normalising import normalise

INF = np.inf


def value_and_gradient(f: Callable[[Any], Any], x: Any, c: Any = None) -> tuple[Any, Any]:
    leaf = pb.Tensor(np.array(x), requires_grad=True)
    y = f(leaf)
    c = np.ones(y.shape, y.dtype) if c is None else np.asarray(c, y.dtype)
    (g,) = pb.autograd.grad(y, leaf, c)
    return y.numpy(), g.numpy()


# value and slope at -1000, -50, 0, 50, 1000; the tails are exact, not rounded to 0 or 1.
TAIL = np.exp(-50.0)
EXTREMES: dict[str, tuple[Callable[[Any], Any], list[float], list[float]]] = {
    "relu": (pb.relu, [0, 0, 0, 50, 1000], [0, 0, 0, 1, 1]),
    "leaky_relu": (pb.leaky_relu, [-10, -0.5, 0, 50, 1000], [0.01, 0.01, 0.01, 1, 1]),
    "elu": (pb.elu, [-1, TAIL - 1, 0, 50, 1000], [0, TAIL, 1, 1, 1]),
    "hard_tanh": (pb.hard_tanh, [-1, -1, 0, 1, 1], [0, 0, 1, 0, 0]),
    "hard_sigmoid": (pb.hard_sigmoid, [0, 0, 0.5, 1, 1], [0, 0, 1 / 6, 0, 0]),
    "sigmoid": (pb.sigmoid, [0, TAIL, 0.5, 1, 1], [0, TAIL, 0.25, 0, 0]),
    "log_sigmoid": (pb.log_sigmoid, [-1000, -50, -np.log(2), -TAIL, 0], [1, 1, 0.5, TAIL, 0]),
    "softplus": (pb.softplus, [0, TAIL, np.log(2), 50, 1000], [0, TAIL, 0.5, 1, 1]),
    "silu": (pb.silu, [0, -50 * TAIL, 0, 50, 1000], [0, -49 * TAIL, 0.5, 1, 1]),
    "erf": (pb.erf, [-1, -1, 0, 1, 1], [0, 0, 2 / np.sqrt(np.pi), 0, 0]),
    "erfc": (pb.erfc, [2, 2, 1, 0, 0], [0, 0, -2 / np.sqrt(np.pi), 0, 0]),
    "gelu": (pb.gelu, [0, 0, 0, 50, 1000], [0, 0, 0.5, 1, 1]),
    "gelu tanh": (
        lambda x: pb.gelu(x, approximate="tanh"), [0, 0, 0, 50, 1000], [0, 0, 0.5, 1, 1]
    ),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", EXTREMES)
def test_far_out_activations_are_exact_and_do_not_overflow(name: str, dtype: str) -> None:
    f, values, slopes = EXTREMES[name]
    y, g = value_and_gradient(f, np.array([-1000, -50, 0, 50, 1000], dtype))
    assert y.dtype == g.dtype == dtype
    # The slope of elu comes from its value, so its tail is as fine as numbers near 1.
    tolerance = {"rtol": 2e-5 if dtype == "float32" else 1e-12, "atol": 1e-16 + 2e-9 * TAIL}
    np.testing.assert_allclose(y, values, **tolerance)
    np.testing.assert_allclose(g, slopes, **{**tolerance, "atol": 1e-16 if name != "elu" else 1e-7})


def test_kinks_have_the_chosen_slope() -> None:
    at = {pb.relu: 0.0, pb.leaky_relu: 0.01}
    for f, slope in at.items():
        assert value_and_gradient(f, [0.0, -0.0])[1].tolist() == [slope, slope]
    assert value_and_gradient(lambda x: pb.elu(x, alpha=3.0), [0.0])[1].tolist() == [3.0]
    assert value_and_gradient(pb.hard_tanh, [-1.0, 1.0])[1].tolist() == [0.0, 0.0]
    assert value_and_gradient(pb.hard_sigmoid, [-3.0, 3.0])[1].tolist() == [0.0, 0.0]
    assert value_and_gradient(lambda x: pb.l1_loss(x, 0 * x), [0.0])[1].tolist() == [0.0]


@pytest.mark.parametrize("n", [3, 5000])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
def test_relu_passes_nothing_where_it_is_off_whatever_comes(n: int, dtype: str) -> None:
    x = np.resize(np.array([-1.0, 0.0, 2.0, np.nan], dtype), n)
    y, g = value_and_gradient(pb.relu, x, np.full(n, INF))
    np.testing.assert_array_equal(y, np.resize(np.array([0, 0, 2, np.nan]), n))
    np.testing.assert_array_equal(g, np.resize(np.array([0, 0, INF, INF]), n))
    assert y.dtype == g.dtype == np.dtype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "complex128"])
@pytest.mark.parametrize("shape", [(7,), (200, 150)])
def test_where_of_large_arrays_is_where(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (100 * rng.normal(size=(2, *shape))).astype(dtype)
    condition = rng.random(shape) < 0.5
    before = condition.copy()
    row, last = b[..., :1], np.asfortranarray(a)
    for x1, x2 in ((a, b), (a, 0), (0, b), (a, 0.5), (a, row), (row, a), (last, b), (a[()], 1)):
        found, wanted = pb.where(condition, x1, x2), np.where(condition, x1, x2)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype
    assert pb.where(condition, 1.0, 2.0).dtype == np.float64
    np.testing.assert_array_equal(condition, before)


def test_a_relu_before_a_root_has_slope_zero_where_it_is_off() -> None:
    _, g = value_and_gradient(lambda x: pb.sqrt(pb.relu(x)), [-1.0, 4.0])
    assert g.tolist() == [0.0, 0.25]


def test_minus_infinity_has_no_weight() -> None:
    x = [[-INF, -INF], [-INF, 1.0], [0.0, 0.0]]
    c = [[3.0, 5.0], [7.0, 11.0], [13.0, 17.0]]
    y, g = value_and_gradient(lambda x: pb.logsumexp(x, axis=1), x, [3.0, 5.0, 7.0])
    np.testing.assert_allclose(y, [-INF, 1, np.log(2)])
    np.testing.assert_allclose(g, [[0, 0], [0, 5], [3.5, 3.5]])
    y, g = value_and_gradient(pb.softmax, x, c)
    np.testing.assert_allclose(y, [[0, 0], [0, 1], [0.5, 0.5]])
    np.testing.assert_allclose(g, [[0, 0], [0, 0], [-1, 1]])
    y, g = value_and_gradient(pb.log_softmax, x, c)
    np.testing.assert_allclose(y, [[-INF, -INF], [-INF, 0], [-np.log(2)] * 2])
    np.testing.assert_allclose(g[1:], [[7, -7], [-2, 2]])


def test_a_second_derivative_at_minus_infinity_is_finite() -> None:
    x = pb.Tensor(np.array([-INF, 0.0, 1.0]), requires_grad=True)
    for f in (pb.softmax, pb.logsumexp):
        y = f(x)
        (g,) = pb.autograd.grad(y, x, np.ones(y.shape), create_graph=True)
        (h,) = pb.autograd.grad(g, x, np.array([1.0, 2.0, 3.0]))
        assert np.isfinite(h.numpy()).all()


def test_large_numbers_do_not_overflow_a_softmax() -> None:
    x = np.array([1e300, 1e300, -1e300])
    np.testing.assert_allclose(pb.softmax(x), [0.5, 0.5, 0])
    assert pb.logsumexp(np.array([INF, 0.0])) == INF
    assert np.isnan(pb.logsumexp(np.array([np.nan, 0.0])))


def test_a_complex_logarithm_stays_on_its_principal_branch() -> None:
    x = np.array([[1 + 10j, 5 - 20j, 5 + 3j], [300 - 2j, 1j, 900 + 9j]])
    found = pb.logsumexp(x, axis=1)
    np.testing.assert_allclose(found[0], np.log(np.exp(x[0]).sum()))
    np.testing.assert_allclose(found[1], 900 + 1j * np.angle(np.exp(9j)))
    general = finite_max(np, x, (1,))  # of the array libraries that have no kernel of their own
    np.testing.assert_array_equal(general, [[5.0], [900.0]])


def test_a_similarity_is_of_what_both_broadcast_to(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(1, 2, 3)), rng.normal(size=(4, 1, 3))
    whole = [np.broadcast_to(v, (4, 2, 3)) for v in (x, y)]
    found = pb.nn.functional.cosine_similarity(x, y, axis=1)
    np.testing.assert_allclose(found, pb.nn.functional.cosine_similarity(*whole, axis=1))
    assert (np.abs(found) <= 1).all()


def test_of_nothing() -> None:
    assert pb.logsumexp(np.zeros(0)) == -INF
    assert pb.logsumexp(np.zeros((2, 0)), axis=1).tolist() == [-INF, -INF]
    assert pb.logsumexp(np.zeros((0, 2)), axis=1).shape == (0,)
    for f in (pb.softmax, pb.log_softmax, pb.layer_norm):
        for shape in ((0, 3), (2, 0)):
            y, g = value_and_gradient(f, np.zeros(shape))
            assert y.shape == g.shape == shape
    loss, g = value_and_gradient(lambda x: pb.cross_entropy(x, np.zeros(0, int)), np.zeros((0, 3)))
    assert np.isnan(loss)
    assert g.shape == (0, 3)
    image = np.zeros((0, 2, 6, 6))
    for f in (lambda x: pb.conv2d(x, np.ones((3, 2, 3, 3))), lambda x: pb.max_pool2d(x, 2)):
        y, g = value_and_gradient(f, image)
        assert len(y) == 0
        assert g.shape == image.shape


def test_cross_entropy_far_out() -> None:
    x = np.array([[1000.0, -1000.0], [1000.0, -1000.0], [-INF, 0.0]])
    loss, g = value_and_gradient(
        lambda x: pb.cross_entropy(x, np.array([1, 0, 1]), reduction="sum"), x
    )
    assert loss == 2000
    np.testing.assert_allclose(g, [[1, -1], [0, 0], [0, 0]])
    weights = np.array([[0.0, 1.0]])
    assert pb.cross_entropy(np.array([[-INF, 0.0]]), weights) == 0  # 0 · -∞ counts as 0
    near = pb.cross_entropy(np.array([[1000.0, 980.0]]), np.array([0]))
    np.testing.assert_allclose(near, np.log1p(np.exp(-20.0)), rtol=1e-6)  # not lost beside 1000
    values = pb.binary_cross_entropy_with_logits(
        np.array([-1000.0, 1000.0, 50.0, -50.0]), np.array([0.0, 0.0, 1.0, 0.0]), reduction="none"
    )
    np.testing.assert_allclose(values, [0, 1000, TAIL, TAIL], rtol=1e-12)


def test_targets_may_be_lists_tensors_and_narrow_integers() -> None:
    x = np.array([[1.0, 2.0], [3.0, 5.0]])
    wanted = pb.cross_entropy(x, np.array([1, 0]))
    leaf = pb.Tensor(x, requires_grad=True)
    for targets in ([1, 0], pb.Tensor(np.array([1, 0])), np.array([1, 0], np.uint8)):
        assert pb.cross_entropy(leaf, targets).item() == wanted
        loss = pb.nll_loss(pb.log_softmax(leaf), targets)
        np.testing.assert_allclose(loss.item(), wanted)


def test_the_first_of_equal_maxima_receives_the_cotangent() -> None:
    x = np.zeros((1, 1, 3, 3))
    _, g = value_and_gradient(lambda x: pb.max_pool2d(x, 2, stride=1), x, [[[[1, 2], [3, 4]]]])
    assert g.tolist() == [[[[1, 2, 0], [3, 4, 0], [0, 0, 0]]]]
    below = np.full((1, 1, 2, 2), -INF)
    sevens = np.full((1, 1, 2, 2), 7.0)
    y, g = value_and_gradient(lambda x: pb.max_pool2d(x, 2, padding=1), below, sevens)
    assert (y == -INF).all()
    assert (g == 7).all()  # and not the padding, which is as small
    y, g = value_and_gradient(lambda x: pb.max_pool2d(x, 2), [[[[1.0, np.nan], [2.0, 3.0]]]])
    assert np.isnan(y).all()
    assert g.sum() == 1  # passed on, and once
    assert pb.max_pool2d(np.array([[[[-3, -1], [-2, -5]]]]), 2).tolist() == [[[[-1]]]]


def test_same_padding_keeps_the_size_or_divides_it_by_the_stride() -> None:
    for size in range(1, 9):
        for stride in (1, 2, 3):
            for k in (1, 2, 3, 4):
                x, w = np.ones((1, 1, size)), np.ones((1, 1, k))
                y = pb.conv1d(x, w, stride=stride, padding="same")
                assert y.shape == (1, 1, -(-size // stride))


def test_convolutions_in_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(5, 2, 6, 6)), rng.normal(size=(4, 1, 3, 3))

    def all_three() -> list[np.ndarray]:
        leaves = [pb.Tensor(a, requires_grad=True) for a in (x, w)]
        y = pb.conv2d(*leaves, groups=2, padding=1)
        c = np.random.default_rng(1).normal(size=y.shape)
        return [a.numpy() for a in (y, *pb.autograd.grad(y, leaves, c))]

    whole = all_three()
    monkeypatch.setattr(convolutions, "_BLOCK", 1500)  # two examples fit
    for found, wanted in zip(all_three(), whole, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_dropout_of_everything_and_of_nothing() -> None:
    x = pb.Tensor(np.ones((3, 4), np.float32), requires_grad=True)
    assert pb.dropout(x, 0.0) is x
    assert pb.dropout(x, 0.9, training=False) is x
    y, g = value_and_gradient(lambda x: pb.dropout(x, 1.0), np.ones(5))
    assert not y.any()
    assert not g.any()
    kept = pb.dropout(x, 0.5, generator=pb.random.Generator(0))
    assert kept.dtype == np.float32
    assert set(kept.numpy().ravel()) == {0.0, 2.0}


A, B = np.linspace(-3, 3, 24).reshape(2, 3, 4), np.linspace(2, -1, 24).reshape(2, 3, 4)
CLASSES = np.array([[0, 1, 3], [2, 2, 0]])
GENERAL: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "relu": (pb.relu, (A,), {}),
    "gate": (gate, (A, B), {}),
    "sigmoid": (pb.sigmoid, (A,), {}),
    "large sigmoid": (pb.sigmoid, (np.linspace(-50, 50, 3000),), {}),
    "softmax": (pb.softmax, (A,), {"axis": 1}),
    "softmax of -inf": (pb.softmax, (np.full((2, 3), -INF),), {"axis": -1}),
    "softmax of nothing": (pb.softmax, (np.zeros((2, 0)),), {"axis": 1}),
    "logsumexp": (pb.logsumexp, (A,), {"axis": (0, 2), "keepdims": False}),
    "logsumexp of one axis": (pb.logsumexp, (A,), {"axis": 1, "keepdims": True}),
    "logsumexp of nothing": (pb.logsumexp, (A[:0],), {"axis": 1, "keepdims": False}),
    "slope": (cross_entropy_slope, (A, CLASSES), {"axis": -1, "label_smoothing": 0.1}),
    "slope, weights": (cross_entropy_slope, (A, B), {"axis": 1, "label_smoothing": 0.1}),
    "normalise": (normalise, (A,), {"axes": (0, 2), "eps": 0.1, "centred": True}),
    "normalise by size": (normalise, (A,), {"axes": (1,), "eps": 0.1, "centred": False}),
}


@pytest.mark.parametrize("name", GENERAL)
def test_numpys_own_kernels_equal_the_general_forwards(name: str) -> None:
    """The forwards in terms of a namespace, which other libraries run, are tried with NumPy's."""
    function, args, attrs = GENERAL[name]
    assert function.op.kernels[np.ndarray] is nn.KERNELS[function.op.name]
    general = function.op.kernels.forward(np, *args, **attrs)
    np.testing.assert_allclose(function(*args, **attrs), general, rtol=1e-14, atol=1e-15)


IMAGE, KERNEL = np.ones((1, 2, 5, 5)), np.ones((3, 2, 3, 3))
MISUSES: dict[str, tuple[Callable[[], Any], str]] = {
    "elu": (lambda: pb.elu(A, alpha=-1.0), "alpha"),
    "softplus": (lambda: pb.softplus(A, beta=0.0), "beta"),
    "gelu": (lambda: pb.gelu(A, approximate="tan"), "approximate"),
    "reduction": (lambda: pb.mse_loss(A, B, reduction="average"), "reduction"),
    "reduction of entropies": (lambda: pb.cross_entropy(A, CLASSES, reduction="no"), "reduction"),
    "huber": (lambda: pb.huber_loss(A, B, delta=0.0), "delta"),
    "class": (lambda: pb.cross_entropy(A, CLASSES + 1), r"classes in \[0, 4\)"),
    "negative class": (lambda: pb.nll_loss(A, CLASSES - 1), r"classes in \[0, 4\)"),
    "shape of classes": (lambda: pb.cross_entropy(A, CLASSES[:1]), r"\(2, 3\)"),
    "shape of weights": (lambda: pb.cross_entropy(A, B[:1]), r"\(2, 3, 4\)"),
    "axis": (lambda: pb.cross_entropy(A, CLASSES, axis=3), "axis"),
    "axes": (lambda: pb.layer_norm(A, axes=(0, 3)), "layer_norm"),
    "mean without variance": (lambda: pb.batch_norm(A, mean=np.ones(3)), "both or neither"),
    "channels": (lambda: pb.batch_norm(A, np.ones(4)), "weight"),
    "rank": (lambda: pb.conv2d(IMAGE[0], KERNEL), "4 axes"),
    "groups": (lambda: pb.conv2d(IMAGE, KERNEL, groups=2), "groups"),
    "input channels": (lambda: pb.conv2d(IMAGE[:, :1], KERNEL), "multiple of groups"),
    "stride": (lambda: pb.conv2d(IMAGE, KERNEL, stride=0), "stride"),
    "dilation": (lambda: pb.conv2d(IMAGE, KERNEL, dilation=(1, 2, 3)), "dilation"),
    "padding": (lambda: pb.conv2d(IMAGE, KERNEL, padding="full"), "padding"),
    "negative padding": (lambda: pb.conv2d(IMAGE, KERNEL, padding=-1), "padding"),
    "window too large": (lambda: pb.conv2d(IMAGE, np.ones((1, 2, 6, 6))), "fit"),
    "bias": (lambda: pb.conv2d(IMAGE, KERNEL, np.ones(2)), "bias"),
    "transposed": (lambda: pb.conv_transpose2d(IMAGE, KERNEL), "conv_transpose2d"),
    "output padding": (
        lambda: pb.conv_transpose2d(IMAGE, np.ones((2, 1, 2, 2)), output_padding=1), "stride"
    ),
    "pool": (lambda: pb.max_pool2d(IMAGE, 0), "window"),
    "pool padding": (lambda: pb.avg_pool2d(IMAGE, 2, padding=2), "less than the window"),
    "dropout": (lambda: pb.dropout(A, 1.5), "p"),
    "dropout of integers": (lambda: pb.dropout(CLASSES), "dtype"),
    "embedding": (lambda: pb.embedding(A, CLASSES), "2 axes"),
    "embedding at floats": (lambda: pb.embedding(A[0], np.array([1.0])), "integers"),
    "embedding out of range": (lambda: pb.embedding(A[0], np.array([3])), "take"),
}


@pytest.mark.parametrize(("misuse", "word"), MISUSES.values(), ids=MISUSES)
def test_misuses_are_errors_that_say_what_was_wrong(misuse: Any, word: str) -> None:
    with pytest.raises(pb.PullbackError, match=word):
        misuse()
