// Operation: the public function of an operation with one or two array arguments, and its pull.
//
// `call` stands for the closures `_unary`, `_binary` and `_single` of `core/dispatch.py`: it takes
// Tensors whose arrays are of one class, and records the plain case. It hands everything else to
// the closure, which it holds as `general`: other arguments, traced code, array classes whose
// kernel is not known yet. `pull` stands for `_pull_unary` and `_pull_binary`.

enum { NONE, SAME, TIMES, BOTH, ALONE, SLOPE, CONSTANT };
// How an argument's rule is called: not from here; g; g * saved; f(g, saved); f(g);
// g * f(saved); g * f().

// A rule as steps: kernels on the cotangent, what the rule reads, its constants, and the results of
// the steps before, in this order. See `core/compiled/steps.py`.
enum { VALUES = 8, STEPS = 8 };
typedef struct {
    int reads, constants, steps, partial;
    int read[VALUES];
    PyObject *constant[VALUES];
    struct { Loops loops; int a, b; } step[STEPS];   // b: -1 for a kernel of one array
} Table;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *weak;
    PyObject *dict, *op, *general, *kernels, *defaults, *names;   // the latter two: of attributes
    PyObject *function[2];    // the rules
    int kind[2], read[2], parted[2];
    Table *table[2];
    char asked[2];            // whether Python was asked for the table
    int arguments, differentiable, single;   // single: one array and attributes
    int keep[4];   // by which arguments are tracked (bit 0, bit 1): which values to save (bits)
    int keeps;     // whether it saves any for its rules
    int frees;     // `op.keeps`
    int forward;   // of which arguments (bits) the rule is its own transpose
    int aligned;   // elementwise: on batched arrays its kernel runs on the arrays inside
    Py_ssize_t required;
    int view, casts, disabled;
    int own;       // one of the library's, which lasts
    Loops loops;
} Operation;

static PyTypeObject *OperationType, *CallNodeType;
static PyObject *refusals, *refuse, *general_node, *unrecorded, *link_view, *fitted, *added, *find_steps;
static PyObject *traces, *entrances, *scalers, *inexact_dtypes;
static PyObject *s_attrs, *s_pull, *s_keeps, *s_shape, *s_dtype, *empty_tuple;

// State ---------------------------------------------------------------------------------------

static PyObject *state_variable;
static Py_ssize_t mode_at, observers_at, scoped_at, sweep_at;
enum { OFF = 0, REQUIRED = 2, ALL = 3, TANGENT = 4 };

static inline PyObject *state_now(void) {  // borrowed: its context keeps it
    PyObject *found = NULL;
    if (PyContextVar_Get(state_variable, NULL, &found) < 0) return NULL;
    Py_XDECREF(found);
    return found;
}
static inline PyObject *slot(PyObject *object, Py_ssize_t at) {
    return *(PyObject **)((char *)object + at);
}
static inline long mode_of(PyObject *state) { return PyLong_AsLong(slot(state, mode_at)); }

// Whether this thread may build a graph, in which tensors from outside are others.
static inline int traces_here(void) {
    if (!PySet_GET_SIZE(traces)) return 0;
    PyObject *state = state_now();
    Py_ssize_t settings = state ? PyObject_Size(slot(state, scoped_at)) : -1;
    if (settings < 0) PyErr_Clear();
    return settings != 0;
}

// Recording -----------------------------------------------------------------------------------

// The shape of a result, if it can be that of a parent: most nodes of a graph share few tuples.
static PyObject *shape_of(PyObject *x, Node *p, Node *q) {
    if (is_batched(x) && is_plain(field(x, value_at))) {
        int bare;
        if (p && has_shape(x, p->shape, &bare) == 1 && !bare) return Py_NewRef(p->shape);
        if (q && has_shape(x, q->shape, &bare) == 1 && !bare) return Py_NewRef(q->shape);
        if (PyErr_Occurred()) PyErr_Clear();
    }
    if (!PyArray_Check(x)) return PyObject_GetAttr(x, s_shape);
    PyArrayObject *a = (PyArrayObject *)x;
    int nd = PyArray_NDIM(a);
    Node *near[2] = {p, q};
    for (int k = 0; k < 2; k++) {
        PyObject *shape = near[k] ? near[k]->shape : NULL;
        if (!shape || !PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) != nd) continue;
        int i = 0;
        while (i < nd && PyLong_CheckExact(PyTuple_GET_ITEM(shape, i))
               && PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) == PyArray_DIM(a, i)) i++;
        if (i == nd) return Py_NewRef(shape);
    }
    return PyObject_GetAttr(x, s_shape);
}

static inline PyObject *dtype_of(PyObject *x) {
    if (is_batched(x) && is_plain(field(x, value_at))) x = field(x, value_at);
    if (PyArray_Check(x)) return Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)x));
    return PyObject_GetAttr(x, s_dtype);
}

// See Note [constants are held weakly] in `core/node.py`.
static PyObject *held(PyObject *x) {
    return Py_TYPE(x)->tp_weaklistoffset ? PyWeakref_NewRef(x, NULL) : Py_NewRef(x);
}

static int are_inert(PyObject *attrs) {
    PyObject *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(attrs, &position, NULL, &value)) if (!is_inert(value)) return 0;
    return 1;
}

static Node *record(Operation *f, Tensor *out, Node **p, PyObject **x, int level, PyObject *attrs) {
    int n = f->arguments;
    Node *made = attrs ? (Node *)CallNodeType->tp_alloc(CallNodeType, 0) : new_node();
    if (!made) return NULL;
    made->op = Py_NewRef(f->op);
    made->maker = Py_NewRef((PyObject *)f);
    made->np = (int8_t)n;
    made->ns = (int8_t)(n + 1);
    int keep = f->keep[(p[0] != NULL) | (p[1] != NULL) << 1];
    for (int i = 0; i < n; i++) {
        made->p[i] = Py_XNewRef((PyObject *)p[i]);
        if (keep & 1 << i) made->s[i] = Py_NewRef(x[i]);
        else if (!f->keeps && !p[i] && !(made->s[i] = held(x[i]))) goto failed;
    }
    if (keep & 1 << n) made->s[n] = Py_NewRef(out->array);
    made->level = (int8_t)level;
    made->seq = ++counter;
    made->shape = shape_of(out->array, p[0], p[1]);
    made->dtype = dtype_of(out->array);
    if (!made->shape || !made->dtype) goto failed;
    if (attrs && PyObject_SetAttr((PyObject *)made, s_attrs, attrs) < 0) goto failed;
    if (f->own && is_calm(p[0]) && is_calm(p[1]) && is_inert(made->s[0]) && is_inert(made->s[1])
        && is_inert(made->s[2]) && (!attrs || attrs == f->defaults || are_inert(attrs)))
        node_calm(made);
    return made;
failed:
    Py_DECREF(made);
    return NULL;
}

// `duals.h`: 1: the result has its tangent; 0: to be found in Python; -1: an error.
static int advance(Operation *f, Tensor *out, Node **p, PyObject **x, PyObject *state);

// Give a result its history: nothing, a node, or what the general path finds.
static int finish(Operation *f, Tensor *out, Node **p, PyObject **x, PyObject *attrs) {
    if (!p[0] && !p[1]) return 0;
    int level = !p[1] || (p[0] && p[0]->level <= p[1]->level) ? p[0]->level : p[1]->level;
    PyObject *state = state_now();
    if (!state) return -1;
    long mode = mode_of(state);
    if (mode > ALL && f->forward && level == TANGENT) {
        int done = advance(f, out, p, x, state);
        if (done) return done < 0 ? -1 : 0;
    }
    if (f->single ? mode > ALL : f->differentiable && mode >= level && mode > ALL) {
        PyObject *parents = tuple_of((PyObject **)p, f->arguments);
        PyObject *data = tuple_of(x, f->arguments);
        PyObject *given = attrs ? Py_NewRef(attrs) : PyDict_New();
        PyObject *node = parents && data && given ? PyObject_CallFunctionObjArgs(
            general_node, f->op, parents, data, (PyObject *)out, given, NULL) : NULL;
        Py_XDECREF(parents); Py_XDECREF(data); Py_XDECREF(given);
        if (!node) return -1;
        Py_XSETREF(out->history, node);
        return 0;
    }
    if (!f->differentiable) {
        if (f->single || !PyTuple_GET_SIZE(slot(state, observers_at))) return 0;
        PyObject *parents = tuple_of((PyObject **)p, f->arguments);
        PyObject *done = parents ? PyObject_CallFunctionObjArgs(
            unrecorded, f->op, parents, (PyObject *)out, NULL) : NULL;
        Py_XDECREF(parents); Py_XDECREF(done);
        return done ? 0 : -1;
    }
    if (mode < level) return 0;
    if (f->casts) {
        PyObject *dtype = dtype_of(out->array);
        PyObject *inexact = dtype ? PyObject_GetItem(inexact_dtypes, dtype) : NULL;
        Py_XDECREF(dtype); Py_XDECREF(inexact);
        if (!inexact) return -1;
        if (inexact != Py_True) return 0;
    }
    Node *made = record(f, out, p, x, level, attrs);
    if (!made) return -1;
    Py_XSETREF(out->history, (PyObject *)made);
    return 0;
}

// A kernel's error, raised anew with the operation's name if it is a refusal of arguments.
static void refused(Operation *f, PyObject **x) {
    if (!PyErr_ExceptionMatches(refusals)) return;
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (trace) PyException_SetTraceback(error, trace);
    PyObject *data = tuple_of(x, f->arguments);
    if (data) Py_XDECREF(PyObject_CallFunctionObjArgs(refuse, f->op, data, error, NULL));
    Py_XDECREF(data); Py_XDECREF(type); Py_XDECREF(error); Py_XDECREF(trace);
}

// Calls ---------------------------------------------------------------------------------------

// x: NULL for what is inside of batched arrays.
static PyObject *kernel_of(Operation *f, PyObject *x) {  // borrowed; NULL: not known
    PyTypeObject *type = x ? Py_TYPE(x) : &PyArray_Type;
    PyObject *kernel = x || f->aligned
        ? PyDict_GetItemWithError(f->kernels, (PyObject *)type) : NULL;
    if (!kernel && (x ? is_plain(x) : f->aligned)) {   // found on first use; an error is for the
        if ((kernel = PyObject_GetItem(f->kernels, (PyObject *)type))) Py_DECREF(kernel);
        else PyErr_Clear();                            // general path
    }
    if (kernel && !x && Py_TYPE(kernel) != Py_TYPE(numpy_add)) return NULL;
    if (kernel && !f->loops.kernel && Py_TYPE(kernel) == Py_TYPE(numpy_add) && !f->single
        && loops_set(&f->loops, kernel, f->arguments) < 0) return NULL;
    return kernel;
}

// The node of a tensor, by the property where a class computes it; 0 for an error. It is held, as a
// kernel may let other threads run, and one may write to the tensor.
static inline int history(int plain, PyObject *x, Node **node, PyObject **owned) {
    *owned = plain ? Py_XNewRef(((Tensor *)x)->history) : PyObject_GetAttr(x, s_history);
    if (!plain && !*owned) return 0;
    *node = node_of(*owned);
    return 1;
}

static PyObject *call(Operation *f, PyObject *const *args, size_t flags, PyObject *names) {
    Py_ssize_t n = PyVectorcall_NARGS(flags);
    PyObject *x[2] = {NULL, NULL}, *own[2] = {NULL, NULL};
    Node *p[2] = {NULL, NULL};
    PyTypeObject *result = NULL;
    if (names || n != f->arguments || f->disabled || traces_here()) goto general;
    for (int i = 0; i < n; i++) {
        if (is_number(args[i]) && (i || (n == 2 && is_batched(args[1])))) {
            x[i] = args[i];
            continue;
        }
        Class *found = is_plain(args[i]) ? NULL : class_of(args[i]);
        if (!found) {
            if (!is_batched(args[i]) && (!is_plain(args[i])
                || PyDict_GetItemWithError(entrances, (PyObject *)&PyArray_Type))) goto general;
            x[i] = args[i];
            continue;
        }
        if (!found->fields || !((Tensor *)args[i])->array) goto general;
        if (!i) result = found->out;
        x[i] = ((Tensor *)args[i])->array;
        if (!history(found->plain, args[i], p + i, own + i)) goto failed;
    }
    int hides = is_batched(x[0]) || (n == 2 && is_batched(x[1]));
    if (n == 2 && !hides && Py_TYPE(x[1]) != Py_TYPE(x[0])
        && !(is_plain(x[0]) && is_number(x[1]))) goto general;
    if (!result && n == 2 && class_of(args[1])) goto general;   // an array, then a Tensor
    PyObject *kernel = kernel_of(f, hides ? NULL : x[0]);
    if (!kernel) {
        if (PyErr_Occurred()) goto failed;
        goto general;
    }
    // A kernel may end the tensor that holds an argument, as one that calls the user's code.
    Py_INCREF(kernel);
    for (int i = 0; i < n; i++) Py_INCREF(x[i]);
    int done = 1;
    PyObject *value = hides ? compute_inside(&f->loops, kernel, x, (int)n, &done)
        : n == 1 ? compute1(&f->loops, kernel, x[0]) : compute2(&f->loops, kernel, x[0], x[1]);
    Py_DECREF(kernel);
    if (!done) {
        for (int i = 0; i < n; i++) Py_DECREF(x[i]);
        goto general;
    }
    PyObject *answer = value;
    if (!value) {
        if (result) refused(f, x);
    } else if (result) {
        Tensor *out = new_tensor(result);
        answer = (PyObject *)out;
        if (!out) Py_DECREF(value);
        else {
            out->array = value;
            if (finish(f, out, p, x, NULL) < 0) Py_CLEAR(answer);
        }
    }
    for (int i = 0; i < n; i++) Py_DECREF(x[i]);
    for (int i = 0; i < n; i++) Py_XDECREF(own[i]);
    return answer;
general:
    for (int i = 0; i < 2; i++) Py_XDECREF(own[i]);
    return PyObject_Vectorcall(f->general, args, flags, names);
failed:
    for (int i = 0; i < 2; i++) Py_XDECREF(own[i]);
    return NULL;
}

// One array and attributes, which stand in for the defaults; a node's are never written to.
static PyObject *attributes(Operation *f, PyObject *const *args, Py_ssize_t n, PyObject *names) {
    if (n == 1 && !names) return Py_NewRef(f->defaults);
    PyObject *made = PyDict_Copy(f->defaults);
    for (Py_ssize_t i = 1; made && i < n; i++)
        if (PyDict_SetItem(made, PyTuple_GET_ITEM(f->names, i - 1), args[i]) < 0) Py_CLEAR(made);
    for (Py_ssize_t i = 0; made && names && i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(made, PyTuple_GET_ITEM(names, i), args[n + i]) < 0) Py_CLEAR(made);
    return made;
}

static PyObject *call_single(Operation *f, PyObject *const *args, size_t flags, PyObject *names) {
    Py_ssize_t n = PyVectorcall_NARGS(flags);
    Class *found = n < 1 || n > 1 + PyTuple_GET_SIZE(f->names) || f->disabled
        || traces_here()
        ? NULL : class_of(args[0]);
    if (!found || !found->fields || !((Tensor *)args[0])->array)
        return PyObject_Vectorcall(f->general, args, flags, names);
    PyTypeObject *result = found->out;
    int plain = found->plain;   // the entry may be another class's after the kernel
    PyObject *answer = NULL, *own = NULL, *value = NULL, *a = ((Tensor *)args[0])->array;
    PyObject *x[2] = {a, NULL};
    Node *p[2] = {NULL, NULL};
    PyObject *attrs = attributes(f, args, n, names);
    if (!attrs) return NULL;
    PyObject *kernel = PyDict_GET_SIZE(attrs) == f->required ? kernel_of(f, a) : NULL;
    if (!kernel) {
        Py_DECREF(attrs);
        return PyErr_Occurred() ? NULL : PyObject_Vectorcall(f->general, args, flags, names);
    }
    Py_INCREF(kernel); Py_INCREF(a);
    value = PyObject_VectorcallDict(kernel, &a, 1, attrs);
    Py_DECREF(kernel);
    if (!value) refused(f, x);
    else if (history(plain, args[0], p, &own)) {
        Tensor *out = new_tensor(result);
        answer = (PyObject *)out;
        if (out) {
            out->array = Py_NewRef(value);
            if (finish(f, out, p, x, attrs) < 0) Py_CLEAR(answer);
        }
        if (answer && f->view) {
            PyObject *linked = PyObject_CallFunctionObjArgs(
                link_view, answer, args[0], f->op, attrs, NULL);
            if (!linked) Py_CLEAR(answer);
            Py_XDECREF(linked);
        }
    }
    Py_DECREF(a); Py_DECREF(attrs); Py_XDECREF(value); Py_XDECREF(own);
    return answer;
}

// The pull ------------------------------------------------------------------------------------

static inline int dtype_is(PyObject *r, PyObject *dtype) {   // of a batched array
    return (PyObject *)PyArray_DESCR((PyArrayObject *)field(r, value_at)) == dtype;
}

// Whether a cotangent lies in the space of a node; -1 for an error.
static int fits(PyObject *r, Node *node) {
    if (is_batched(r) && is_plain(field(r, value_at))) {
        int bare, same = has_shape(r, node->shape, &bare);
        if (same == 1 && bare) {   // one for each example of a vmap that runs is not summed
            PyObject *state = state_now();
            same = state ? runs(r, slot(state, scoped_at)) : -1;
        }
        return same == 1 ? dtype_is(r, node->dtype) : same;
    }
    if (!PyArray_Check(r)) {
        PyObject *shape = PyObject_GetAttr(r, s_shape), *dtype = PyObject_GetAttr(r, s_dtype);
        int same = shape && dtype ? dtype == node->dtype : -1;
        if (same == 1) same = PyObject_RichCompareBool(shape, node->shape, Py_EQ);
        Py_XDECREF(shape); Py_XDECREF(dtype);
        return same;
    }
    PyArrayObject *a = (PyArrayObject *)r;
    PyObject *shape = node->shape;
    if ((PyObject *)PyArray_DESCR(a) != node->dtype || !PyTuple_CheckExact(shape)
        || PyTuple_GET_SIZE(shape) != PyArray_NDIM(a)) return 0;
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) != PyArray_DIM(a, i)) return 0;
    return 1;
}

static PyObject *add_batched(PyObject *a, PyObject *b) {   // NULL: in Python, which may raise
    PyObject *x[2] = {Py_NewRef(a), b};
    int plain;
    PyObject *sum = compute_inside(&add_loops, numpy_add, x, 2, &plain);
    Py_DECREF(a);
    if (!sum) PyErr_Clear();
    return sum;
}

// Add a cotangent, whose reference it takes, to what a node has.
static int add_to(PyObject *cotangents, PyObject *node, PyObject *r) {
    PyObject *old = PyDict_GetItemWithError(cotangents, node), *sum;
    int failed = -1;
    if (!old) {
        if (!PyErr_Occurred()) failed = PyDict_SetItem(cotangents, node, r);
    } else if (is_plain(old) && is_plain(r)) {
        Py_INCREF(old);
        sum = compute2(&add_loops, numpy_add, old, r);
        Py_DECREF(old);
        if (sum) failed = PyDict_SetItem(cotangents, node, sum);
        Py_XDECREF(sum);
    } else if (is_batched(old) && is_batched(r) && array_in(old) && array_in(r)
               && (sum = add_batched(old, r))) {
        failed = PyDict_SetItem(cotangents, node, sum);
        Py_DECREF(sum);
    } else {  // may add in place: only the dictionary holds the old one
        PyObject *done = PyObject_CallFunctionObjArgs(added, cotangents, node, r, NULL);
        failed = done ? 0 : -1;
        Py_XDECREF(done);
    }
    Py_DECREF(r);
    return failed;
}

static PyObject *times(PyObject *g, PyObject *slope) {
    if (is_plain(g) && (is_plain(slope) || is_number(slope)))
        return compute2(&multiply_loops, numpy_multiply, g, slope);
    if (is_batched(g) && (is_batched(slope) || is_plain(slope) || is_number(slope))) {
        PyObject *x[2] = {g, slope};
        int plain;
        PyObject *made = compute_inside(&multiply_loops, numpy_multiply, x, 2, &plain);
        if (made || plain) return made;
    }
    return PyNumber_Multiply(g, slope);
}

// What the rule of an argument makes of a cotangent, or of a tangent, and the value it reads.
static PyObject *ruled(Operation *f, PyObject *g, PyObject *saved, int i) {
    PyObject *args[2] = {g, saved}, *slope = NULL, *r;
    switch (f->kind[i]) {
    case SAME: return Py_NewRef(g);
    case TIMES: return times(g, saved);
    case BOTH: return PyObject_Vectorcall(f->function[i], args, 2, NULL);
    case ALONE: return PyObject_Vectorcall(f->function[i], args, 1, NULL);
    case SLOPE: slope = PyObject_Vectorcall(f->function[i], &saved, 1, NULL); break;
    default: slope = PyObject_Vectorcall(f->function[i], NULL, 0, NULL);
    }
    if (!slope) return NULL;
    r = times(g, slope);
    Py_DECREF(slope);
    return r;
}

// Whether a rule is to be computed by its table: on small arrays and numbers; -1 for an error.
static int is_tabled(Operation *f, Node *n, PyObject *g, int i) {
    if (!f->asked[i]) {
        f->asked[i] = 1;
        PyObject *done = PyObject_CallFunction(find_steps, "OOi", f->op, (PyObject *)f, i);
        if (!done) return -1;
        Py_DECREF(done);
    }
    Table *t = f->table[i];
    if (!t || !is_plain(g) || !loop_for(&add_loops, (PyArrayObject *)g)) return 0;
    for (int k = 0; k < t->reads; k++) {
        PyObject *x = n->s[t->read[k]];
        if (!x || !(is_plain(x) ? loop_for(&add_loops, (PyArrayObject *)x) != NULL : is_number(x)))
            return 0;
    }
    return 1;
}

static PyObject *tabled(Table *t, Node *n, PyObject *g) {
    PyObject *x[1 + 2 * VALUES + STEPS] = {g};
    int count = 1 + t->reads + t->constants, k;
    for (k = 0; k < t->reads; k++) x[1 + k] = n->s[t->read[k]];
    for (k = 0; k < t->constants; k++) x[1 + t->reads + k] = t->constant[k];
    for (k = 0; k < count; k++) Py_INCREF(x[k]);
    for (k = 0; k < t->steps; k++) {
        int a = t->step[k].a, b = t->step[k].b;
        Loops *loops = &t->step[k].loops;
        PyObject *made = b < 0 ? compute1(loops, loops->kernel, x[a])
                               : compute2(loops, loops->kernel, x[a], x[b]);
        if (!made) break;
        x[count++] = made;
    }
    PyObject *r = NULL;
    if (k == t->steps) r = t->partial ? times(g, x[count - 1]) : Py_NewRef(x[count - 1]);
    while (count) Py_DECREF(x[--count]);
    return r;
}

// 1: done; 0: to be done in Python; -1: an error.
static int pull(Operation *f, Node *n, PyObject *g, PyObject *cotangents) {
    int by_table[2] = {0, 0};
    if (n->ns <= 0 || f->single) return 0;
    for (int i = 0; i < n->np; i++) {
        if (!n->p[i] || f->kind[i] == SAME || f->kind[i] == TIMES) continue;
        if ((by_table[i] = is_tabled(f, n, g, i)) < 0) return -1;
        if (by_table[i]) continue;
        if (f->kind[i] == NONE) return 0;
        if (f->parted[i] && PyDict_GetItemWithError(scalers, (PyObject *)Py_TYPE(g))) return 0;
    }
    for (int i = 0; i < n->np; i++) {
        if (!n->p[i]) continue;
        PyObject *saved = n->s[f->read[i]];
        PyObject *r = by_table[i] ? tabled(f->table[i], n, g)
                                  : ruled(f, g, saved ? saved : Py_None, i);
        if (!r) return -1;
        int fit = fits(r, (Node *)n->p[i]);
        if (fit == 0) {
            PyObject *whole = PyObject_CallFunction(fitted, "OOi", r, (PyObject *)n, i);
            Py_SETREF(r, whole);
        }
        if (fit < 0 || !r) { Py_XDECREF(r); return -1; }
        if (add_to(cotangents, n->p[i], r) < 0) return -1;
    }
    return 1;
}

static void table_end(Table **at) {
    Table *t = *at;
    *at = NULL;
    if (!t) return;
    for (int k = 0; k < t->constants; k++) Py_DECREF(t->constant[k]);
    for (int k = 0; k < t->steps; k++) loops_end(&t->step[k].loops);
    PyMem_Free(t);
}

// Take a table: (argument, partial, (read, ...), (constant, ...), ((kernel, ufunc, a, b), ...)).
static PyObject *operation_table(Operation *f, PyObject *args) {
    int i, partial;
    PyObject *read, *constants, *steps;
    if (!PyArg_ParseTuple(args, "ipO!O!O!", &i, &partial, &PyTuple_Type, &read, &PyTuple_Type,
                          &constants, &PyTuple_Type, &steps)) return NULL;
    table_end(f->table + i);
    if (PyTuple_GET_SIZE(read) > VALUES || PyTuple_GET_SIZE(constants) > VALUES
        || PyTuple_GET_SIZE(steps) > STEPS) Py_RETURN_FALSE;
    Table *t = PyMem_Calloc(1, sizeof(Table));
    if (!t) return PyErr_NoMemory();
    t->partial = partial;
    for (; t->reads < PyTuple_GET_SIZE(read); t->reads++)
        t->read[t->reads] = (int)PyLong_AsLong(PyTuple_GET_ITEM(read, t->reads));
    for (; t->constants < PyTuple_GET_SIZE(constants); t->constants++)
        t->constant[t->constants] = Py_NewRef(PyTuple_GET_ITEM(constants, t->constants));
    for (; t->steps < PyTuple_GET_SIZE(steps); t->steps++) {
        PyObject *kernel, *ufunc;
        int a, b;
        Loops *loops = &t->step[t->steps].loops;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, t->steps), "OOii", &kernel, &ufunc, &a, &b)
            || loops_set(loops, ufunc, b < 0 ? 1 : 2) < 0) {
            loops_end(loops);
            table_end(&t);
            return NULL;
        }
        Py_SETREF(loops->kernel, Py_NewRef(kernel));
        t->step[t->steps].a = a;
        t->step[t->steps].b = b;
    }
    f->table[i] = t;
    Py_RETURN_TRUE;
}

// The type ------------------------------------------------------------------------------------

static PyObject *operation_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *op, *general, *kernels;
    if (!PyArg_ParseTuple(args, "OOO!", &op, &general, &PyDict_Type, &kernels)) return NULL;
    Operation *f = (Operation *)type->tp_alloc(type, 0);
    if (!f) return NULL;
    f->op = Py_NewRef(op); f->general = Py_NewRef(general); f->kernels = Py_NewRef(kernels);
    return (PyObject *)f;
}

static PyObject *operation_plain(Operation *f, PyObject *args) {
    if (!PyArg_ParseTuple(args, "ip", &f->arguments, &f->differentiable)) return NULL;
    f->vectorcall = (vectorcallfunc)call;
    Py_RETURN_NONE;
}

static PyObject *operation_with(Operation *f, PyObject *args) {
    PyObject *defaults, *names;
    if (!PyArg_ParseTuple(args, "pO!O!npp", &f->differentiable, &PyDict_Type, &defaults,
                          &PyTuple_Type, &names, &f->required, &f->view, &f->casts)) return NULL;
    f->defaults = Py_NewRef(defaults); f->names = Py_NewRef(names);
    f->arguments = f->single = 1;
    f->vectorcall = (vectorcallfunc)call_single;
    Py_RETURN_NONE;
}

static PyObject *operation_keep(Operation *f, PyObject *args) {
    if (!PyArg_ParseTuple(args, "iiipppii", f->keep + 1, f->keep + 2, f->keep + 3, &f->keeps,
                          &f->frees, &f->own, &f->forward,
                          &f->aligned)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *operation_disable(Operation *f, PyObject *unused) {   // its nodes need more
    f->disabled = 1;
    Py_RETURN_NONE;
}

static PyObject *operation_rule(Operation *f, PyObject *args) {
    int i, kind, read, parted;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "iiipO", &i, &kind, &read, &parted, &function)) return NULL;
    f->kind[i] = kind; f->read[i] = read; f->parted[i] = parted;
    f->asked[i] = 0;
    table_end(f->table + i);
    Py_XSETREF(f->function[i], Py_NewRef(function));
    Py_RETURN_NONE;
}

HOLDER(operation, Operation, dict, 8)

static void operation_dealloc(PyObject *self) {
    Operation *f = (Operation *)self;
    loops_end(&f->loops);
    for (int i = 0; i < 2; i++) table_end(f->table + i);
    end_of(self, operation_clear);
}

static PyObject *operation_get(PyObject *self, PyObject *instance, PyObject *type) {
    if (!instance || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

static PyObject *operation_repr(PyObject *self) {
    PyObject *op = ((Operation *)self)->op, *name = PyObject_GetAttrString(op, "name");
    PyObject *text = name ? PyUnicode_FromFormat("<operation %U>", name) : NULL;
    Py_XDECREF(name);
    return text;
}

static PyObject *operation_reduce(PyObject *self, PyObject *unused) {  // pickled by its name
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyMethodDef operation_methods[] = {
    {"plain", (PyCFunction)operation_plain, METH_VARARGS, "arguments, differentiable"},
    {"with_attributes", (PyCFunction)operation_with, METH_VARARGS,
     "differentiable, defaults, names, required, view, casts"},
    {"keep", (PyCFunction)operation_keep, METH_VARARGS,
     "first, second, both, keeps, frees, own, forward, aligned"},
    {"disable", (PyCFunction)operation_disable, METH_NOARGS, "Always call `general`."},
    {"rule", (PyCFunction)operation_rule, METH_VARARGS, "argument, kind, read, parted, function"},
    {"table", (PyCFunction)operation_table, METH_VARARGS,
     "argument, partial, reads, constants, steps"},
    {"__reduce__", operation_reduce, METH_NOARGS, "Its name."},
    {0}};
static PyMemberDef operation_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Operation, vectorcall), READONLY},
    {"__dictoffset__", T_PYSSIZET, offsetof(Operation, dict), READONLY},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Operation, weak), READONLY},
    {"general", T_OBJECT_EX, offsetof(Operation, general), READONLY},
    {0}};
static PyGetSetDef operation_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict}, {0}};
static PyType_Slot operation_slots[] = {
    {Py_tp_new, operation_new}, {Py_tp_dealloc, operation_dealloc},
    {Py_tp_traverse, operation_traverse}, {Py_tp_clear, operation_clear},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_descr_get, operation_get},
    {Py_tp_repr, operation_repr}, {Py_tp_methods, operation_methods},
    {Py_tp_members, operation_members}, {Py_tp_getset, operation_getset}, {0}};
static PyType_Spec operation_spec = {
    "pullback.core.compiled._core.Operation", sizeof(Operation), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL
        | Py_TPFLAGS_METHOD_DESCRIPTOR,
    operation_slots};
