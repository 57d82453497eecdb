"""The namespace as the Array API standard asks about it, and the Tensor as an array of it."""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback import errors
from tests.laws.standard import BINARY, DTYPES, SIGNATURES, UNARY
from tests.loops import each
from tests.parts import release
from tests.tier import share

INFO = pb.__array_namespace_info__()

KINDS = ["bool", "signed integer", "unsigned integer", "integral", "real floating",
         "complex floating", "numeric"]

BITS = [name for name in (*UNARY, *BINARY) if name.startswith("bitwise_")]
LOGIC = [name for name in (*UNARY, *BINARY) if name.startswith("logical_")]
ORDER = ["greater", "greater_equal", "less", "less_equal", "maximum", "minimum", "remainder",
         "floor_divide"]
REAL = ["atan2", "copysign", "hypot", "logaddexp", "nextafter", "signbit"]
ROUNDING = ["ceil", "floor", "trunc"]
ANY = ["abs", "add", "equal", "multiply", "not_equal", "positive", "square", "subtract", "isfinite",
       "isinf", "isnan", "negative", "pow", "sign", "round"]


def takes(name: str, dtype: str) -> bool:
    """Whether the standard has a function for a dtype."""
    if name in ("equal", "not_equal"):
        return True
    if name in LOGIC or dtype == "bool":
        return dtype == "bool" and name in (*LOGIC, *BITS) and "shift" not in name
    integral, complex_ = "int" in dtype, dtype.startswith("complex")
    if name in BITS:
        return integral
    if name in (*ORDER, *ROUNDING):
        return not complex_
    if name in REAL:
        return dtype.startswith("float")
    if name in ("conj", "imag", "real"):
        return not integral
    return name in ANY or not integral


def dtypes_of(name: str) -> list[str]:
    """The dtypes for which the standard has a function."""
    return [d for d in DTYPES if takes(name, d)]


def drawn(dtype: str) -> np.ndarray:
    return np.array([1, 1, 0, 1] if dtype == "bool" else [1, 1, 1, 1]).astype(dtype)


def assert_like_numpy(found: Any, wanted: Any) -> None:
    assert isinstance(found, pb.Tensor)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


# Dtypes of results --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("acosh", "atanh")])
def test_functions_of_one_array_have_numpy_s_dtypes(name: str) -> None:
    def law(dtype: str) -> None:
        x = drawn(dtype)
        assert_like_numpy(getattr(pb, name)(pb.asarray(x)), np.asarray(getattr(np, name)(x)))

    each(dtypes_of(name), law)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays_have_numpy_s_dtypes(name: str) -> None:
    ours, theirs = getattr(pb, name), getattr(np, name)

    def law(dtype: str) -> None:
        x, y = drawn(dtype), drawn(dtype)[::-1].copy()
        y[y == 0] = name in ("floor_divide", "remainder", "divide")
        assert_like_numpy(ours(pb.asarray(x), pb.asarray(y)), theirs(x, y))
        number = y[0].item()  # the standard lets either be a number of Python's
        assert_like_numpy(ours(pb.asarray(x), number), theirs(x, x.dtype.type(number)))
        assert_like_numpy(ours(number, pb.asarray(y)), theirs(x.dtype.type(number), y))

    each(dtypes_of(name), law)


OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "pow",
    "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}
COMPARISONS = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal",
               "gt": "greater", "ge": "greater_equal"}


@pytest.mark.parametrize(
    ("name", "dtype"),
    share([(n, d) for n in OPERATORS for d in DTYPES if takes(OPERATORS[n], d)], 3),
)
def test_operators_on_either_side_and_in_place(name: str, dtype: str) -> None:
    x, y = drawn(dtype), drawn(dtype)
    y[y == 0] = 1
    wanted = getattr(np, OPERATORS[name])(x, y)
    number = y[0].item()
    symbol: Callable[[Any, Any], Any] = getattr(operator, f"{name}_" if name in ("and", "or")
                                                else name)
    for other in (pb.asarray(y), number):
        assert_like_numpy(symbol(pb.asarray(x), other), wanted)
    assert_like_numpy(getattr(pb.Tensor, f"__r{name}__")(pb.asarray(y), pb.asarray(x)), wanted)
    assert_like_numpy(symbol(number, pb.asarray(y)), getattr(np, OPERATORS[name])(y, y))
    for other in (pb.asarray(y), number):
        t = same = pb.asarray(x, copy=True)
        t = getattr(operator, f"i{name}")(t, other)
        assert t is same
        assert_like_numpy(t, wanted)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_booleans(name: str) -> None:
    symbol = getattr(operator, name)
    x, y = np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])
    assert_like_numpy(symbol(pb.asarray(x), pb.asarray(y)), getattr(np, COMPARISONS[name])(x, y))
    assert_like_numpy(symbol(pb.asarray(x), 2.0), symbol(x, 2.0))
    assert_like_numpy(symbol(2.0, pb.asarray(x)), symbol(2.0, x))


@pytest.mark.parametrize("one", DTYPES)
def test_two_dtypes_promote_as_the_standard_says(one: str) -> None:
    def law(two: str) -> None:
        wanted = np.result_type(np.dtype(one), np.dtype(two))
        assert pb.result_type(getattr(pb, one), getattr(pb, two)) == wanted
        x, y = pb.ones(2, dtype=getattr(pb, one)), pb.ones(2, dtype=getattr(pb, two))
        assert (x * y).dtype == wanted
        assert pb.where(pb.asarray([True, False]), x, y).dtype == wanted
        assert pb.concat([x, y]).dtype == wanted
        assert pb.can_cast(getattr(pb, one), wanted)
        assert pb.can_cast(x, wanted)

    each(DTYPES, law)


# The array object ---------------------------------------------------------------------------


METHODS = [
    "abs", "add", "and", "array_namespace", "bool", "complex", "dlpack", "dlpack_device", "eq",
    "float", "floordiv", "ge", "getitem", "gt", "index", "int", "invert", "le", "lshift", "lt",
    "matmul", "mod", "mul", "ne", "neg", "or", "pos", "pow", "rshift", "setitem", "sub",
    "truediv", "xor",
]


def test_every_method_and_attribute_of_the_standard_is_there() -> None:
    names = [f"__{name}__" for name in METHODS]
    names += [f"__{side}{name}__" for side in "ri" for name in (*OPERATORS, "matmul")]
    names += ["dtype", "device", "mT", "ndim", "shape", "size", "T", "to_device"]
    assert [name for name in names if not hasattr(pb.Tensor, name)] == []


def keywords_of(function: Any) -> set[str]:
    return {p.name for p in inspect.signature(function).parameters.values()
            if p.kind is p.KEYWORD_ONLY}


def test_methods_take_the_standard_s_keywords() -> None:
    assert keywords_of(pb.Tensor.__dlpack__) == {"stream", "max_version", "dl_device", "copy"}
    assert keywords_of(pb.Tensor.__array_namespace__) == {"api_version"}
    assert keywords_of(pb.Tensor.to_device) == {"stream"}


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_arguments_are_passed_as_the_standard_says(name: str) -> None:
    function = getattr(pb, name)
    if inspect.isclass(function):
        return
    found = list(inspect.signature(function).parameters.values())
    before, _, only = SIGNATURES[name].replace("arrays, indexing", "arrays, *, indexing").partition(
        "*, "
    )
    positional = [p for p in before.strip(", ").split(", ") if p]
    cut = positional.index("/") if "/" in positional else 0
    for place, wanted in enumerate(p for p in positional if p != "/"):
        parameter = found[place]
        assert parameter.name == wanted.lstrip("*"), f"{name}: {parameter} in place {place}"
        if place >= cut and not wanted.startswith("*"):  # may be passed by name, too
            assert parameter.kind is parameter.POSITIONAL_OR_KEYWORD, f"{name}: {parameter}"
    for keyword in filter(None, only.split(", ")):
        (parameter,) = [p for p in found if p.name == keyword]
        assert parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_becomes_one_of_python_s_if_it_is_of_the_kind(dtype: str) -> None:
    x = pb.ones((), dtype=getattr(pb, dtype))
    assert bool(x) is True
    assert bool(x * 0) is False
    assert (complex(x), type(complex(x))) == (1 + 0j, complex)
    for convert in (float, int):
        if dtype.startswith("complex"):
            with pytest.raises(TypeError):
                convert(x)
        else:
            assert (convert(x), type(convert(x))) == (1, convert)
    if "int" in dtype:
        assert operator.index(x) == 1
    else:
        with pytest.raises(TypeError):
            operator.index(x)


def test_what_is_no_integer_is_none() -> None:
    with pytest.raises(ValueError, match="NaN"):
        int(pb.asarray(np.nan))
    with pytest.raises(OverflowError):
        int(pb.asarray(np.inf))


def test_memory_is_shared_through_dlpack() -> None:
    x = pb.asarray([1.0, 2.0])
    assert np.shares_memory(np.from_dlpack(x), x.data)
    assert np.shares_memory(pb.from_dlpack(x, device="cpu", copy=False).data, x.data)
    assert not np.shares_memory(pb.from_dlpack(x, copy=True).data, x.data)
    assert "versioned" not in repr(x.__dlpack__())


def test_what_is_asked_of_dlpack_goes_to_numpy() -> None:
    """NumPy 2.0 knows no version of the protocol, and says so with the error for that."""
    def outcome(x: Any, **how: Any) -> str:
        try:
            return repr(x.__dlpack__(**how)).partition(" at ")[0]
        except TypeError as error:
            return str(error)

    x = pb.asarray([1.0, 2.0])
    how = {"stream": None, "max_version": (1, 0), "dl_device": x.__dlpack_device__(), "copy": True}
    asked = {name: value for name, value in how.items() if value is not None}
    assert outcome(x, **how) == outcome(x.data, **asked)
    assert ("versioned" in outcome(x, **how)) == (release(np.__version__) >= (2, 1))


def test_a_gradient_that_left_through_dlpack_is_explained() -> None:
    def f(x: Any) -> Any:
        return pb.asarray(np.from_dlpack(x)) * 2.0

    with pytest.raises(errors.LostGradientError, match="__dlpack__"):
        pb.jacobian(f)(pb.asarray([1.0, 2.0]))


def test_the_namespace_is_the_package_at_its_version() -> None:
    x = pb.asarray([1.0])
    assert pb.__array_api_version__ == "2024.12"
    for version in (None, "2021.12", "2023.12", pb.__array_api_version__):
        assert x.__array_namespace__(api_version=version) is pb
    for version in ("2020.12", "2024", 2024):
        with pytest.raises(errors.ArgumentError, match="`api_version`"):
            x.__array_namespace__(api_version=version)


# Inspection ---------------------------------------------------------------------------------


def test_defaults_are_those_of_what_is_made() -> None:
    defaults = INFO.default_dtypes()
    assert list(defaults) == ["real floating", "complex floating", "integral", "indexing"]
    for x in (pb.zeros(2), pb.asarray([1.0]), pb.linspace(0, 1, 3), pb.asarray([1]) / 2):
        assert x.dtype == defaults["real floating"]
    for x in (pb.asarray([1j]), pb.fft.fft(pb.zeros(2))):
        assert x.dtype == defaults["complex floating"]
    for x in (pb.asarray([1]), pb.arange(3), pb.full(2, 7)):
        assert x.dtype == defaults["integral"]
    y = pb.asarray([3.0, 1.0])
    for x in (pb.argmax(y), pb.argsort(y), pb.nonzero(y)[0], pb.searchsorted(y, y),
              pb.count_nonzero(y), pb.unique_all(y).indices):
        assert x.dtype == defaults["indexing"]


def test_devices_are_where_tensors_are() -> None:
    (device,) = INFO.devices()
    assert INFO.default_device() == device == pb.zeros(2).device
    x = pb.zeros(2, device=device)
    assert x.to_device(device) is x
    assert INFO.default_dtypes(device=device) == INFO.default_dtypes()
    assert INFO.dtypes(device=device) == INFO.dtypes()


def test_capabilities_are_true() -> None:
    found = INFO.capabilities()
    assert set(found) == {"boolean indexing", "data-dependent shapes", "max dimensions"}
    assert found["boolean indexing"] is True
    assert found["data-dependent shapes"] is True
    most = found["max dimensions"]
    assert pb.ones((1,) * most).ndim == most
    with pytest.raises(ValueError, match="dimension"):
        pb.ones((1,) * (most + 1))


def test_dtypes_are_those_of_the_namespace_by_kind() -> None:
    every = INFO.dtypes()
    assert list(every) == DTYPES
    assert all(getattr(pb, name) is dtype for name, dtype in every.items())
    for kind in KINDS:
        wanted = {n: d for n, d in every.items() if pb.isdtype(d, kind)}
        assert INFO.dtypes(kind=kind) == wanted
    pairs = list(itertools.combinations(KINDS, 2))
    for pair in pairs:
        assert INFO.dtypes(kind=pair) == {n: d for n, d in every.items() if pb.isdtype(d, pair)}
    assert INFO.dtypes(kind=()) == {}


def test_what_is_not_there_is_an_error() -> None:
    with pytest.raises(errors.ArgumentError, match="did you mean 'real floating'"):
        INFO.dtypes(kind="real float")
    for kind in (("bool", "int"), ["bool"], 3):
        with pytest.raises(errors.ArgumentError, match="`kind` of `dtypes`"):
            INFO.dtypes(kind=kind)
    for question in (INFO.dtypes, INFO.default_dtypes):
        with pytest.raises(errors.ArgumentError, match="`device`"):
            question(device="gpu")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_limits_of_floats_are_python_s_numbers(dtype: str) -> None:
    own, wanted = getattr(pb, dtype), np.finfo(dtype)
    for asked in (own, pb.ones(2, dtype=own), np.ones(2, dtype)):
        found = pb.finfo(asked)
        assert (found.bits, type(found.bits)) == (wanted.bits, int)
        for name in ("eps", "max", "min", "smallest_normal"):
            value = getattr(found, name)
            assert (value, type(value)) == (getattr(wanted, name), float)
        assert found.dtype == np.ones(1, dtype).real.dtype


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "int" in d])
def test_limits_of_integers(dtype: str) -> None:
    own, wanted = getattr(pb, dtype), np.iinfo(dtype)
    for asked in (own, pb.ones(2, dtype=own)):
        found = pb.iinfo(asked)
        assert (found.bits, found.max, found.min) == (wanted.bits, wanted.max, wanted.min)
        assert found.dtype == own


def test_questions_about_dtypes_are_refused_in_words() -> None:
    for call, error, text in [
        (lambda: pb.finfo(pb.int8), errors.DtypeError, "`finfo`.*use iinfo"),
        (lambda: pb.iinfo(pb.asarray([1.0])), errors.DtypeError, "`iinfo`.*use finfo"),
        (lambda: pb.isdtype(pb.float32, "float"), errors.ArgumentError, "real floating"),
        (lambda: pb.isdtype(pb.float32, 3), errors.ArgumentTypeError, "`isdtype`"),
        (lambda: pb.nonzero(pb.asarray(1.0)), errors.ShapeError, "`nonzero`"),
        (lambda: pb.nonzero(1.0), errors.ShapeError, "at least one axis"),
    ]:
        with pytest.raises(error, match=f"(?s){text}"):
            call()


def test_dtypes_of_other_libraries_are_asked_of_them() -> None:
    torch = pytest.importorskip("torch")
    for asked in (torch.complex64, pb.tensor(torch.ones(2))):
        found = pb.finfo(asked)
        assert (found.bits, found.eps, found.dtype) == (32, 2.0**-23, torch.float32)
    assert pb.iinfo(torch.int16) == (16, 2**15 - 1, -(2**15), torch.int16)
    assert pb.isdtype(torch.float32, "real floating")
    assert pb.isdtype(torch.float32, (pb.float32, "bool"))
    assert not pb.isdtype(torch.float32, (pb.float64, "complex floating"))
    assert pb.result_type(torch.float32, pb.float64, 1.0) is torch.float64
    assert pb.can_cast(torch.float32, pb.float64)
    assert not pb.can_cast(pb.float64, torch.int8)
    with pytest.raises(errors.DtypeError, match="`iinfo`"):
        pb.iinfo(torch.float32)
