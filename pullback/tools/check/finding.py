"""`Finding`: the result of one law in one case."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["passed", "failed", "not applicable"]


@dataclass(frozen=True)
class Finding:
    """One case of one law: it passed, failed, or does not apply.

    law         the law's name; set by `check`
    status      "passed", "failed" or "not applicable"
    path        how the derivative was computed: "eager", "jvp", "vmap", "function", …
    dtype       the dtype of the inputs
    reason      why the law does not apply; for a passed law, a remark ("in float32")
    subject, expected, got, fix   the message of a failure, as in every error of the library
    inputs      the smallest failing input: one array per differentiated argument
    wanted, seen   the expected array and the array that was computed
    difference  the largest difference between these two

    >>> finding = failed("gradient of `f`", "2.0", "1.0", "multiply by two")
    >>> finding.ok, print(finding.message)
    gradient of `f`
      expected: 2.0
      got:      1.0
      fix:      multiply by two
    (False, None)
    """

    status: Status
    law: str = ""
    path: str = "eager"
    dtype: str = ""
    reason: str = ""
    subject: str = ""
    expected: str = ""
    got: str = ""
    fix: str = ""
    inputs: tuple[Any, ...] | None = None
    wanted: Any = None
    seen: Any = None
    difference: float | None = None

    @property
    def ok(self) -> bool:
        """True unless the law failed."""
        return self.status != "failed"

    @property
    def message(self) -> str:
        """The failure as subject / expected / got / fix; for any other finding, its remark."""
        if self.ok:
            return self.reason
        lines = [self.subject]
        for label, text in (("expected:", self.expected), ("got:", self.got), ("fix:", self.fix)):
            if text:
                lines.append(f"  {label:<9} {text}")
        return "\n".join(lines)

    @property
    def who(self) -> str:
        """The former name of `subject`."""
        warnings.warn("`finding.who` is now `finding.subject`", DeprecationWarning, stacklevel=2)
        return self.subject


def passed(remark: str = "", *, path: str = "eager", dtype: str = "") -> Finding:
    """A finding: the law holds in this case."""
    return Finding("passed", path=path, dtype=dtype, reason=remark)


def not_applicable(reason: str, *, path: str = "eager", dtype: str = "") -> Finding:
    """A finding: the law does not apply to this function, with the reason."""
    return Finding("not applicable", path=path, dtype=dtype, reason=reason)


def failed(
    subject: str, expected: str, got: str, fix: str = "", *, path: str = "eager", dtype: str = "",
    inputs: Any = None, wanted: Any = None, seen: Any = None, difference: float | None = None,
) -> Finding:
    """A finding: the law is broken in this case."""
    return Finding(
        "failed", path=path, dtype=dtype, subject=subject, expected=expected, got=got, fix=fix,
        inputs=None if inputs is None else tuple(inputs), wanted=wanted, seen=seen,
        difference=difference,
    )
