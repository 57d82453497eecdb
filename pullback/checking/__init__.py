"""`check`: is a hand-written gradient right? Reading order: finding, subject, laws, check, report.

A `Subject` is a function and its examples, and knows how to ask it for gradients. A law is a
function of a subject that yields findings. `check` runs the laws and puts what they found into a
`Report`.
"""

from .check import check as check
from .finding import Finding as Finding
from .report import Report as Report

__all__ = ["Finding", "Report", "check"]
