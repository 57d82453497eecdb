"""The workloads: what is run, at which size, and in which unit its figure is given."""

from __future__ import annotations

from typing import NamedTuple

MODULES = {
    "pullback": "pullback", "numpy": "numpy", "torch": "torch", "tensorflow": "tensorflow",
    "jax": "jax", "autograd": "autograd", "pullback_torch": "torch", "pullback_jax": "jax",
}
"""System -> the module that is looked for, and whose import is timed."""

LIBRARIES = {"pullback_torch": "torch", "pullback_jax": "jax"}
"""pullback on the arrays of another library -> the system that is this library by itself."""

PACKAGES = {
    "tensorflow": ("tensorflow", "tensorflow-cpu"), **dict.fromkeys(LIBRARIES, ("pullback",)),
}
"""System -> names under which its version may be installed, where not the system's own."""

TIME, MEMORY, IMPORT = "time", "memory", "import"

MICROSECONDS, MILLISECONDS, MEGABYTES = "µs", "ms", "MB"
FACTORS = {MICROSECONDS: 1e6, MILLISECONDS: 1e3, MEGABYTES: 1e-6}


class Workload(NamedTuple):
    """One row of the table.

    function   the function of the systems' files
    arguments  what it is called with; `quick`: in a quick run
    small      for memory: what to run first, so that libraries and thread pools are loaded
    systems    only these, or all when empty
    """

    title: str
    unit: str
    function: str
    arguments: tuple[object, ...] = ()
    quick: tuple[object, ...] = ()
    kind: str = TIME
    small: tuple[object, ...] = ()
    systems: tuple[str, ...] = ()


_LAYERS = (784, 512, 512, 10)
_SMALL = (64, 32, 10)
_DEEP = ("pullback", "torch")
_BATCHED = ("pullback", "torch", "jax")
_COMPILED = ("pullback_jax", "jax")

WORKLOADS: dict[str, Workload] = {
    "small-1": Workload(
        "small ops, 1 element, an op", MICROSECONDS, "small_ops", (1, 1000), (1, 20)
    ),
    "small-100": Workload(
        "small ops, 100 elements, an op", MICROSECONDS, "small_ops", (100, 1000), (100, 20)
    ),
    "small-10000": Workload(
        "small ops, 10,000 elements, an op", MICROSECONDS, "small_ops", (10_000, 1000),
        (10_000, 20),
    ),
    "function-reversal": Workload(
        "`Function`, gradient reversal, a call", MICROSECONDS, "function_reversal", (100,), (5,)
    ),
    "function-square": Workload(
        "`Function`, a square that saves x, a call", MICROSECONDS, "function_square", (100,), (5,)
    ),
    "custom-reversal": Workload(
        "`custom_gradient`, gradient reversal, a call", MICROSECONDS, "custom_reversal", (100,),
        (5,),
    ),
    "custom-square": Workload(
        "`custom_gradient`, a square that saves x, a call", MICROSECONDS, "custom_square", (100,),
        (5,),
    ),
    "elementwise": Workload(
        "large elementwise, 10⁷ elements", MILLISECONDS, "elementwise", (10_000_000,), (1000,)
    ),
    "graph-chain": Workload(
        "small ops, 1 element, run by a session, an op", MICROSECONDS, "graph_chain", (1, 1000),
        (1, 20),
    ),
    "mlp": Workload(
        "MLP step, batch 256", MILLISECONDS, "mlp_step", (256, _LAYERS), (4, (8, 6, 3))
    ),
    "mlp-tape": Workload(
        "MLP step under a tape, batch 256", MILLISECONDS, "mlp_step_tape", (256, _LAYERS),
        (4, (8, 6, 3)),
    ),
    "mlp-function": Workload(
        "MLP step as a `function`, batch 256", MILLISECONDS, "mlp_step_function", (256, _LAYERS),
        (4, (8, 6, 3)),
    ),
    "function-call": Workload(
        "gradient of a `function` of one op, a call", MICROSECONDS, "function_call", (1000,), (5,)
    ),
    "jit-mlp": Workload(
        "MLP step in `jax.jit`, batch 256", MILLISECONDS, "compiled_step", (256, _LAYERS),
        (4, (8, 6, 3)), systems=_COMPILED,
    ),
    "jit-trace": Workload(
        "MLP step in `jax.jit`, traced and lowered", MILLISECONDS, "traced_step", (256, _LAYERS),
        (4, (8, 6, 3)), systems=_COMPILED,
    ),
    "hessian": Workload(
        "Hessian of Rosenbrock's function, 500 dimensions", MILLISECONDS, "hessian", (500,), (5,)
    ),
    "hessian-loop": Workload(
        "the same by a loop of pulls", MILLISECONDS, "hessian_loop", (500,), (5,),
        systems=_DEEP,
    ),
    "per-example": Workload(
        "gradient of each of 256 examples, MLP", MILLISECONDS, "per_example", (256, _LAYERS),
        (4, (8, 6, 3)), systems=_BATCHED,
    ),
    "per-example-loop": Workload(
        "the same by a loop over examples", MILLISECONDS, "per_example_loop", (256, _LAYERS),
        (4, (8, 6, 3)), systems=_BATCHED,
    ),
    "per-example-small": Workload(
        "gradient of each of 256 examples, MLP 64-32-10", MILLISECONDS, "per_example",
        (256, _SMALL), (4, (8, 6, 3)), systems=_BATCHED,
    ),
    "per-example-small-loop": Workload(
        "the same by a loop over examples", MILLISECONDS, "per_example_loop", (256, _SMALL),
        (4, (8, 6, 3)), systems=_BATCHED,
    ),
    "vmap-step": Workload(
        "MLP step, loss written for one example and mapped", MILLISECONDS, "mapped_step",
        (256, _LAYERS), (4, (8, 6, 3)), systems=_BATCHED,
    ),
    "penalty": Workload(
        "gradient-penalty step (double backward), MLP, batch 256", MILLISECONDS, "penalty_step",
        (256, (784, 512, 512, 1)), (4, (8, 6, 1)),
    ),
    "cnn": Workload(
        "CNN step, two convolutions and pools, 28 × 28, batch 64", MILLISECONDS, "cnn_step",
        (64, 28), (2, 8), systems=_DEEP,
    ),
    **{
        f"convolution-{name}": Workload(
            f"convolution and its gradients, {title}", MILLISECONDS, "convolution", sizes,
            (2, 4, 6, 4, *sizes[-3:-1], 4 if name == "depthwise" else 1), systems=_DEEP,
        )
        for name, title, sizes in (
            ("3x3", "3 × 3, 64 channels of 28 × 28, batch 16", (16, 64, 28, 64, 3, 1, 1)),
            ("strided", "5 × 5 by 2, 16 to 32 channels, batch 32", (32, 16, 28, 32, 5, 2, 1)),
            ("depthwise", "3 × 3 depthwise, 64 channels, batch 32", (32, 64, 28, 64, 3, 1, 64)),
            ("1x1", "1 × 1, 64 to 256 channels of 56 × 56, batch 8", (8, 64, 56, 256, 1, 1, 1)),
        )
    },
    "jvp": Workload(
        "value and directional derivative, 1 element, an op", MICROSECONDS, "forward_ops",
        (1, 1000), (1, 20),
    ),
    "ode": Workload(
        "Lotka-Volterra by `odeint`, 41 times", MILLISECONDS, "equation", (41,), (3,),
        systems=("pullback", "jax"),
    ),
    "ode-gradient": Workload(
        "its gradient in 4 parameters", MILLISECONDS, "equation_gradient", (41,), (3,),
        systems=("pullback", "jax"),
    ),
    **{
        f"deep-{ops}": Workload(
            f"chain of {ops:,} ops, an op", MICROSECONDS, "small_ops", (1, ops), (1, ops // 500),
            systems=_DEEP,
        )
        for ops in (1_000, 10_000, 100_000, 1_000_000)
    },
    "memory-chain": Workload(
        "peak memory, 30 ops on 4M elements", MEGABYTES, "memory_chain", (4_000_000,), (100_000,),
        MEMORY, (1000,),
    ),
    "memory-mlp": Workload(
        "peak memory, MLP step, batch 256", MEGABYTES, "mlp_step", (256, _LAYERS),
        (64, (100, 100, 10)), MEMORY, (2, (8, 8, 4)),
    ),
    "import": Workload("import in a fresh interpreter", MILLISECONDS, "", kind=IMPORT),
}
