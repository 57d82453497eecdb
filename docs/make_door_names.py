"""Print docs/door_names.md: every name that the two doors have.

    python docs/make_door_names.py > docs/door_names.md

A test compares the page with what this prints.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

DOORS = {"tf": "TensorFlow's door", "torch": "PyTorch's door"}
CLASSES = ("Tensor", "Variable", "GradientTape", "Module")

HEAD = """\
# Names of the doors

What `pullback.tf` and `pullback.torch` have. This page is made by `docs/make_door_names.py`;
[doors.md](doors.md) says how they behave.
"""


def is_shown(name: str, value: Any) -> bool:
    """Whether a name is the door's own: no module, and nothing imported for the code's sake."""
    if name.startswith("_") or inspect.ismodule(value):
        return False
    home = getattr(value, "__module__", None)
    return not isinstance(home, str) or home.partition(".")[0] in ("pullback", "numpy")


def names_of(module: ModuleType) -> list[str]:
    """The public names of a module."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return sorted(n for n, v in vars(module).items() if is_shown(n, v))


def packages(door: str) -> list[str]:
    """The door and the packages in it that users name, such as `torch.nn.functional`."""
    found = [f"pullback.{door}"]
    top = importlib.import_module(found[0])
    for short in PUBLIC[door]:  # one is an attribute of its parent once it has been imported
        importlib.import_module(f"pullback.{short}")
    for info in pkgutil.walk_packages(top.__path__, f"{top.__name__}."):
        parent, _, leaf = info.name.rpartition(".")
        seen = getattr(importlib.import_module(parent), leaf, None)
        if inspect.ismodule(seen) and seen.__name__ == info.name:
            found.append(info.name)
    return found


def listed(names: list[str]) -> str:
    """Names as code, one after the other."""
    return ", ".join(f"`{name}`" for name in names)


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for door, title in DOORS.items():
        lines += [f"## {title}\n"]
        public = set(PUBLIC[door])
        for name in packages(door):
            short = name.removeprefix("pullback.")
            if short in public:
                lines += [f"**`{short}`**: {listed(names_of(importlib.import_module(name)))}\n"]
        top = importlib.import_module(f"pullback.{door}")
        for kind in CLASSES:
            if hasattr(top, kind):
                members = [n for n in dir(getattr(top, kind)) if not n.startswith("_")]
                lines += [f"**`{door}.{kind}`** has {listed(sorted(members))}\n"]
    return "\n".join(lines).rstrip("\n") + "\n"


PUBLIC = {
    "tf": (
        "tf", "tf.autodiff", "tf.debugging", "tf.errors", "tf.linalg", "tf.math", "tf.nest",
        "tf.nn", "tf.random", "tf.v1", "tf.v1.errors", "tf.v1.initializers", "tf.v1.layers",
        "tf.v1.linalg", "tf.v1.logging", "tf.v1.losses", "tf.v1.math", "tf.v1.nn", "tf.v1.random",
        "tf.v1.testing", "tf.v1.train",
    ),
    "torch": (
        "torch", "torch.autograd", "torch.autograd.functional", "torch.autograd.forward_ad",
        "torch.func", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.utils",
        "torch.optim", "torch.utils.checkpoint", "torch.linalg", "torch.special",
    ),
}
"""The packages that the frameworks have too; the other files are the doors' own."""

if __name__ == "__main__":
    print(page(), end="")
