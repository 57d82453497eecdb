"""The graph and its first reader; README.md says in which order to read."""
