"""Tools around a computation: check, explain, draw, profile, monitor."""
