"""`check`: tests whether a custom gradient is right. Read: finding, subject, laws, check, report.

A `Subject` is a function with its examples, and computes the function's derivatives in every mode.
A law is a function of a subject that yields findings. `check` runs the laws and collects their
findings in a `Report`.
"""

from .check import check as check
from .finding import Finding as Finding
from .report import Report as Report

__all__ = ["Finding", "Report", "check"]
