"""Kinds of data beside arrays: batched arrays inside `vmap`, symbols while a graph is built."""
