"""NumPy's functions without a rule: those that run on plain arrays, and those that are refused.

A refused function raises an error if a Tensor among its arguments is tracked; otherwise NumPy's own
function runs on plain arrays. The table gives the reason, or an alternative.
"""

from __future__ import annotations

PLAIN = frozenset({
    "allclose", "argpartition", "array2string", "array_equal", "array_equiv", "array_repr",
    "array_str", "can_cast", "common_type", "diag_indices_from", "digitize", "einsum_path",
    "isclose", "iscomplex", "iscomplexobj", "isneginf", "isposinf", "isreal", "isrealobj", "ix_",
    "lexsort", "may_share_memory", "min_scalar_type", "nanargmax", "nanargmin", "result_type",
    "save", "savetxt", "savez", "savez_compressed", "shares_memory", "tril_indices_from",
    "triu_indices_from",
})
"""Functions that return booleans, indices, dtypes or text, and so have no derivative."""

_SETS = "use pullback.unique_values, or pullback.isin"
_INTEGERS = "it takes integers or dates"
_POLYNOMIALS = "write it with numpy.polyval or numpy.convolve, which have rules"
_LOOP = "use pullback.vmap, or pullback's operations"
_WRITES = "use pullback.set_at, which makes a new tensor, or x[index] = value"
_BRANCHES = "its dtype depends on the values: convert the argument to complex first"
_HISTOGRAM = "counts have no derivative; numpy.bincount is differentiable in its weights"

REFUSED = {
    "apply_along_axis": _LOOP, "apply_over_axes": _LOOP,
    "busday_count": _INTEGERS, "busday_offset": _INTEGERS,
    "copyto": _WRITES, "datetime_as_string": _INTEGERS, "fill_diagonal": _WRITES,
    "geomspace": "use numpy.logspace, or pullback.exp(pullback.linspace(…))",
    "histogram": _HISTOGRAM, "histogram2d": _HISTOGRAM,
    "histogram_bin_edges": _HISTOGRAM, "histogramdd": _HISTOGRAM,
    "insert": "use pullback.concat of the parts",
    "intersect1d": _SETS, "is_busday": _INTEGERS, "linalg.lstsq": "use pullback.linalg.lstsq",
    "linalg.matrix_rank": "use pullback.linalg.matrix_rank",
    "in1d": "use numpy.isin",
    "packbits": _INTEGERS, "piecewise": "use pullback.where", "place": _WRITES,
    "poly": _POLYNOMIALS, "polyadd": _POLYNOMIALS, "polyder": _POLYNOMIALS, "polydiv": _POLYNOMIALS,
    "polyfit": "use pullback.linalg.lstsq", "polyint": _POLYNOMIALS, "polymul": _POLYNOMIALS,
    "polysub": _POLYNOMIALS, "put": _WRITES, "put_along_axis": _WRITES, "putmask": _WRITES,
    "ravel_multi_index": _INTEGERS, "real_if_close": _BRANCHES,
    "roots": "use pullback.linalg.eigvals of the companion matrix",
    "setdiff1d": _SETS, "setxor1d": _SETS, "sort_complex": "use pullback.sort",
    "trim_zeros": "use x[start:stop]", "union1d": _SETS, "unique": _SETS, "unpackbits": _INTEGERS,
    "lib.stride_tricks.sliding_window_view": "use x[index] with an array of indices",
    "unravel_index": _INTEGERS, "unwrap": "use pullback.diff and pullback.cumulative_sum",
}
"""Functions without a rule -> an alternative, or why they have none."""

WRITES = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
"""Functions that write into their first argument, which must not be a Tensor."""

MAKES = frozenset({
    "arange", "ascontiguousarray", "asfortranarray", "empty", "eye", "frombuffer", "fromfile",
    "fromfunction", "fromiter", "fromstring", "genfromtxt", "identity", "loadtxt", "ones",
    "require", "tri", "zeros",
})
"""Functions that come here only through `like=x`: their result becomes a Tensor."""

REFUSED.update({
    f"lib.scimath.{name}": _BRANCHES
    for name in ("arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt")
})
REFUSED.update({
    f"lib.recfunctions.{name}": "it takes structured arrays"
    for name in (
        "append_fields", "apply_along_fields", "assign_fields_by_name", "drop_fields",
        "find_duplicates", "join_by", "merge_arrays", "rec_append_fields", "rec_drop_fields",
        "rec_join", "recursive_fill_fields", "rename_fields", "repack_fields", "require_fields",
        "stack_arrays", "structured_to_unstructured", "unstructured_to_structured",
    )
})
