// Kernels: NumPy's own inner loops, called without the machinery around them.
//
// A ufunc on four numbers spends nearly all its time on finding the loop to run. For small
// contiguous arrays of float32 or float64 the loop is found once (`core/compiled/__init__.py::
// loops_of`) and called directly, so that the bits are NumPy's. A floating-point flag that the loop
// raises sends the call to the ufunc, which warns or raises as `numpy.errstate` says.

#define SMALL 1024   // entries; above, the time of the ufunc's machinery does not matter
#define FLAGS (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

typedef struct {   // the contents of the capsule "numpy_1.24_ufunc_call_info"
    PyArrayMethod_StridedLoop *loop;
    PyArrayMethod_Context *context;
    NpyAuxData *data;
    npy_bool requires_pyapi, no_floatingpoint_errors;
} CallInfo;

typedef struct {
    CallInfo *info;          // NULL: none
    PyObject *capsule;       // keeps it
    PyArray_Descr *result;
} Loop;

typedef struct {
    PyObject *kernel;        // the ufunc that the loops are of; NULL: not looked for yet
    Loop loop[2];            // of float32 and float64
} Loops;

static PyObject *find_loops;   // `loops_of`, in Python
static Loops add_loops, multiply_loops;
static PyObject *numpy_add, *numpy_multiply;

static int loops_set(Loops *loops, PyObject *kernel, int count) {
    loops->kernel = Py_NewRef(kernel);
    PyObject *found = PyObject_CallFunction(find_loops, "Oi", kernel, count);
    if (!found) return -1;
    for (int k = 0; k < 2; k++) {
        PyObject *pair = PyTuple_GET_ITEM(found, k);
        if (pair == Py_None) continue;
        PyObject *capsule = PyTuple_GET_ITEM(pair, 0);
        CallInfo *info = PyCapsule_GetPointer(capsule, "numpy_1.24_ufunc_call_info");
        if (!info) { Py_DECREF(found); return -1; }
        if (info->requires_pyapi) continue;
        loops->loop[k].info = info;
        loops->loop[k].capsule = Py_NewRef(capsule);
        loops->loop[k].result = (PyArray_Descr *)Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    }
    Py_DECREF(found);
    return 0;
}

static void loops_end(Loops *loops) {
    Py_CLEAR(loops->kernel);
    for (int k = 0; k < 2; k++) {
        loops->loop[k].info = NULL;
        Py_CLEAR(loops->loop[k].capsule);
        Py_CLEAR(loops->loop[k].result);
    }
}

static inline int is_plain(PyObject *x) { return Py_TYPE(x) == &PyArray_Type; }

static inline Loop *loop_for(Loops *loops, PyArrayObject *a) {
    int num = PyArray_TYPE(a), wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
    if (num != NPY_FLOAT && num != NPY_DOUBLE) return NULL;
    Loop *loop = loops->loop + (num == NPY_DOUBLE);
    if (!loop->info || !PyArray_NDIM(a) || (PyArray_FLAGS(a) & wanted) != wanted
        || PyArray_SIZE(a) > SMALL || !PyArray_ISNOTSWAPPED(a)) {
        return NULL;
    }
    return loop;
}

static inline int same_space(PyArrayObject *a, PyArrayObject *b) {
    return PyArray_TYPE(a) == PyArray_TYPE(b) && PyArray_NDIM(a) == PyArray_NDIM(b)
        && PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), PyArray_NDIM(a));
}

// The result of a loop on arguments with the given steps, shaped as `a`; NULL without an error if
// the loop raised a flag.
static PyObject *run_loop(Loop *loop, PyArrayObject *a, char **args, npy_intp *steps, int count) {
    Py_INCREF(loop->result);
    PyObject *made = PyArray_NewFromDescr(
        &PyArray_Type, loop->result, PyArray_NDIM(a), PyArray_DIMS(a), NULL, NULL, 0, NULL);
    if (!made) return NULL;
    npy_intp size = PyArray_SIZE(a);
    args[count] = PyArray_BYTES((PyArrayObject *)made);
    steps[count] = PyArray_ITEMSIZE((PyArrayObject *)made);
    if (fetestexcept(FLAGS)) feclearexcept(FLAGS);
    int failed = loop->info->loop(loop->info->context, args, &size, steps, loop->info->data);
    if (failed || fetestexcept(FLAGS)) {
        feclearexcept(FLAGS);
        Py_CLEAR(made);
    }
    return made;
}

static PyObject *compute1(Loops *loops, PyObject *kernel, PyObject *x) {
    if (loops && loops->kernel == kernel && is_plain(x)) {
        PyArrayObject *a = (PyArrayObject *)x;
        Loop *loop = loop_for(loops, a);
        if (loop) {
            char *args[2] = {PyArray_BYTES(a)};
            npy_intp steps[2] = {PyArray_ITEMSIZE(a)};
            PyObject *made = run_loop(loop, a, args, steps, 1);
            if (made || PyErr_Occurred()) return made;
        }
    }
    return PyObject_Vectorcall(kernel, &x, 1, NULL);
}

// A Python number as an entry of an array's dtype; whether NumPy, too, would convert it silently.
static inline int number_into(PyObject *number, int num, void *entry) {
    double value = PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number)
                                              : PyLong_AsDouble(number);
    if (value == -1 && PyErr_Occurred()) { PyErr_Clear(); return 0; }
    if (num == NPY_DOUBLE) { *(double *)entry = value; return isfinite(value); }
    float narrow = (float)value;
    *(float *)entry = narrow;
    return isfinite(narrow) && (narrow != 0 || value == 0);
}

static inline int is_number(PyObject *x) { return PyFloat_CheckExact(x) || PyLong_CheckExact(x); }

// An argument of a loop that has the space of `a`, one entry, or is a number; 0 where it is neither.
static inline int argument(
    Loops *loops, PyArrayObject *a, PyObject *x, double *entry, char **at, npy_intp *step
) {
    if (is_plain(x)) {
        PyArrayObject *b = (PyArrayObject *)x;
        *at = PyArray_BYTES(b);
        *step = PyArray_ITEMSIZE(b);
        if (b == a || same_space(a, b)) return b == a || loop_for(loops, b);
        *step = 0;   // one entry, with each of the others
        return PyArray_SIZE(b) == 1 && PyArray_NDIM(b) <= PyArray_NDIM(a)
            && PyArray_TYPE(b) == PyArray_TYPE(a) && loop_for(loops, b);
    }
    *at = (char *)entry;
    *step = 0;
    return is_number(x) && number_into(x, PyArray_TYPE(a), entry);
}

// x, y: arrays, or one of them a Python number.
static PyObject *compute2(Loops *loops, PyObject *kernel, PyObject *x, PyObject *y) {
    PyObject *first = is_plain(x) ? x : y;
    if (loops && loops->kernel == kernel && is_plain(first)) {
        PyArrayObject *a = (PyArrayObject *)first;
        Loop *loop = loop_for(loops, a);
        double entries[2];
        char *args[3];
        npy_intp steps[3];
        if (loop && argument(loops, a, x, entries, args, steps)
            && argument(loops, a, y, entries + 1, args + 1, steps + 1)) {
            PyObject *made = run_loop(loop, a, args, steps, 2);
            if (made || PyErr_Occurred()) return made;
        }
    }
    PyObject *args[2] = {x, y};
    return PyObject_Vectorcall(kernel, args, 2, NULL);
}
