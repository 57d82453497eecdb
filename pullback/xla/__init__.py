"""Compiled functions and training steps, by XLA through JAX."""
