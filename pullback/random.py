"""Random samples from generators whose state can be seeded, saved and restored.

    generator = Generator(seed=0)
    noise = generator.normal((2, 3))

The functions of this module draw from one default generator, which `seed` reseeds. Samples are
Tensors. `normal`, `uniform` and `exponential` are reparametrised: the noise that is drawn depends
on no parameter, and `loc + scale * noise` is recorded, so gradients flow to parameters that are
Tensors.

Threads: a draw locks its generator, so threads may share one, but the scheduler then decides which
thread gets which numbers. For reproducible numbers give each thread its own generator from `spawn`.

Inside `vmap` each example draws its own numbers, or all the same with `randomness="same"`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, MutableSequence
from typing import Any

import numpy

from .arrays import known
from .arrays.batched import Batched, moved_to
from .arrays.kept import check_draw
from .arrays.symbol import OpenShape
from .core.op import OPS
from .core.tensor import Tensor, raw, to_array, wrap
from .errors import (
    ArgumentError,
    ArgumentTypeError,
    BatchedValueError,
    DtypeError,
    PullbackError,
)
from .kinds.batching import drawn
from .kinds.symbols import current_graph
from .kinds.vmaps import running
from .rng_replay import Draws as Draws
from .rng_replay import block

__all__ = [
    "Draws", "Generator", "bernoulli", "choice", "default_generator", "exponential", "get_state",
    "integers", "normal", "permutation", "seed", "set_state", "shuffle", "spawn", "uniform",
]

Shape = int | tuple[int, ...] | None


class Generator:
    """A stream of random numbers; the same seed gives the same stream.

    Without a seed the stream is different each time.

    >>> import pullback as pb
    >>> one, other = pb.random.Generator(7), pb.random.Generator(7)
    >>> bool((one.normal((3,)).numpy() == other.normal((3,)).numpy()).all())
    True
    """

    __slots__ = ("_own",)

    def __init__(self, seed: int | None = None) -> None:
        self._own = _stream(seed)

    def seed(self, seed: int | None = None) -> None:
        """Restart the stream from a seed; None takes a fresh one from the operating system.

        >>> generator = Generator(0)
        >>> first = generator.normal()
        >>> generator.seed(0)
        >>> bool(first == generator.normal())
        True
        """
        block().put(self, _stream(seed))

    @property
    def _stream(self) -> Any:
        """NumPy's generator of the stream; a substitute while draws are replayed."""
        return block().get(self)

    @property
    def _numpy(self) -> Any:
        """The same, to draw from: an error for numbers of the host while JAX traces."""
        stream = self._stream
        if isinstance(stream, numpy.random.Generator):
            check_draw()
        return stream

    def get_state(self) -> dict[str, Any]:
        """The state of the stream, for `set_state`: nested dictionaries of strings and integers.

        >>> import pullback as pb
        >>> generator = pb.random.Generator(0)
        >>> state = generator.get_state()
        >>> first = generator.uniform().item()
        >>> generator.set_state(state)
        >>> generator.uniform().item() == first
        True
        """
        return copy.deepcopy(dict(self._stream.bit_generator.state))

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `get_state` returned; see `get_state`.

        Raises `ArgumentError` for anything else.
        """
        try:
            self._numpy.bit_generator.state = copy.deepcopy(dict(state))
        except (TypeError, ValueError, KeyError) as error:
            raise ArgumentError(
                "argument `state` of `set_state`", "a state from `get_state`", repr(error)
            ) from None

    def spawn(self, count: int) -> list[Generator]:
        """New generators whose streams are independent of this one and of each other.

        >>> import pullback as pb
        >>> len(pb.random.Generator(0).spawn(3))
        3
        """
        children = []
        for stream in self._numpy.spawn(count):
            child = Generator.__new__(Generator)
            child._own = stream
            children.append(child)
        return children

    # Reparametrised: parameters are numbers, arrays or Tensors that broadcast -----------------

    def normal(
        self, shape: Shape = None, *, loc: Any = 0.0, scale: Any = 1.0, dtype: Any = None
    ) -> Tensor:
        """Normal samples with mean loc and standard deviation scale: loc + scale · noise.

        shape  default: the broadcast shape of loc and scale
        dtype  default: that of loc and scale if they are arrays or Tensors, else float64

        >>> import pullback as pb
        >>> scale = pb.tensor(2.0, requires_grad=True)
        >>> sample = pb.random.Generator(0).normal((3,), scale=scale)
        >>> pb.sum(sample).backward()
        >>> bool(abs(scale.grad.item() * 2.0 - pb.sum(sample).item()) < 1e-12)
        True
        """
        return self._located("normal", "standard_normal", shape, loc, scale, dtype)

    def uniform(
        self, shape: Shape = None, *, low: Any = 0.0, high: Any = 1.0, dtype: Any = None
    ) -> Tensor:
        """Uniform samples in [low, high): low + (high - low) · noise.

        shape, dtype  as for `normal`

        >>> import pullback as pb
        >>> pb.random.Generator(0).uniform((2, 3), low=-1.0).shape
        (2, 3)
        """
        width = high - low
        return self._located("uniform", "random", shape, low, width, dtype)

    def exponential(
        self, shape: Shape = None, *, scale: Any = 1.0, dtype: Any = None
    ) -> Tensor:
        """Exponentially distributed samples with mean scale: scale · noise.

        shape, dtype  as for `normal`

        >>> import pullback as pb
        >>> pb.random.Generator(0).exponential((4,), dtype="float32").dtype
        dtype('float32')
        """
        return self._located("exponential", "standard_exponential", shape, None, scale, dtype)

    def _located(
        self, subject: str, draw: str, shape: Shape, loc: Any, scale: Any, dtype: Any
    ) -> Tensor:
        """loc + scale · noise."""
        given = [v for v in (loc, scale) if v is not None]
        arrays = [raw(to_array(v)) for v in given]
        kinds = [a for a in arrays if hasattr(a, "dtype")]
        if dtype is None and kinds:
            dtype = numpy.result_type(*(a.dtype for a in kinds))
        dtype = numpy.dtype("float64" if dtype is None else dtype)
        if dtype.kind != "f":
            raise DtypeError(
                f"argument `dtype` of `{subject}`", "a real floating dtype", str(dtype)
            )
        kind = dtype if dtype.char in "fd" else numpy.dtype("float64")
        noise = drawn(
            lambda size: OPS["astype"](getattr(self._numpy, draw)(size, dtype=kind), dtype),
            _shape(shape, arrays, subject), subject, dtype,
        )
        if kinds:
            noise = moved_to(noise, kinds[0])
        sample = wrap(next((v._out for v in given if isinstance(v, Tensor)), Tensor), noise)
        if not (isinstance(scale, (int, float)) and scale == 1):
            sample = OPS["multiply"](sample, _as_dtype(scale, dtype))
        if loc is not None and not (isinstance(loc, (int, float)) and loc == 0):
            sample = OPS["add"](sample, _as_dtype(loc, dtype))
        return sample

    # Without derivatives ----------------------------------------------------------------------

    def bernoulli(
        self, probability: Any = 0.5, shape: Shape = None, *, dtype: Any = None
    ) -> Tensor:
        """Booleans that are True with a given probability, a number or an array.

        Raises `ArgumentError` unless every probability is in [0, 1].

        >>> import pullback as pb
        >>> pb.random.Generator(0).bernoulli(1.0, (2,))
        Tensor([ True,  True])
        """
        chance = raw(to_array(probability))
        values = _values(chance)
        if values is not None and not ((values >= 0) & (values <= 1)).all():
            raise ArgumentError(
                "argument `probability` of `bernoulli`", "numbers in [0, 1]", f"{probability}"
            )
        noise = drawn(self._numpy.random, _shape(shape, [chance], "bernoulli"), "bernoulli")
        hit = OPS["less"](moved_to(noise, chance) if hasattr(chance, "shape") else noise, chance)
        return wrap(Tensor, hit if dtype is None else OPS["astype"](hit, dtype))

    def integers(
        self, low: int, high: int | None = None, shape: Shape = (), *, endpoint: bool = False,
        dtype: Any = "int64",
    ) -> Tensor:
        """Integers in [low, high), or in [low, high] with `endpoint`.

        With one number, in [0, low).

        >>> import pullback as pb
        >>> pb.random.Generator(0).integers(5, 6, (2,))
        Tensor([5, 5])
        """
        try:
            found = drawn(
                lambda size: self._numpy.integers(low, high, size, dtype=dtype, endpoint=endpoint),
                _size(shape), "integers", dtype,
            )
        except PullbackError:
            raise
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                "`integers`", "low < high, and a dtype that holds both",
                f"low={low}, high={high}, dtype={dtype}: {error}",
            ) from None
        return wrap(Tensor, found)

    def permutation(self, x: Any, *, axis: int = 0) -> Tensor:
        """A random permutation of range(x) for an int, or of the slices of an array along an axis.

        Differentiable: the VJP applies the inverse permutation.

        >>> import pullback as pb
        >>> sorted(pb.random.Generator(0).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        if isinstance(x, (int, numpy.integer)):
            return wrap(Tensor, self._order(int(x), "permutation"))
        x = x if isinstance(x, Tensor) else Tensor(x)
        order = moved_to(self._order(x.shape[axis], "permutation"), raw(x))
        return OPS["take"](x, order, axis=axis % x.ndim)

    def _order(self, count: int, subject: str) -> Any:
        """A random permutation of range(count), a different one per example."""
        def draw(size: tuple[int, ...]) -> Any:
            stream = self._numpy
            if len(size) == 1:
                return stream.permutation(count)
            return stream.permuted(numpy.broadcast_to(numpy.arange(count), size), axis=-1)

        return drawn(draw, (count,), subject, "int64")

    def shuffle(self, x: Any) -> None:
        """Permute a Tensor, an array or a list in place, along its first axis.

        >>> import pullback as pb
        >>> cards = [1, 2, 3]
        >>> pb.random.Generator(0).shuffle(cards)
        >>> sorted(cards)
        [1, 2, 3]
        """
        if isinstance(x, Tensor):
            array: Any = x  # indexing is bound in `ops.operators`
            array[...] = self.permutation(x)
        elif isinstance(x, (numpy.ndarray, MutableSequence)):
            if _draws_differ():
                raise BatchedValueError(
                    "`shuffle` inside vmap", "a Tensor, which has one order per example",
                    f"a {type(x).__name__}", "use permutation, which returns a new Tensor",
                )
            self._numpy.shuffle(x)
        else:
            raise ArgumentTypeError(
                "argument of `shuffle`", "a mutable array, list or Tensor",
                f"a {type(x).__name__}", "use permutation, which returns a new Tensor",
            )

    def choice(
        self, x: Any, shape: Shape = (), *, replace: bool = True, p: Any = None
    ) -> Tensor:
        """Random elements of range(x) for an int, or random slices of an array along axis 0.

        replace  whether an element may be drawn more than once
        p        the probability of each element; uniform by default

        Differentiable in the array's entries. Inside vmap, weighted choice without replacement
        uses the Gumbel top-k trick (largest log p + Gumbel noise), which has the same distribution.

        >>> import pullback as pb
        >>> sorted(pb.random.Generator(0).choice(3, (3,), replace=False).tolist())
        [0, 1, 2]
        """
        whole = isinstance(x, (int, numpy.integer))
        if not whole and not isinstance(x, Tensor):
            x = Tensor(x)
        at = self._draw_indices(int(x) if whole else len(x), _size(shape), replace, p)
        return wrap(Tensor, at) if whole else x[wrap(Tensor, at)]

    def _draw_indices(self, count: int, size: tuple[int, ...], replace: bool, p: Any) -> Any:
        """Indices in [0, count), different ones per example."""
        chance = None if p is None else raw(to_array(p))
        if not _draws_differ() and chance.__class__ is not Batched:
            try:
                found = self._numpy.choice(count, size, replace, chance)
                return numpy.asarray(found) if isinstance(found, int) else found
            except ValueError as error:
                raise _cannot_choose(count, str(error)) from None
        many = math.prod(size)
        if chance is not None:
            _check_chances(chance, count, 0 if replace else many)
        most = many if replace and count else count
        if many > most:
            raise _cannot_choose(count, f"{many} draws")
        if chance is None and replace:
            return drawn(
                lambda size: self._numpy.integers(0, count, size), size, "choice", "int64"
            )
        if replace:
            whole = OPS["cumulative_sum"](chance, axis=0)
            noise = drawn(self._numpy.random, size, "choice")
            bounds = OPS["getitem"](OPS["divide"](whole, whole[-1]), slice(0, -1))
            return OPS["searchsorted"](bounds, noise, side="right")
        if chance is None:
            order = self._order(count, "choice")
        else:  # Gumbel top-k, as exponential races: sort arrival times at rates p
            noise = drawn(
                lambda size: self._numpy.standard_exponential(size), (count,), "choice"
            )
            possible = OPS["greater"](chance, 0)
            waits = OPS["divide"](noise, OPS["where"](possible, chance, 1.0))
            order = OPS["argsort"](OPS["where"](possible, waits, math.inf), axis=-1)
        return OPS["reshape"](OPS["getitem"](order, slice(0, many)), size)


def _stream(seed: int | None) -> Any:
    if seed is not None and (not isinstance(seed, (int, numpy.integer)) or seed < 0):
        raise ArgumentError("argument `seed` of `Generator`", "an integer ≥ 0", repr(seed))
    return numpy.random.Generator(numpy.random.PCG64(seed))


def _draws_differ() -> bool:
    """Whether examples of a running vmap draw different numbers, or a graph is being built."""
    return current_graph() is not None or any(v.randomness != "same" for v in running())


def _values(array: Any) -> Any:
    """The numbers in an array, of all examples; None if they are not known yet."""
    while array.__class__ is Batched:
        array = array.value
    found = known(array)
    return None if found is None else numpy.asarray(found)


def _cannot_choose(count: int, got: str) -> ArgumentError:
    return ArgumentError(
        "`choice`", f"at most {count} draws, and probabilities that sum to 1", got
    )


def _check_chances(chance: Any, count: int, many: int) -> None:
    """Raise an `ArgumentError` unless each example has `count` probabilities, `many` above 0."""
    values = _values(chance)
    if tuple(chance.shape) != (count,):
        raise _cannot_choose(count, f"probabilities of shape {tuple(chance.shape)}")
    if values is None:
        return
    if (values < 0).any() or not (abs(values.sum(-1) - 1) < 1e-6).all():
        raise _cannot_choose(count, "negative probabilities, or a sum other than 1")
    if ((values > 0).sum(-1) < many).any():
        raise _cannot_choose(count, f"{many} draws from fewer elements of positive probability")


def _size(shape: Shape) -> tuple[int, ...]:
    if shape is None:
        return ()
    return (int(shape),) if isinstance(shape, (int, numpy.integer)) else tuple(shape)


def _shape(shape: Shape, parameters: list[Any], subject: str) -> Any:
    """The shape of a sample, to which its parameters must broadcast."""
    shapes = [tuple(getattr(p, "shape", ())) for p in parameters]
    size: Any = (shape,) if isinstance(shape, (int, numpy.integer)) else shape
    if isinstance(size, OpenShape):
        return size  # checked when the graph runs
    try:
        together = numpy.broadcast_shapes(*shapes)
        if size is None:
            return together
        if numpy.broadcast_shapes(together, tuple(size)) == tuple(size):
            return tuple(size)
    except ValueError:
        pass
    raise ArgumentError(
        f"argument `shape` of `{subject}`", f"a shape to which shapes {shapes} broadcast",
        f"{shape}",
    )


def _as_dtype(value: Any, dtype: Any) -> Any:
    """A parameter in the sample's dtype; Python numbers are converted by promotion."""
    value = value if isinstance(value, Tensor) else to_array(value)
    return value if getattr(value, "dtype", dtype) == dtype else OPS["astype"](value, dtype)


_default = Generator()


def default_generator() -> Generator:
    """The generator that the functions of this module use.

    >>> import pullback as pb
    >>> pb.random.seed(0)
    >>> pb.random.default_generator().get_state() == pb.random.Generator(0).get_state()
    True
    """
    return _default


seed = _default.seed
get_state, set_state, spawn = _default.get_state, _default.set_state, _default.spawn
normal, uniform, exponential = _default.normal, _default.uniform, _default.exponential
bernoulli, integers = _default.bernoulli, _default.integers
permutation, shuffle, choice = _default.permutation, _default.shuffle, _default.choice
