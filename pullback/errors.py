"""Every exception of the library. A message has four parts: subject, expected, got and fix.

Each class is also a subclass of the built-in family that people already catch (``ValueError``,
``TypeError``, ``LookupError``, ``RuntimeError``, ``KeyError``).
"""

import sys
import warnings
from collections.abc import Iterable
from typing import NoReturn

from ._user_code import PACKAGE


class PullbackError(Exception):
    """Base of all errors; its text has up to four aligned lines, and empty parts are left out.

    >>> print(PullbackError("argument `x` of `exp`", "a float array", "a str", "pass numbers"))
    argument `x` of `exp`
      expected: a float array
      got:      a str
      fix:      pass numbers
    """

    def __init__(self, subject: str, expected: str = "", got: str = "", fix: str = "") -> None:
        lines = [subject]
        for label, text in (("expected:", expected), ("got:", got), ("fix:", fix)):
            if text:
                lines.append(f"  {label:<9} {text}")
        super().__init__("\n".join(lines))
        self.subject, self.expected, self.got, self.fix = subject, expected, got, fix

    @property
    def who(self) -> str:
        """The former name of `subject`."""
        warnings.warn("`error.who` is now `error.subject`", DeprecationWarning, stacklevel=2)
        return self.subject

    def __str__(self) -> str:
        # KeyError would show the repr of its argument, with the line ends escaped.
        return str(self.args[0])


class ShapeError(PullbackError, ValueError):
    """The shapes of the arguments do not match the operation or each other."""


class DtypeError(PullbackError, TypeError):
    """A dtype cannot be used here, such as an integer dtype where a derivative is required."""


class ArgumentError(PullbackError, ValueError):
    """An argument has an invalid value."""


class FileFormatError(ArgumentError):
    """The content of a file is damaged, truncated or of another format."""


class ArgumentTypeError(PullbackError, TypeError):
    """An argument has an invalid type."""


class PositionError(PullbackError, IndexError, ValueError):
    """An index or axis is out of range (an IndexError and a ValueError, as NumPy's AxisError)."""


class MixedLibrariesError(PullbackError, TypeError):
    """One operation received arrays of two array libraries."""


class RuleError(PullbackError, ValueError):
    """A gradient function returned the wrong number, shape or type of gradients."""


class RuleTypeError(PullbackError, TypeError):
    """A gradient function has the wrong signature or returned something that is not an array."""


class VariablesError(PullbackError, TypeError):
    """A custom gradient read variables, but its gradient function takes no `variables` argument."""


class UnknownNameError(PullbackError, LookupError):
    """A name is not registered."""


class DuplicateNameError(PullbackError, KeyError):
    """A name is already registered."""


class GraphFreedError(PullbackError, RuntimeError):
    """The saved values that a gradient needs were freed by an earlier backward pass."""


class InplaceError(PullbackError, RuntimeError):
    """A value that a gradient needs was modified in place."""


class AnomalyError(PullbackError, RuntimeError):
    """A backward step produced a NaN while anomaly detection was on."""


class TapeError(PullbackError, RuntimeError):
    """A tape was used in a state that does not allow it, such as after its only `gradient`."""


class DisconnectedError(PullbackError, RuntimeError):
    """A requested gradient does not exist: the target does not depend on that source."""


class NotDifferentiableError(PullbackError, RuntimeError):
    """A second derivative was requested of a value for which only the first is known."""


class BatchedValueError(PullbackError, TypeError):
    """Inside `vmap`, code needed one Python value, but the value differs between examples."""


class SymbolError(PullbackError, TypeError):
    """Code asked a symbolic tensor for a value that is known only when its graph runs."""


class GraphError(PullbackError, ValueError):
    """Invalid use of a graph: it is finalized, or the tensor belongs to another graph."""


class SessionError(PullbackError, RuntimeError):
    """A session cannot run this: it is closed, or a placeholder or variable has no value."""


class CaptureError(PullbackError, RuntimeError):
    """A custom gradient uses a tracked tensor that is not one of its arguments."""


class SingularMatrixError(PullbackError, ValueError):
    """A matrix is singular, so it has no inverse."""


class LostGradientError(PullbackError, RuntimeError):
    """Values that a transformation differentiates left the library, so their part would be lost."""


class ConvergenceError(PullbackError, RuntimeError):
    """A solver stopped without finding a solution."""


class CheckFailed(PullbackError, AssertionError):  # noqa: N818  # pytest names its failures so
    """`check` found a wrong gradient and was asked to raise."""


class OverrideWarning(UserWarning):
    """An override was active while operations were recorded, but matched none of them."""


class LostGradientWarning(UserWarning):
    """A derivative is zero because a tracked tensor was converted outside the library."""


class LoopWarning(UserWarning):
    """An operation has no batching rule and therefore runs once per example."""


class RetracingWarning(UserWarning):
    """A traced function has many graphs: each new shape or Python number adds one."""


def refuse_copy(thing: object, protocol: object) -> NoReturn:
    """The `__reduce_ex__` of a tape."""
    raise TapeError(
        "copy.copy, copy.deepcopy or pickle", "an object that can be copied",
        f"a {type(thing).__name__}, which is a view of the graph of this process",
        "copy what it computes: tape.gradient(…)",
    )


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the innermost line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A fix that names the closest known name, or lists the known names.

    >>> suggestion("Sign", ["sign", "sin"])
    "did you mean 'sign'?"
    """
    import difflib  # imported here because errors are rare and the import takes time

    names = sorted(known)
    by_lower = {n.lower(): n for n in reversed(names)}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    if close:
        return f"did you mean {by_lower[close[0]]!r}?"
    return f"known: {', '.join(names[:12])}{', …' if len(names) > 12 else ''}" if names else ""
