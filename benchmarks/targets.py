"""The figures to reach, as ratios measured in one run."""

from __future__ import annotations

from typing import NamedTuple

from .rounds import Results
from .workloads import LIBRARIES

Place = tuple[str, str]


class Target(NamedTuple):
    """A ratio of two figures, (workload, system) each, and the bound it is to keep."""

    title: str
    above: Place
    below: Place
    bound: float
    at_least: bool

    @property
    def wanted(self) -> str:
        """The bound in words."""
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"

    def met(self, got: float) -> bool:
        """Whether a ratio keeps the bound."""
        return got >= self.bound if self.at_least else got <= self.bound


def _faster(title: str, workload: str, peer: str, bound: float) -> Target:
    return Target(title, (workload, peer), (workload, "pullback"), bound, True)


def _no_more(title: str, workload: str, peer: str, bound: float = 1) -> Target:
    return Target(title, (workload, "pullback"), (workload, peer), bound, False)


def _on_library(title: str, workload: str, system: str, bound: float = 1) -> Target:
    own = LIBRARIES[system]
    return Target(
        f"{title}: pullback on {own}'s arrays / {own}", (workload, system), (workload, own), bound,
        False,
    )


TARGETS = [
    _faster("small ops, 1 element: PyTorch / pullback", "small-1", "torch", 2),
    _faster("small ops, 100 elements: PyTorch / pullback", "small-100", "torch", 2),
    _faster("small ops, 1 element: TensorFlow / pullback", "small-1", "tensorflow", 15),
    _faster("`Function`, reversal: PyTorch / pullback", "function-reversal", "torch", 4),
    _faster("`Function`, square: PyTorch / pullback", "function-square", "torch", 4),
    _faster("`custom_gradient`, reversal: TensorFlow / pullback", "custom-reversal", "tensorflow",
            30),
    _faster("`custom_gradient`, square: TensorFlow / pullback", "custom-square", "tensorflow", 30),
    _no_more("MLP step: pullback / PyTorch", "mlp", "torch"),
    _no_more("graph of 1,000 small ops: pullback / NumPy's calls", "graph-chain", "numpy", 1.5),
    _no_more("large elementwise: pullback / TensorFlow", "elementwise", "tensorflow"),
    _no_more("Hessian, 500 dimensions: pullback / JAX", "hessian", "jax"),
    Target("Hessian: a loop of pulls / one batched pull", ("hessian-loop", "pullback"),
           ("hessian", "pullback"), 20, True),
    Target("per-example gradients, MLP: a loop / batched", ("per-example-loop", "pullback"),
           ("per-example", "pullback"), 10, True),
    Target("per-example gradients, MLP 64-32-10: a loop / batched",
           ("per-example-small-loop", "pullback"), ("per-example-small", "pullback"), 10, True),
    _no_more("gradient-penalty step: pullback / PyTorch", "penalty", "torch"),
    Target("odeint: the gradient / the value", ("ode-gradient", "pullback"), ("ode", "pullback"), 5,
           False),
    Target("chain: an op at 10⁶ / an op at 10³", ("deep-1000000", "pullback"),
           ("deep-1000", "pullback"), 1.25, False),
    _no_more("peak memory, chain: pullback / PyTorch", "memory-chain", "torch"),
    _no_more("peak memory, MLP step: pullback / PyTorch", "memory-mlp", "torch"),
    _on_library("small ops, 1 element", "small-1", "pullback_torch", 1.5),
    _on_library("small ops, 100 elements", "small-100", "pullback_torch", 1.5),
    _on_library("large elementwise", "elementwise", "pullback_torch"),
    _on_library("MLP step", "mlp", "pullback_torch"),
    _on_library("MLP step in `jax.jit`", "jit-mlp", "pullback_jax", 1.05),
    _on_library("MLP step, traced and lowered", "jit-trace", "pullback_jax"),
    _no_more("import: pullback / NumPy", "import", "numpy", 1.5),
]


def judged(results: Results) -> list[list[str]]:
    """For each target: what, wanted, got, met or not. Got is a dash where a peer is missing."""
    rows = []
    for target in TARGETS:
        got = results.ratio(target.above, target.below)
        if got is None:
            rows.append([target.title, target.wanted, "–", "not measured"])
        else:
            answer = "met" if target.met(got) else "not met"
            rows.append([target.title, target.wanted, f"{got:.2f}", answer])
    return rows
