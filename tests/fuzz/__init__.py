"""Random programs: on the PyTorch front end and on PyTorch, on JAX, and in every mode."""
