"""The registry: every operation has a row, the standard's signatures, and well-formed rules."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from pullback.core.op import OPS, op
from tests.laws.cases import NAMES, ROWS
from tests.laws.checks import is_inexact
from tests.laws.standard import CONSTANTS, DTYPES, SIGNATURES
from tests.loops import each, none_of


@pytest.fixture
def scratch() -> Iterator[Any]:
    """An operation `scratch(x)` for the length of a test."""

    @op
    def scratch(xp: Any, x: Any, /, *, power: int = 2) -> Any:
        return x**power

    yield scratch
    del OPS["scratch"]


def test_every_operation_has_a_row() -> None:
    assert not set(NAMES) - {row.name for row in ROWS}


def test_a_differentiable_row_has_an_argument_to_differentiate() -> None:
    """Else its laws would hold of nothing."""
    none_of(
        [row for row in ROWS if row.differentiable],
        lambda row: not any(is_inexact(a) for a in row.draw()), lambda row: row.id,
    )


def test_every_operation_has_a_rule_or_says_why_not() -> None:
    def law(name: str) -> None:
        made = OPS[name].op  # type: ignore[attr-defined]
        assert bool(made.rules) == made.differentiable

    each(NAMES, law)


WITHOUT_SHAPE = {
    "hide_axis": "a hidden axis has no place in the shape of a graph: its length must be known",
    "show_axis": "a hidden axis has no place in the shape of a graph: its length must be known",
}
"""Operations that state no shape, with the reason."""


def test_every_operation_states_the_shape_of_its_result() -> None:
    """Beside its other rules; `tests/graphs/test_shape_rules.py` compares them with results."""
    def law(name: str) -> None:
        made = OPS[name].op  # type: ignore[attr-defined]
        assert (made.elementwise or made.shape is not None) == (name not in WITHOUT_SHAPE)
        if callable(made.shape):
            assert made.shape.__module__ == OPS[name].__module__

    each(NAMES, law)


def test_every_operation_is_documented_with_an_example() -> None:
    def law(name: str) -> None:
        text = OPS[name].__doc__ or ""
        assert text.strip(), f"{name} has no docstring"
        assert ">>>" in text, f"{name} has no example"

    each(NAMES, law)


def test_every_rule_is_named_after_its_operation() -> None:
    def law(name: str) -> None:
        made = OPS[name].op  # type: ignore[attr-defined]
        for index, rule in made.rules.items():
            own = {f"{kind}_{name}" for kind in ("pullback", "partial", "pushforward")}
            own |= {f"{n}_{made.arguments[index]}" for n in own} | {"pullback_flat"}
            assert rule.function.__name__ in own

    each(NAMES, law)


def parameters(function: Any) -> str:
    """The names of a function's parameters, with the marks of positional and keyword-only ones."""
    found = inspect.signature(function).parameters.values()
    plain = [
        p.replace(default=p.empty, annotation=p.empty)
        for p in found if p.kind is not p.VAR_KEYWORD
    ]
    return str(inspect.Signature(plain))[1:-1]


def differs(name: str) -> str:
    """How a signature differs from the standard's; an empty string where it does not."""
    if not hasattr(pb, name):
        return "is not there"
    if inspect.isclass(getattr(pb, name)):
        return ""
    wanted, got = SIGNATURES[name], parameters(getattr(pb, name))
    missing = [p for p in wanted.split(", ") if p not in ("/", "*") and p not in got.split(", ")]
    if missing:
        return f"{name}({got}) lacks {missing} of {name}({wanted})"
    if "/" in wanted.split(", ") and not got.startswith(wanted.partition(", /")[0]):
        return f"{name}({got}) begins otherwise than {name}({wanted})"
    return ""


def test_the_standard_is_there_with_its_signatures() -> None:
    none_of(sorted(SIGNATURES), differs, str)


def test_the_standard_s_constants_and_dtypes_are_there() -> None:
    assert [name for name in [*CONSTANTS, *DTYPES] if not hasattr(pb, name)] == []


def test_a_rule_with_another_name_is_refused(scratch: Any) -> None:
    with pytest.raises(errors.RuleError) as caught:

        @scratch.pullback("x")
        def gradient(g: Any) -> Any:
            return g

    assert "rule `gradient` of `scratch`" in str(caught.value)
    assert "`pullback_scratch` or `pullback_scratch_x`" in str(caught.value)


class Doubled:
    """A rule that is an object with parameters of its own."""

    __name__ = "pullback_scratch"

    def __call__(self, g: Any, x: Any, *, power: int) -> Any:
        return g * power * x ** (power - 1)


def logged(rule: Any) -> Any:
    @functools.wraps(rule)
    def call(*args: Any, **keywords: Any) -> Any:
        return rule(*args, **keywords)

    return call


def pullback_scratch(g: Any, x: Any, *, power: int, factor: int = 1) -> Any:
    return factor * g * power * x ** (power - 1)


def of_no_other_attribute(g: Any, x: Any, *, power: int) -> Any:
    return pullback_scratch(g, x, power=power)


of_no_other_attribute.__name__ = "pullback_scratch"


@pytest.mark.parametrize(
    "rule", [logged(of_no_other_attribute), logged(logged(of_no_other_attribute)), Doubled()],
    ids=["functools.wraps", "functools.wraps twice", "an object"],
)
def test_a_rule_may_be_any_callable(scratch: Any, rule: Any) -> None:
    scratch.pullback("x")(rule)
    x = pb.tensor([1.0, -3.0], requires_grad=True)
    pb.sum(scratch(x, power=3) * pb.tensor([0.5, 2.0])).backward()
    assert x.grad.tolist() == [1.5, 54.0]
    assert rule.__name__ in repr(scratch.op.rules[0].name)


def test_a_rule_may_be_a_partial_function(scratch: Any) -> None:
    def pullback_scratch(factor: float, g: Any, x: Any, *, power: int) -> Any:
        return factor * g * power * x ** (power - 1)

    scratch.pullback("x")(functools.partial(pullback_scratch, 1.0))
    scratch.batching(functools.partial(logged(batch_scratch)))
    assert pb.grad(lambda x: scratch(x, power=3))(2.0).item() == 12.0
    mapped = pb.vmap(pb.grad(lambda x: scratch(x, power=3)))
    assert mapped(pb.tensor([2.0, 1.0])).tolist() == [12.0, 3.0]


def batch_scratch(x: Any, *, power: int) -> Any:
    return x**power


def test_a_forward_may_be_any_callable() -> None:
    def scaled(factor: float, xp: Any, x: Any, /) -> Any:
        return factor * x

    made = op(functools.partial(scaled, 3.0), name="scratch")
    try:
        assert made(pb.tensor(2.0)).item() == 6.0
        assert str(inspect.signature(made)) == "(x: 'Any', /) -> 'Any'"
        with pytest.raises(errors.RuleError, match="<lambda>"):
            made.pullback("x")(functools.partial(lambda factor, g: factor * g, 3.0))
    finally:
        del OPS["scratch"]


def test_a_rule_whose_parameters_cannot_be_read_is_refused(scratch: Any) -> None:
    class Hidden(Doubled):
        __signature__ = "none"

    with pytest.raises(errors.RuleError, match="a callable whose parameters can be read"):
        scratch.pullback("x")(Hidden())


def test_a_shape_rule_with_another_name_is_refused(scratch: Any) -> None:
    with pytest.raises(errors.RuleError, match="the name `shape_scratch`"):
        scratch.shaping(lambda x: x.shape)
    assert scratch.op.shape is None


@pytest.mark.parametrize(
    "forward", [lambda xp, x, y, /, axis: x, lambda xp, x, /, axes: x], ids=["two arrays", "axes"]
)
def test_a_reduction_has_one_array_and_axis(forward: Any) -> None:
    with pytest.raises(errors.RuleError, match="option `reduction` of `scratch`"):
        op(name="scratch", reduction=True)(forward)
    assert "scratch" not in OPS


@pytest.mark.parametrize("how", [{}, {"axis": -1}, {"axis": (0, 2), "keepdims": True}], ids=str)
def test_a_reduction_needs_no_batching_rule(how: dict[str, Any]) -> None:
    @op(reduction=True)
    def scratch(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        return xp.sum(x * x, axis=axis, keepdims=keepdims)

    x = np.random.default_rng(0).normal(size=(5, 2, 3, 4))
    try:
        got = pb.vmap(lambda x: scratch(x, **how), 1)(x)
        wanted = np.stack([scratch(x[:, i], **how) for i in range(2)])
    finally:
        del OPS["scratch"]
    np.testing.assert_allclose(got.numpy(), wanted)


@pytest.mark.parametrize("options", [{"shape": "y"}, {"dtype": "y"}], ids=str)
def test_a_shape_of_an_unknown_argument_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(errors.RuleError, match="an array argument: x"):
        op(name="scratch", **options)(lambda xp, x, /: x)
    assert "scratch" not in OPS


def test_a_lambda_is_refused(scratch: Any) -> None:
    with pytest.raises(errors.RuleError, match="<lambda>"):
        scratch.pullback("x")(lambda g: g)


def test_a_rule_for_an_unknown_argument_is_refused(scratch: Any) -> None:
    def pullback_scratch_y(g: Any) -> Any:
        return g

    with pytest.raises(errors.RuleError, match="an array argument: x"):
        scratch.pullback("y")(pullback_scratch_y)


def test_a_rule_for_an_attribute_is_refused(scratch: Any) -> None:
    def pullback_scratch_power(g: Any) -> Any:
        return g

    with pytest.raises(errors.RuleError, match="an array argument: x"):
        scratch.pullback("power")(pullback_scratch_power)


def test_a_rule_that_reads_what_is_not_there_is_refused(scratch: Any) -> None:
    def pullback_scratch(g: Any, outt: Any) -> Any:
        return g

    with pytest.raises(errors.RuleError, match="did you mean 'out'") as caught:
        scratch.pullback("x")(pullback_scratch)
    assert "'outt'" in str(caught.value)


def test_a_rule_that_takes_an_unknown_attribute_is_refused(scratch: Any) -> None:
    def pullback_scratch(g: Any, x: Any, *, powr: int) -> Any:
        return g

    with pytest.raises(errors.RuleError, match="powr"):
        scratch.pullback("x")(pullback_scratch)


def test_a_rule_whose_first_parameter_is_not_g_is_refused(scratch: Any) -> None:
    def pullback_scratch(x: Any, g: Any) -> Any:
        return g

    with pytest.raises(errors.RuleError, match="a first parameter `g`"):
        scratch.pullback("x")(pullback_scratch)


def test_a_refused_rule_leaves_the_operation_as_it_was(scratch: Any) -> None:
    with pytest.raises(errors.RuleError):
        scratch.pullback("x")(lambda g: g)
    assert scratch.op.rules == {}


def test_an_operation_twice_is_refused(scratch: Any) -> None:
    with pytest.raises(errors.DuplicateNameError, match="operation `scratch`"):

        @op(name="scratch")
        def another(xp: Any, x: Any, /) -> Any:
            return x

    assert OPS["scratch"] is scratch


def test_an_unknown_operation_is_suggested(scratch: Any) -> None:
    from pullback.custom.override import find_op

    assert find_op("scratch") is find_op(scratch) is scratch.op
    with pytest.raises(errors.UnknownNameError, match="did you mean 'scratch'"):
        find_op("scrtch")
    with pytest.raises(errors.UnknownNameError, match="a int"):
        find_op(3)


def test_wrong_calls_are_refused(scratch: Any) -> None:
    for call in (lambda: scratch(), lambda: scratch(1.0, 2, 3), lambda: scratch(1.0, powr=2)):
        with pytest.raises(errors.ArgumentTypeError, match="`scratch`"):
            call()
    with pytest.raises(errors.ArgumentTypeError, match="operand"):
        scratch("text")
