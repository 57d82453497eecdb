// Duals: forward mode in the plain case, `passes/accumulator.py::Accumulator.advanced`.
//
// One sweep and nothing else special, arrays of NumPy's, rules that are their own transposes. What
// is not so, an error of a rule and a tangent that must be broadcast go to the function in Python,
// which computes the tangent anew.

static PyTypeObject *DualType;                     // NULL until forward mode is first used
static Py_ssize_t token_at, tangent_at, sweep_token_at;

// Whether a tangent lies in the space of an output.
static int same_as(PyObject *t, PyObject *out) {
    if (!PyArray_Check(t) || !PyArray_Check(out))
        return PyArray_IsScalar(t, Generic) && Py_TYPE(t) == Py_TYPE(out);
    PyArrayObject *a = (PyArrayObject *)t, *b = (PyArrayObject *)out;
    return PyArray_DESCR(a) == PyArray_DESCR(b) && PyArray_NDIM(a) == PyArray_NDIM(b)
        && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

static PyObject *sum_of(PyObject *a, PyObject *b) {
    return is_plain(a) && is_plain(b) ? compute2(&add_loops, numpy_add, a, b)
                                      : PyNumber_Add(a, b);
}

static int advance(Operation *f, Tensor *out, Node **p, PyObject **x, PyObject *state) {
    PyObject *sweep = slot(state, sweep_at), *token, *total = NULL;
    if (!DualType || !sweep || sweep == Py_None) return 0;
    token = slot(sweep, sweep_token_at);
    for (int i = 0; i < f->arguments; i++)
        if (p[i] && (Py_TYPE(p[i]) != DualType || !(f->forward & 1 << i)
                     || slot((PyObject *)p[i], token_at) != token)) return 0;
    for (int i = 0; i < f->arguments; i++) {
        if (!p[i]) continue;
        PyObject *t = Py_NewRef(slot((PyObject *)p[i], tangent_at));
        PyObject *saved = f->read[i] < f->arguments ? x[f->read[i]] : out->array;
        PyObject *r = ruled(f, t, saved, i), *both = r;
        Py_DECREF(t);
        if (r && total) {
            both = same_as(r, total) ? sum_of(total, r) : NULL;
            Py_DECREF(r);
        }
        Py_XDECREF(total);
        if (!(total = both)) break;
    }
    if (!total || !same_as(total, out->array)) {
        PyErr_Clear();
        Py_XDECREF(total);
        return 0;
    }
    Node *made = (Node *)DualType->tp_alloc(DualType, 0);
    if (!made) { Py_DECREF(total); return -1; }
    made->level = TANGENT;
    made->seq = ++counter;
    made->shape = shape_of(out->array, p[0], p[1]);
    made->dtype = dtype_of(out->array);
    *(PyObject **)((char *)made + token_at) = Py_NewRef(token);
    *(PyObject **)((char *)made + tangent_at) = total;
    if (!made->shape || !made->dtype) { Py_DECREF(made); return -1; }
    Py_XSETREF(out->history, (PyObject *)made);
    return 1;
}
