"""Make doors_tf.md: TensorFlow's public names for gradients, and which of them are supported.

    python docs/make_doors_tf.py

It compares the names of the installed `tensorflow` with those of `pullback.tf`.
"""

from __future__ import annotations

import importlib
import os
import warnings
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("doors_tf.md")

SPACES = ("", "math", "math.special", "linalg", "nn", "random", "signal", "autodiff", "debugging",
          "errors", "nest", "train", "optimizers", "optimizers.schedules", "config", "strings")
CLASSES = ("GradientTape", "Variable", "IndexedSlices", "Module", "Tensor", "TensorArray",
           "TensorShape", "TensorSpec", "DType")

DIFFERS = {
    "GradientTape.gradient": "also has `dense=True` and `overrides=`",
    "GradientTape.batch_jacobian": "None where no path leads to the source, not zeros",
    **dict.fromkeys(("floor", "round", "math.ceil", "math.floor", "math.rint", "math.round"),
                    "its gradient is zeros, not None"),
    "gradients": "a source that the function holds as a constant raises an error",
    "IndexedSlices": "a variable that is also read as a whole has a dense gradient; inside "
                     "`tf.function` gradients are dense",
    "case": "`exclusive=True` is checked, also in eager mode",
    "custom_gradient": "tensors passed by keyword have gradients too, in their positions",
    "function": "a variable created in every trace raises an error in the second, not the first",
    "map_fn": "`back_prop=False` has an effect; ragged and sparse elements are not here",
    "norm": "its gradient at 0 is 0, not NaN",
    "linalg.norm": "its gradient at 0 is 0, not NaN",
    "numpy_function": "inside a function `stateful` has no effect",
    "optimizers.Adam": "for slices, duplicate rows are added up before they are squared",
    "random.Generator": "different numbers for the same seed; no `state`",
    "recompute_grad": "captured tensors have gradients too",
    "scan": "`back_prop=False` has an effect",
    "train.Checkpoint": "files are safetensors; a module's variables must exist to be restored",
    "Variable": "the shape never changes",
    "vectorized_map": "never silently falls back to a loop",
    "while_loop": "`back_prop=False` has an effect",
    "TensorArray": "in a loop inside a function, all entries have the same shape",
    "random.normal": "other numbers for the same seed",
    "random.set_seed": "other numbers for the same seed",
    "random.stateless_normal": "other numbers for the same seed",
    "random.stateless_uniform": "other numbers for the same seed",
    "random.split": "other seeds", "random.fold_in": "other seeds",
    "random.uniform": "other numbers for the same seed",
    "device": "no effect", "control_dependencies": "no effect: the order is always kept",
    "linalg.lstsq": "`fast` has no effect",
    "errors.InvalidArgumentError": "also a `ValueError`, and for dtypes a `TypeError`",
}

WHY = {
    "out of scope: Keras": "keras feature_column metrics losses RNNCellDeviceWrapper "
        "RNNCellDropoutWrapper RNNCellResidualWrapper LossScaleOptimizer deserialize serialize "
        "get legacy initializers",
    "out of scope: ragged and sparse tensors": "RaggedTensor RaggedTensorSpec ragged sparse "
        "SparseTensor SparseTensorSpec edit_distance embedding_lookup_sparse "
        "safe_embedding_lookup_sparse ragged_fill_empty_rows ragged_fill_empty_rows_grad",
    "out of scope: data, files, images, services": "data io image audio summary saved_model lite "
        "tpu distribute dtensor profiler queue lookup quantization load_library load_op_library "
        "raw_ops make_ndarray make_tensor_proto import_graph_def graph_util mlir security "
        "sysconfig test tools xla resource variant types experimental autograph get_logger "
        "version bitwise fingerprint timestamp sets ClusterDef ClusterSpec Coordinator Example "
        "BytesList Feature FeatureList FeatureLists Features FloatList Int64List JobDef "
        "SequenceExample ServerDef",
    "part of TensorFlow 1 graphs: see `pullback.tf.v1`": "Graph Operation "
        "AggregationMethod Tensor.name Variable.op Variable.graph Variable.initializer "
        "Variable.eval Variable.load Tensor.eval Variable.initial_value no_gradient",
    "devices belong to the array library": "DeviceSpec LogicalDevice "
        "LogicalDeviceConfiguration",
}
DEFAULT = {
    "nn": "not implemented yet", "linalg": "not implemented yet",
    "strings": "out of scope: strings are only passed through", "config": "devices and threads "
    "belong to the array library", "signal": "not implemented yet",
    "random": "no gradient of its parameters yet",
    "optimizers": "only the usual ones are implemented",
}


def modules() -> tuple[Any, Any]:
    """`pullback.tf` and TensorFlow."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("pullback.tf"), importlib.import_module("tensorflow")


def of(module: Any, path: str) -> Any:
    """What a dotted path names in a module, or None."""
    for part in path.split(".") if path else ():
        module = getattr(module, part, None)
    return module


def names(thing: Any) -> list[str]:
    """Its public names."""
    return [n for n in dir(thing) if not n.startswith("_")]


def reason(path: str, name: str) -> str:
    """Why a name is not here."""
    whole = f"{path}.{name}" if path else name
    for why, which in WHY.items():
        if name in which.split() or whole in which.split():
            return why
    return DEFAULT.get(path.partition(".")[0], "not implemented yet")


def section(door: Any, peer: Any, path: str) -> list[str]:
    """The lines about one space of names."""
    ours, theirs = of(door, path), of(peer, path)
    title = f"tf.{path}" if path else "tf"
    here = [n for n in names(theirs) if hasattr(ours, n)]
    key = f"{path}." if path else ""
    differ = [(n, DIFFERS[key + n]) for n in here if DIFFERS.get(key + n)]
    plain = [n for n in here if n not in dict(differ)]
    missing: dict[str, list[str]] = {}
    for n in names(theirs):
        if not hasattr(ours, n):
            missing.setdefault(reason(path, n), []).append(n)
    lines = [f"## `{title}`", ""]
    if plain:
        lines += ["**Works**: " + ", ".join(f"`{n}`" for n in plain), ""]
    if differ or missing:
        lines += ["| name | |", "|---|---|"]
        lines += [f"| `{n}` | differs: {how} |" for n, how in differ]
        lines += [f"| {', '.join(f'`{n}`' for n in which)} | not here: {why} |"
                  for why, which in sorted(missing.items())]
        lines.append("")
    return lines


def page() -> str:
    """The text of doors_tf.md."""
    door, peer = modules()
    lines = [
        "# TensorFlow names supported by `pullback.tf`", "",
        "Which of TensorFlow's public names for gradients [`pullback.tf`](doors.md) supports. "
        "`docs/make_doors_tf.py`", "generates this page from the names that TensorFlow lists. "
        "Tests run every supported name on both.", "",
    ]
    for path in (*SPACES, *CLASSES):
        lines += section(door, peer, path)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
