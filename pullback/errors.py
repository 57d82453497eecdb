"""Every exception of the library: who complains, what was expected, what came, what to type.

Each class is also a subclass of the built-in family that people already catch (``ValueError``,
``TypeError``, ``LookupError``, ``RuntimeError``, ``KeyError``).
"""

import sys
import warnings
from collections.abc import Iterable


class PullbackError(Exception):
    """Base of all errors; its text is four aligned lines, of which empty ones are left out.

    >>> print(PullbackError("argument `x` of `exp`", "a float array", "a str", "pass numbers"))
    argument `x` of `exp`
      expected: a float array
      got:      a str
      fix:      pass numbers
    """

    def __init__(self, who: str, expected: str = "", got: str = "", fix: str = "") -> None:
        lines = [who]
        for label, text in (("expected:", expected), ("got:", got), ("fix:", fix)):
            if text:
                lines.append(f"  {label:<9} {text}")
        super().__init__("\n".join(lines))
        self.who, self.expected, self.got, self.fix = who, expected, got, fix

    def __str__(self) -> str:
        # KeyError would show the repr of its argument, with the line ends escaped.
        return str(self.args[0])


class ShapeError(PullbackError, ValueError):
    """Shapes do not fit."""


class DtypeError(PullbackError, TypeError):
    """A dtype cannot be used here, such as an integer where a derivative is wanted."""


class ArgumentError(PullbackError, ValueError):
    """An argument has a value that cannot be used."""


class ArgumentTypeError(PullbackError, TypeError):
    """An argument has a type that cannot be used."""


class PositionError(PullbackError, IndexError, ValueError):
    """An index or an axis that an array does not have (both families, as NumPy's AxisError)."""


class MixedLibrariesError(PullbackError, TypeError):
    """Arrays of two array libraries met in one operation."""


class RuleError(PullbackError, ValueError):
    """A gradient function returned the wrong number, shape or type of gradients."""


class RuleTypeError(PullbackError, TypeError):
    """A gradient function has the wrong signature or returned something that is no array."""


class VariablesError(PullbackError, TypeError):
    """A custom gradient read variables, but its gradient function cannot answer for them."""


class UnknownNameError(PullbackError, LookupError):
    """A name that nobody registered."""


class DuplicateNameError(PullbackError, KeyError):
    """A name was registered twice."""


class GraphFreedError(PullbackError, RuntimeError):
    """The values a gradient needs have been freed by an earlier one."""


class InplaceError(PullbackError, RuntimeError):
    """A value that a gradient needs was changed in place."""


class AnomalyError(PullbackError, RuntimeError):
    """A step of a pull gave a NaN while they were being looked for."""


class TapeError(PullbackError, RuntimeError):
    """A tape was used in a way that its state does not allow."""


class DisconnectedError(PullbackError, RuntimeError):
    """A gradient was asked for that does not exist."""


class NotDifferentiableError(PullbackError, RuntimeError):
    """A second derivative reached a value whose first derivative is all that is known."""


class BatchedValueError(PullbackError, TypeError):
    """Inside `vmap`, something was asked for that is another for each example."""


class SymbolError(PullbackError, TypeError):
    """A tensor of a graph was asked for what is known only when the graph runs."""


class GraphError(PullbackError, ValueError):
    """A graph was used in a way that it does not allow: finalized, or with a stranger's tensor."""


class SessionError(PullbackError, RuntimeError):
    """A session was asked for what it cannot run: closed, nothing fed, nothing initialised."""


class CaptureError(PullbackError, RuntimeError):
    """A hand-written gradient uses a tracked tensor that is not one of its arguments."""


class SingularMatrixError(PullbackError, ValueError):
    """A matrix has no inverse."""


class ConvergenceError(PullbackError, RuntimeError):
    """A solver ended without a solution."""


class CheckFailed(PullbackError, AssertionError):  # noqa: N818  # as pytest says it
    """`check` found something wrong, and was asked to raise."""


class OverrideWarning(UserWarning):
    """An override was in force while operations were recorded, and matched none of them."""


class LostGradientWarning(UserWarning):
    """A derivative is zero because a tracked tensor left the library on the way."""


class LoopWarning(UserWarning):
    """An operation has no batching rule, and runs once for each example."""


_PACKAGE = __file__[: -len("errors.py")]  # the folder of this package


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A fix that names the closest of the known names.

    >>> suggestion("Sign", ["sign", "sin"])
    "did you mean 'sign'?"
    """
    import difflib  # errors are rare, and its import is not free

    names = sorted(known)
    by_lower = {n.lower(): n for n in reversed(names)}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    if close:
        return f"did you mean {by_lower[close[0]]!r}?"
    return f"known: {', '.join(names[:12])}{', …' if len(names) > 12 else ''}" if names else ""
