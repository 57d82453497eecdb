"""`Subject`: a function under test with its examples, and its derivatives in every mode.

Its *point* is a list of raw arrays, one per differentiated leaf of the arguments (real and complex
numbers and arrays); all other leaves are passed to the function unchanged. Cotangents are a list
too: one raw array per output, None for outputs that have no cotangent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from numbers import Number
from typing import Any

import numpy

from ...arrays import adapters, is_array
from ...core.tensor import Tensor, is_inexact, raw, wrap
from ...passes.accumulator import untracked
from ...trees import WithoutNone, flatten
from .naming import names_of
from .steady import steady

Point = list[Any]
Cotangents = list[Any]


class Subject:
    """A function, the arguments to check it at, and the author's declarations.

    f            the function; `surrogate` is the function with the intended derivative, or None
    examples, keywords   its arguments: numbers, arrays, Tensors, pytrees, any other values
    order        the highest order of derivatives that must be right: 1 or 2
    dtypes       names of the dtypes that it must accept, or None
    seed         of all random numbers
    """

    def __init__(
        self, f: Callable[..., Any], examples: Sequence[Any],
        keywords: Mapping[str, Any] | None = None, *, surrogate: Callable[..., Any] | None = None,
        order: int = 2, dtypes: Sequence[str] | None = None, seed: int = 0, name: str = "",
        rtol: float | None = None, atol: float | None = None,
    ) -> None:
        self.f, self.surrogate = f, surrogate
        self.order, self.dtypes, self.seed = order, dtypes, seed
        self.rtol, self.atol = rtol, atol
        if isinstance(f, type) and hasattr(f, "apply"):
            self.f = f.apply
        self.name = name or _name_of(f)
        self.args, self.keywords = tuple(examples), dict(keywords or {})
        self.kept: dict[str, Any] = {}  # shared between laws
        self.leaves, self._rebuild = flatten((tuple(examples), dict(keywords or {})))
        self.wanted = [i for i, x in enumerate(self.leaves) if _has_derivative(x)]
        self._classes = [_class_of(self.leaves[i]) for i in self.wanted]
        self.constants: list[str] = []  # the names of numbers that `set_constants_aside` found

    def set_constants_aside(self) -> None:
        """Leaves Python numbers out of the point for which a rule returns None.

        A number that reaches no rule stays: there the path is lost.
        """
        from ...autograd import gradients
        from ..explain.explain import is_reached

        numbers = {k for k, i in enumerate(self.wanted) if isinstance(self.leaves[i], Number)}
        if not numbers:
            return
        tensors = self.tensors(self.point, requires_grad=True)
        try:
            with steady(self.seed):
                outs = [o for o in self.of(*tensors) if o._node is not None and is_inexact(raw(o))]
                ones = [Tensor(like(o, numpy.ones(o.shape))) for o in outs]
                found = gradients(outs, tensors, ones, allow_unused=True)
        except Exception:  # the laws report it
            return
        roots = {o._node: None for o in outs}
        without = {k for k in numbers if found[k] is None and is_reached(
            roots, None, tensors[k]._node)}
        if all(k in without for k in range(len(tensors))):
            return
        self.constants = [name for k, name in enumerate(self.names) if k in without]
        kept = [k for k in range(len(tensors)) if k not in without]
        self.wanted = [self.wanted[k] for k in kept]
        self._classes = [self._classes[k] for k in kept]
        del self.names

    # Inputs -----------------------------------------------------------------------------------

    @property
    def point(self) -> Point:
        """The examples' differentiated leaves, as raw arrays (numbers as arrays of shape ()).

        Returns copies, so that a function that writes in place does not change the examples.
        """
        return [copied(raw(Tensor(self.leaves[i]))) for i in self.wanted]

    @property
    def uses_front_end(self) -> bool:
        """Whether an example is a tensor of `pullback.tf` or `pullback.torch`."""
        return any(cls is not Tensor for cls in self._classes)

    def rng(self, salt: int = 0) -> numpy.random.Generator:
        """A random generator with the same numbers in every check with this seed."""
        return numpy.random.default_rng([self.seed, salt])

    def draw(self, rng: numpy.random.Generator, spread: float = 0.1) -> Point:
        """A random point near the examples; small changes keep it inside the domain."""
        return self.near(self.point, rng, spread)

    def near(self, point: Point, rng: numpy.random.Generator, spread: float = 0.1) -> Point:
        """A random point near another point."""
        moved = []
        for x in point:
            values = numpy_of(x)
            scale = spread * numpy.minimum(1.0, 0.01 + numpy.abs(values))
            moved.append(like(x, values + scale * random_like(values, rng)))
        return moved

    def cotangents(self, outs: Sequence[Any], rng: numpy.random.Generator) -> Cotangents:
        """A random cotangent for each output, never ones; None for integers and booleans."""
        return [
            like(raw(o), random_like(numpy_of(o), rng)) if is_inexact(raw(o)) else None
            for o in outs
        ]

    @cached_property
    def names(self) -> list[str]:
        """The names of the differentiated leaves in messages."""
        every = names_of(self.args, self.keywords)
        return [every[i] for i in self.wanted]

    def cast(self, dtype: str) -> Point:
        """The examples in a dtype: complex ones in the complex dtype of the same precision."""
        wanted_complex = dtype.startswith("complex")
        any_complex = any(numpy_of(x).dtype.kind == "c" for x in self.point)
        real = {"complex128": "float64", "complex64": "float32"}.get(dtype, dtype)
        made = []
        for x in self.point:
            values, kind = numpy_of(x), real
            if values.dtype.kind == "c" or (wanted_complex and not any_complex):
                kind = {"float64": "complex128"}.get(real, "complex64")
                if values.dtype.kind != "c":
                    values = values + 0.3j * random_like(values, self.rng(5))
            made.append(in_dtype(x, values, kind))
        return made

    @cached_property
    def best(self) -> Point:
        """The examples in double precision; unchanged if the function rejects that."""
        point = self.cast("float64")
        return point if self.accepts(point) else self.point

    def accepts(self, point: Point) -> bool:
        """Whether the function itself, without derivatives, accepts a point."""
        try:
            self.values(point)
        except Exception:  # any error means that it rejects the point
            return False
        return True

    # Outputs ----------------------------------------------------------------------------------

    def tensors(self, point: Point, *, requires_grad: bool = False) -> list[Tensor]:
        """The point as Tensors of the examples' classes (`pullback.tf`, `pullback.torch`)."""
        made = [wrap(cls, x) for cls, x in zip(self._classes, point, strict=True)]
        return [t.requires_grad_() for t in made] if requires_grad else made

    def tensors_like(self, spaces: Sequence[Any], values: Sequence[Any]) -> list[Tensor]:
        """Tensors of `values`, in the array libraries and dtypes of `spaces`."""
        classes = [*self._classes, *(Tensor for _ in spaces)]
        return [
            wrap(cls, like(x, v))
            for cls, x, v in zip(classes, spaces, values, strict=False)
        ]

    def arguments(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments with `tensors` as the differentiated leaves."""
        leaves = list(self.leaves)
        for i, t in zip(self.wanted, tensors, strict=True):
            leaves[i] = t
        args, keywords = self._rebuild(leaves)
        return args, keywords

    def of(self, *tensors: Any) -> list[Any]:
        """The outputs of f for these differentiated leaves: one Tensor per output, no None."""
        return self.run(self.f, tensors)

    def run(self, f: Callable[..., Any], tensors: Sequence[Any]) -> list[Any]:
        """The outputs of a function for these differentiated leaves."""
        args, keywords = self.arguments(tensors)
        outs = WithoutNone(f(*args, **keywords)).leaves
        return [o if isinstance(o, Tensor) else Tensor(o) for o in outs]

    def values(self, point: Point) -> list[Any]:
        """The outputs at a point, as raw arrays."""
        with steady(self.seed):
            return [raw(o) for o in self.of(*self.tensors(point))]

    def meant(self, point: Point) -> list[Any]:
        """The raw outputs of the surrogate, or of f if there is none, at a point."""
        with steady(self.seed):
            return [raw(o) for o in self.run(self.surrogate or self.f, self.tensors(point))]

    def pulling(self, point: Point) -> tuple[list[Any], Callable[..., list[Any]]]:
        """The raw outputs at a point, and the pullback from raw cotangents to raw gradients.

        The pullback's second argument seeds the random numbers that rules draw in the backward.
        """
        from ...transforms.reverse import vjp

        with steady(self.seed):
            outs, pull = vjp(self.of, *self.tensors(point))

        def pulled(gs: Cotangents, seed: int = 1) -> list[Any]:
            with steady(self.seed + seed):
                return [raw(g) for g in pull(gs)]

        return [raw(o) for o in outs], pulled

    def vjp(self, point: Point, cotangents: Cotangents) -> list[Any]:
        """The raw gradients at a point, one per differentiated leaf."""
        return self.pulling(point)[1](cotangents)

    def jvp(self, point: Point, tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The raw outputs at a point, and their raw tangents."""
        from ...transforms.forward import jvp

        tensors = self.tensors(point)
        with steady(self.seed):
            outs, ts = jvp(self.of, tensors, tangents)
        return [raw(untracked(o)) for o in outs], [raw(untracked(t)) for t in ts]


def numpy_of(x: Any) -> Any:
    """The entries of a raw array or a Tensor as a NumPy array."""
    x = raw(x)
    return numpy.asarray(adapters[x.__class__].numpy(x))


def copied(x: Any) -> Any:
    """A copy of a raw array, in the same memory order."""
    return x.copy(order="K") if isinstance(x, numpy.ndarray) else adapters[x.__class__].copy(x)


def like(x: Any, values: Any) -> Any:
    """A raw array of these values, with the library and the dtype of `x`."""
    x = raw(x)
    adapter = adapters[x.__class__]
    return raw(Tensor(adapter.asarray(numpy.asarray(values), x.dtype, x)))


def in_dtype(x: Any, values: Any, dtype: str) -> Any:
    """A raw array of these values in a dtype, with the library of `x`."""
    adapter = adapters[x.__class__]
    if dtype == "bfloat16" and adapter.name == "numpy":
        import ml_dtypes

        return raw(Tensor(numpy.asarray(values).astype(ml_dtypes.bfloat16)))
    wide = numpy.asarray(values)
    return raw(Tensor(adapter.asarray(wide, adapter.dtype(dtype), x)))


def random_like(values: Any, rng: numpy.random.Generator) -> Any:
    """Standard normal numbers in the shape of an array; complex for a complex array."""
    made = rng.standard_normal(values.shape)
    if values.dtype.kind == "c":
        made = made + 1j * rng.standard_normal(values.shape)
    return numpy.asarray(made)


def _has_derivative(x: Any) -> bool:
    if isinstance(x, Tensor):
        return is_inexact(x._data)
    if isinstance(x, (bool, int)):
        return False
    return isinstance(x, (float, complex)) or (is_array(x) and is_inexact(x))


def _name_of(f: Any) -> str:
    name = str(getattr(f, "__name__", type(f).__name__))
    if name != "apply":
        return name
    owner = getattr(f, "__self__", None)  # the class of a `Function`
    outer = str(getattr(f, "__qualname__", name)).split(".")[-2:][0]
    return owner.__name__ if isinstance(owner, type) else name if "<" in outer else outer


def _class_of(x: Any) -> type:
    return x._out if isinstance(x, Tensor) else Tensor
