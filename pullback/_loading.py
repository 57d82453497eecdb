"""Names that are loaded when they are first used, and imports without the garbage collector."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


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
        if place == package:
            found = import_module(f"{package}.{name}")
        else:
            found = getattr(import_module(place), name)
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
