"""Functions composed of operations, shared by NumPy's protocol and the front ends."""
