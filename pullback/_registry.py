"""The registry of operations, which loads a chapter when one of its operations is first asked for.

Importing the library loads the chapters that a Tensor's operators need. The table of places names
the others, so that the registry has every operation from the beginning.
"""

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from ._loading import loaded
from ._places import OPERATIONS

OpFunction = Any
"""The type `ops.declaring.OpFunction`, which is above this file."""


class Registry(dict[str, "OpFunction"]):
    """Name -> the public function of an operation, of every chapter.

    An operation of a chapter enters when it is first looked up, which waits for an import that is
    under way in another thread: no thread meets an operation whose rules are still to come.
    Listing the registry loads all chapters.
    """

    __slots__ = ("_kept_back", "_listed", "_places")

    def __init__(self, places: Mapping[str, str]) -> None:
        super().__init__()
        self._places = places
        self._kept_back: dict[str, OpFunction] = {}
        self._listed = False

    def is_taken(self, name: str, module: str) -> bool:
        """Whether an operation that a module makes now cannot have this name."""
        if name in self._kept_back or dict.__contains__(self, name):
            return True
        return self._places.get(name, module) != module

    def enter(self, name: str, function: Any) -> None:
        """Make a function that of an operation: now, or for a chapter when it is looked up."""
        if self._places.get(name) == function.__module__ and not dict.__contains__(self, name):
            self._kept_back[name] = function
        else:
            self[name] = function

    def __missing__(self, name: str) -> OpFunction:
        place = self._places.get(name)
        if place is None:
            raise KeyError(name)
        loaded(place)
        found = self[name] = self._kept_back[name]
        return found

    def _list(self) -> None:
        if not self._listed:
            for name in self._places:
                self[name]
            self._listed = True

    def get(self, name: str, default: Any = None) -> Any:
        """The function of an operation, or the default where none has the name."""
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or (not self._listed and name in self._places)

    def __iter__(self) -> Iterator[str]:
        self._list()
        return super().__iter__()

    def __len__(self) -> int:
        self._list()
        return super().__len__()

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        """The names of all operations."""
        self._list()
        return super().keys()

    def values(self) -> ValuesView[OpFunction]:  # type: ignore[override]
        """The functions of all operations."""
        self._list()
        return super().values()

    def items(self) -> ItemsView[str, OpFunction]:  # type: ignore[override]
        """The names and functions of all operations."""
        self._list()
        return super().items()


OPS = Registry(OPERATIONS)
"""The one registry."""
