// Batched: elementwise kernels on arrays with a hidden axis, `kinds/batching.py::_short`.
//
// The kernel runs on the arrays inside, where their axes are lined up as they are: two of one vmap
// and rank, or one and a constant of no higher rank. Only ufuncs of NumPy's on small plain arrays:
// other kernels, and arrays that may become large ones, are called in Python.

static PyTypeObject *BatchedType, *HiddenType;   // `arrays/batched.py`: Batched, HiddenShape
static Py_ssize_t value_at, tag_at;
static PyObject *s_tags, *s_tag, *maps_setting;   // `kinds/vmaps.py`: what holds the running vmaps

#define MIDDLE 16384   // entries

static inline PyObject *field(PyObject *object, Py_ssize_t at) {
    return *(PyObject **)((char *)object + at);
}
static inline int is_batched(PyObject *x) { return Py_TYPE(x) == BatchedType; }

static int same_number(PyObject *a, PyObject *b) {
    return a == b || PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

static PyObject *batched_of(PyObject *value, PyObject *tag) {   // takes the value
    PyObject *made = value ? BatchedType->tp_alloc(BatchedType, 0) : NULL;
    if (!made) { Py_XDECREF(value); return NULL; }
    *(PyObject **)((char *)made + value_at) = value;
    *(PyObject **)((char *)made + tag_at) = Py_NewRef(tag);
    return made;
}

// The array inside, if it is a plain one of no more than so many axes; NULL if not.
static PyObject *array_in(PyObject *x) {
    PyObject *value = is_batched(x) ? field(x, value_at) : x;
    if (!value || !is_plain(value) || PyArray_SIZE((PyArrayObject *)value) > MIDDLE) return NULL;
    return PyArray_ITEMSIZE((PyArrayObject *)value) == 2 ? NULL : value;   // half precision
}

// The result of a ufunc on one or two arrays, of which one is batched; *plain = 0: not to be done
// here, and nothing has run.
static PyObject *compute_inside(Loops *loops, PyObject *kernel, PyObject **x, int n, int *plain) {
    PyObject *a = array_in(x[0]), *b = NULL, *tag = is_batched(x[0]) ? field(x[0], tag_at) : NULL;
    *plain = 0;
    if (n == 1) {
        if (!a) return NULL;
        *plain = 1;
        return batched_of(compute1(loops, kernel, a), tag);
    }
    b = array_in(x[1]);
    int first = is_number(x[0]), second = is_number(x[1]);
    if ((!a && !first) || (!b && !second)) return NULL;
    int left = first ? -1 : PyArray_NDIM((PyArrayObject *)a);
    int right = second ? -1 : PyArray_NDIM((PyArrayObject *)b);
    if (!tag) {
        tag = field(x[1], tag_at);
        if (left >= right) return NULL;
    } else if (!is_batched(x[1])) {
        if (right >= left) return NULL;
    } else if (left != right || !same_number(tag, field(x[1], tag_at))) return NULL;
    *plain = 1;
    if (first) {
        PyObject *args[2] = {x[0], b};
        return batched_of(PyObject_Vectorcall(kernel, args, 2, NULL), tag);
    }
    return batched_of(compute2(loops, kernel, a, second ? x[1] : b), tag);
}

// Whether a shape is that of a batched array; `bare`: but for the hidden axis. -1 for an error.
static int has_shape(PyObject *x, PyObject *shape, int *bare) {
    PyArrayObject *a = (PyArrayObject *)field(x, value_at);
    int nd = PyArray_NDIM(a) - 1;
    *bare = PyTuple_CheckExact(shape);
    if ((!*bare && Py_TYPE(shape) != HiddenType) || PyTuple_GET_SIZE(shape) != nd) return 0;
    for (int i = 0; i < nd; i++)
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != PyArray_DIM(a, i + 1)) return 0;
    if (*bare) return 1;
    PyObject *tags = PyObject_GetAttr(shape, s_tags);
    if (!tags) return -1;
    int same = PyTuple_CheckExact(tags) && PyTuple_GET_SIZE(tags) == 1
        && same_number(PyTuple_GET_ITEM(tags, 0), field(x, tag_at));
    Py_DECREF(tags);
    return same;
}

// Whether the innermost vmap that is running is that of a batched array.
static int runs(PyObject *x, PyObject *scoped) {
    PyObject *maps = maps_setting ? PyObject_GetItem(scoped, maps_setting) : NULL;
    if (!maps) { PyErr_Clear(); return 0; }
    Py_ssize_t n = PyTuple_Check(maps) ? PyTuple_GET_SIZE(maps) : 0;
    PyObject *tag = n ? PyObject_GetAttr(PyTuple_GET_ITEM(maps, n - 1), s_tag) : NULL;
    int same = tag && same_number(tag, field(x, tag_at));
    PyErr_Clear();
    Py_XDECREF(tag);
    Py_DECREF(maps);
    return same;
}
