"""This front end's functions as rules of PyTorch's own: `torch.sin(t)` for a `pullback.Tensor`.

PyTorch's `__torch_function__` passes a function; the one with its name here computes the result.
The table has functions that consist of operations only, because the data may be of any library.
Their dtypes are then those of the core, not this front end's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from .. import ops
from .. import torch as _torch
from . import fft, linalg, special
from .dtypes import of_the_core
from .nn import functional

NAMES = {
    "": """
        abs absolute acos acosh adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d add
        addcdiv addcmul addmm addr all amax amin aminmax angle any arccos arccosh arcsin arcsinh
        arctan arctan2 arctanh argmax argmin argsort asin asinh atan atan2 atanh atleast_1d
        atleast_2d atleast_3d bilinear binary_cross_entropy binary_cross_entropy_with_logits
        bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm
        broadcast_tensors broadcast_to cat cdist ceil celu channel_shuffle cholesky chunk clamp
        clamp_max clamp_min clip clone column_stack concat concatenate conj conj_physical conv1d
        conv2d conv3d copysign corrcoef cos cosh cosine_embedding_loss cosine_similarity
        count_nonzero cross cross_entropy cumprod cumsum deg2rad det diagonal diagonal_scatter diff
        digamma dist div divide dot dsplit dstack einsum elu embedding eq equal erf erfc erfinv exp
        exp2 expm1 fix flatten flip fliplr flipud floor floor_divide fmax fmin fmod frac gather
        gaussian_nll_loss ge gelu ger glu greater greater_equal group_norm gt hardshrink hardsigmoid
        hardswish hardtanh heaviside hinge_embedding_loss hsplit hstack huber_loss hypot i0 igamma
        igammac imag index_add index_copy index_fill index_select inner instance_norm inverse
        isclose isfinite isin isinf isnan isneginf isposinf kl_div kron l1_loss layer_norm ldexp le
        leaky_relu lerp less less_equal lgamma linear log log10 log1p log2 log_softmax logaddexp
        logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit logsumexp lt
        margin_ranking_loss masked_fill masked_select matmul matrix_exp max max_pool1d max_pool2d
        max_pool3d maximum mean median meshgrid min minimum mish mm moveaxis movedim mse_loss msort
        mul multilabel_soft_margin_loss multiply mv mvlgamma nanmean nansum narrow ne neg negative
        nll_loss norm normalize not_equal ones_like outer pairwise_distance permute pinverse
        pixel_shuffle pixel_unshuffle poisson_nll_loss positive pow prelu prod qr rad2deg ravel real
        reciprocal relu relu6 remainder renorm repeat_interleave reshape roll round rsqrt rsub
        scatter_add select select_scatter selu sgn sigmoid sign signbit silu sin sinc sinh
        slice_scatter smooth_l1_loss soft_margin_loss softmax softmin softplus softshrink softsign
        sort split split_with_sizes sqrt square squeeze stack std std_mean sub subtract sum svd
        swapaxes swapdims t take take_along_dim tan tanh tanhshrink tensordot tile topk trace
        transpose tril triplet_margin_loss triu true_divide trunc unbind unflatten unsafe_split
        unsqueeze var var_mean vdot vsplit vstack where xlogy zeros_like
    """,
    "linalg_": """
        cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lu matrix_norm matrix_power
        matrix_rank multi_dot norm pinv qr slogdet solve solve_triangular svd svdvals tensorinv
        tensorsolve vander vecdot vector_norm
    """,
    "fft_": """
        fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2
        rfftn
    """,
    "special_": """
        bessel_j0 bessel_j1 digamma entr erf erfc erfinv expit gammainc gammaincc gammaln i0 i0e i1
        i1e log_ndtr log_softmax logit modified_bessel_i0 modified_bessel_i1 ndtr ndtri polygamma
        psi sinc softmax xlog1py xlogy zeta
    """,
}
"""Beginning of a `__name__` in PyTorch, which tells its namespaces apart -> the names after it."""

_HOMES: dict[str, tuple[Any, ...]] = {
    "": (_torch, functional),
    "linalg_": (linalg,), "fft_": (fft,), "special_": (special,),
}
_OTHER_NAMES: dict[str, Callable[..., Any]] = {
    "log_sigmoid": functional.logsigmoid,
    "nextafter": ops.nextafter,  # which keeps the history, where `nextafter` here ends it
}
_NOT_FOR_RULES = {"out", "inplace", "device", "requires_grad", "max_norm"}
"""Parameters about memory, that of PyTorch's tensors for `__torch_function__`."""

_NUMBERS = {"shape", "dims"}
"""Numbers that methods of tensors accept separately; PyTorch's functions take one sequence."""


class Rule(NamedTuple):
    """A function, and the parameters with which PyTorch's own function calls it."""

    function: Callable[..., Any]
    parameters: inspect.Signature

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The function's result for Tensors of the core."""
        with of_the_core():
            return self.function(*args, **keywords)


@cache
def rule(name: str) -> Rule | None:
    """The rule of PyTorch's function with this `__name__`, or None.

    >>> import pullback.torch as torch
    >>> rule("sin").function is torch.sin, rule("save")
    (True, None)
    """
    function = _OTHER_NAMES.get(name)
    for start, names in NAMES.items():
        last = name.removeprefix(start)
        if name.startswith(start) and last in names.split():
            function = next(getattr(home, last) for home in _HOMES[start] if hasattr(home, last))
    if function is None:
        return None
    return Rule(function, inspect.Signature([
        _parameter(p) for p in inspect.signature(function).parameters.values()
        if p.name not in _NOT_FOR_RULES
    ]))


def _parameter(p: inspect.Parameter) -> inspect.Parameter:
    """A parameter as it is in PyTorch."""
    if p.kind is p.VAR_POSITIONAL and p.name in _NUMBERS:
        return p.replace(kind=p.POSITIONAL_OR_KEYWORD)
    names = {"x": "input", "x1": "input", "x2": "other"}
    if p.kind is p.POSITIONAL_ONLY:  # an operation
        return p.replace(name=names[p.name], kind=p.POSITIONAL_OR_KEYWORD)
    return p
