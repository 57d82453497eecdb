"""The graph and its readers; README.md says in which order to read."""
