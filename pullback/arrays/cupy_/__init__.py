"""CuPy: the adapter of its arrays, and kernels that the library does not have."""
