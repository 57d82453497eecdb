"""Names that are loaded on first use, modules by former names, imports without collections."""

import gc
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def loaded(name: str) -> Any:
    """A module, imported if it is not there.

    Python gives up an import (`_DeadlockError`) where two threads import modules of a package in
    opposite orders, and one of them waits for the other. It can be done again then.
    """
    for _ in range(20):
        try:
            return import_module(name)
        except RuntimeError as error:
            if type(error).__name__ != "_DeadlockError":
                raise
            time.sleep(0.01)
    return import_module(name)


def on_use(
    space: dict[str, Any], places: dict[str, str], apart: dict[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, for the names that it loads on their first use.

    space    the package's namespace; a name stays there, so that only its first use comes here
    places   name -> its module; a name whose place is the package itself is a module of it
    apart    further ones, which `from package import *` leaves out

    Two threads may come here with one name: the import waits for the thread that was first.
    """
    package = space["__name__"]
    known = {**places, **(apart or {})}
    # Fixed now: names that are loaded later must not change what `from package import *` takes.
    names = {*space, *places} - {*(apart or ())}
    listed = sorted(n for n in names if not n.startswith("_"))

    def __getattr__(name: str) -> Any:  # noqa: N807  # Python's name for it
        place = known.get(name)
        if name == "__all__":
            return listed
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        own = place == package
        found = loaded(f"{package}.{name}") if own else getattr(loaded(place), name)
        space[name] = found
        return found

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*space, *known})

    return __getattr__, __dir__


@contextmanager
def uncollected() -> Iterator[None]:
    """Import with the garbage collector off, and leave it as it was.

    Imported objects stay, so a collection finds nothing, and takes a tenth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting and not gc.get_freeze_count():
            gc.freeze()  # and back: now all of it is old, and the next collection skips it
            gc.unfreeze()
        if collecting:
            gc.enable()


class Renamed:
    """Imports packages by their former names, with a `DeprecationWarning`; a finder and loader.

    names   former name -> name
    """

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Any = None, target: Any = None
    ) -> Any:
        """The specification of a module that has another name now; None for others."""
        if not fullname.startswith("pullback."):
            return None
        former, _, inner = fullname.partition(".")[2].partition(".")
        name = self._names.get(f"pullback.{former}")
        if name is None:
            return None
        if inner:  # as an alias, it would take the place of a function of its name in the package
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: import it from {name}", name=fullname
            )
        warnings.warn(
            f"the module {fullname} is called {name} now; the former name will be removed",
            DeprecationWarning, stacklevel=2,
        )
        from importlib.machinery import ModuleSpec  # imported here because this is rare

        return ModuleSpec(fullname, self, origin=name)  # type: ignore[arg-type]  # by its methods

    def create_module(self, spec: Any) -> Any:
        """The module itself."""
        module = import_module(spec.origin)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        """It has run; it keeps its own specification."""
        module.__spec__ = module.__spec__.loader_state
