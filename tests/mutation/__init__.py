"""Measures what the quick tier of the tests finds, by mutants; see README.md."""
