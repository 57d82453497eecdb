// Hand-written gradients: `Function.apply` and `custom_gradient`, and their pulls.
//
// `Apply` stands for the closure that `custom/function.py::_apply_of` makes, `Context` for the
// reading and writing of saved tensors in `custom/context.py`, `Gradient` for
// `custom/gradient.py::CustomGradient.__call__` and `pull`. The plain case is here: tensors and
// constants in, one real tensor out, nothing special in the state.

#define MOST 8   // arguments

static PyObject *forget_tapes, *outer, *latest, *quiet_purpose;
static PyObject *s_forward, *s_backward, *s_form, *s_general, *s_recorded, *s_hand_on;
static Py_ssize_t forms_at, cls_at, details_at;
static PyTypeObject *CustomNodeType, *ContextBase, *ApplyType, *GradientBase;

static void put(void *object, Py_ssize_t at, PyObject *value) {   // a slot of a class in Python
    Py_XSETREF(*(PyObject **)((char *)object + at), Py_NewRef(value));
}

static int state_set(PyObject *state) {
    PyObject *token = PyContextVar_Set(state_variable, state);
    Py_XDECREF(token);
    return token ? 0 : -1;
}

// Put a state back, whatever the call before has returned or raised.
static PyObject *state_back(PyObject *state, PyObject *answer) {
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    if (state_set(state) < 0) Py_CLEAR(answer);
    else PyErr_Restore(type, error, trace);
    return answer;
}

static PyObject *quiet_form(PyObject *state) {   // new reference; `State.form(QUIET)`
    PyObject *forms = slot(state, forms_at), *found = NULL;
    if (PyDict_Check(forms)) found = PyDict_GetItemWithError(forms, quiet_purpose);
    if (found) return Py_NewRef(found);
    return PyErr_Occurred() ? NULL : PyObject_CallMethodOneArg(state, s_form, quiet_purpose);
}

// A call with recording off, where it is on.
static PyObject *call_quietly(PyObject *function, PyObject **args, Py_ssize_t n) {
    PyObject *state = state_now();
    if (!state) return NULL;
    if (mode_of(state) == OFF) return PyObject_Vectorcall(function, args, n, NULL);
    Py_INCREF(state);
    PyObject *quiet = quiet_form(state), *answer = NULL;
    if (quiet && state_set(quiet) == 0)
        answer = state_back(state, PyObject_Vectorcall(function, args, n, NULL));
    Py_XDECREF(quiet);
    Py_DECREF(state);
    return answer;
}

// A real floating array, of which NumPy is the library.
static inline int is_real(PyObject *x) {
    return x && PyArray_Check(x) && PyArray_DESCR((PyArrayObject *)x)->kind == 'f'
        && PyArray_ITEMSIZE((PyArrayObject *)x) >= 4;   // narrow types have a path of their own
}

// The nodes of arguments and their lowest level; 0 if they are not for the plain case.
static int parents_of(PyObject *const *args, Py_ssize_t n, Node **nodes, long *level, int all) {
    if (n > MOST || traces_here()) return 0;
    *level = TANGENT;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = args[i];
        nodes[i] = NULL;
        Class *found = class_of(x);
        if (!found && !all && !PyList_CheckExact(x) && !PyTuple_CheckExact(x)
            && !PyDict_CheckExact(x)) continue;
        if (!found || !found->plain || !((Tensor *)x)->array) return 0;
        nodes[i] = node_of(((Tensor *)x)->history);
        if (nodes[i] && nodes[i]->level < *level) *level = nodes[i]->level;
    }
    return 1;
}

// A node with a rule by hand, for a result that is one real array.
static Node *node_by_hand(
    PyTypeObject *type, PyObject *op, PyObject *maker, PyObject *parents, Node **nodes,
    PyObject *saved, PyTypeObject *cls, PyObject *array, long level
) {
    Node *made = (Node *)type->tp_alloc(type, 0);
    if (!made) return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(parents);
    node_set_parents(made, parents, NULL);
    field_set(made->s, 3, &made->ns, saved);
    made->op = Py_NewRef(op);
    made->maker = Py_NewRef(maker);
    made->level = (int8_t)level;
    made->seq = ++counter;
    made->shape = shape_of(array, n > 0 ? nodes[0] : NULL, n > 1 ? nodes[1] : NULL);
    made->dtype = dtype_of(array);
    put(made, cls_at, (PyObject *)cls);
    put(made, details_at, empty_tuple);
    if (!made->shape || !made->dtype) Py_CLEAR(made);
    return made;
}

// Hand on what a rule returned; whatever is not exactly a gradient for each parent, to Python.
static int hand_on(PyObject *answer, Node *n, PyObject *cotangents, PyObject *rule) {
    PyObject **parents, **given = &answer;
    Py_ssize_t count = 1, k = parents_in(n, &parents);
    if (PyTuple_CheckExact(answer)) {
        given = &PyTuple_GET_ITEM(answer, 0);
        count = PyTuple_GET_SIZE(answer);
    }
    int plain = count == k;
    for (Py_ssize_t i = 0; plain && i < k; i++) {
        if (given[i] == Py_None || is_nothing(parents[i])) continue;
        Class *found = class_of(given[i]);
        PyObject *r = found && found->fields ? ((Tensor *)given[i])->array : NULL;
        plain = is_real(r) ? fits(r, (Node *)parents[i]) : 0;
        if (plain < 0) return -1;
    }
    if (!plain) {
        PyObject *done = PyObject_CallMethodObjArgs(
            n->op, s_hand_on, answer, (PyObject *)n, cotangents, rule, NULL);
        Py_XDECREF(done);
        return done ? 0 : -1;
    }
    for (Py_ssize_t i = 0; i < k; i++) {
        if (given[i] == Py_None || is_nothing(parents[i])) continue;
        if (add_to(cotangents, parents[i], Py_NewRef(((Tensor *)given[i])->array)) < 0) return -1;
    }
    return 0;
}

// The cotangent as a rule sees it; NULL without an error where Python must show it.
static Tensor *shown(Node *n, PyObject *g) {
    if (!is_real(g) || PyLong_AsLongLong(PyList_GET_ITEM(latest, 0)) > n->seq) return NULL;
    Tensor *seen = new_tensor((PyTypeObject *)slot((PyObject *)n, cls_at));
    if (seen) seen->array = Py_NewRef(g);
    return seen;
}

// ---- Context ------------------------------------------------------------------------------------

typedef struct {
    PyObject_HEAD
    PyObject *saved, *parents, *nodes, *dict;
} Context;

static PyObject *s_node, *s_restored, *s_save;

HOLDER(context, Context, saved, 4)
static void context_dealloc(PyObject *self) { end_of(self, context_clear); }

// Tensors that were arguments hold their own history; the rest, and all while a rule that is
// recorded or checked runs, is the business of Python.
static PyObject *context_saved(Context *c, void *unused) {
    if (c->saved && PyTuple_CheckExact(c->saved)) {
        int known = c->dict ? PyDict_Contains(c->dict, s_node) : 0;
        if (known < 0) return NULL;
        if (!known) return Py_NewRef(c->saved);
    }
    return PyObject_CallMethodNoArgs((PyObject *)c, s_restored);
}

static PyObject *context_save(Context *c, PyObject *const *args, Py_ssize_t n) {
    PyObject *made = PyTuple_New(n);
    if (!made) return NULL;
    int fit = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        fit = fit && (args[i] == Py_None || class_of(args[i]));
        PyTuple_SET_ITEM(made, i, Py_NewRef(args[i]));
    }
    if (!fit) {   // an error there
        PyObject *method = PyObject_GetAttr((PyObject *)c, s_save);
        PyObject *answer = method ? PyObject_CallObject(method, made) : NULL;
        Py_XDECREF(method); Py_DECREF(made);
        return answer;
    }
    Py_XSETREF(c->saved, made);
    Py_RETURN_NONE;
}

static PyMemberDef context_members[] = {
    {"_saved", T_OBJECT_EX, offsetof(Context, saved)},
    {"_parents", T_OBJECT_EX, offsetof(Context, parents)},
    {"_nodes", T_OBJECT_EX, offsetof(Context, nodes)},
    {"__dictoffset__", T_PYSSIZET, offsetof(Context, dict), READONLY},
    {0}};
static PyGetSetDef context_getset[] = {
    {"saved_tensors", (getter)context_saved, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict},
    {0}};
static PyMethodDef context_methods[] = {
    {"save_for_backward", (PyCFunction)(void (*)(void))context_save, METH_FASTCALL}, {0}};
static PyType_Slot context_slots[] = {
    {Py_tp_dealloc, context_dealloc}, {Py_tp_traverse, context_traverse},
    {Py_tp_clear, context_clear}, {Py_tp_members, context_members},
    {Py_tp_getset, context_getset}, {Py_tp_methods, context_methods}, {0}};
static PyType_Spec context_spec = {
    "pullback.core.compiled._core.ContextBase", sizeof(Context), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, context_slots};

// ---- Function.apply -----------------------------------------------------------------------------

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *dict;
    PyObject *cls, *op, *general, *finish, *context, *recorded;
} Apply;

// Whether a node can be made here: of one real tensor, with only arguments among the saved tensors,
// of which the context then knows the nodes that they have now. -1 for an error.
static int is_simple(Context *c, PyObject *out, PyObject *const *args, Node **nodes, Py_ssize_t n) {
    Class *found = class_of(out);
    if (!found || !found->plain || found->out != Py_TYPE(out) || !is_real(((Tensor *)out)->array)
        || (c->dict && PyDict_GET_SIZE(c->dict)) || !PyTuple_CheckExact(c->saved)) return 0;
    Py_ssize_t count = PyTuple_GET_SIZE(c->saved);
    Node *saved[MOST];
    if (count > MOST) return 0;
    for (Py_ssize_t j = 0; j < n; j++) if (args[j] == out) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t j = 0;
        while (j < n && args[j] != PyTuple_GET_ITEM(c->saved, i)) j++;
        if (j == n) return 0;
        saved[i] = nodes[j];
    }
    c->nodes = tuple_of((PyObject **)saved, (int)count);
    return c->nodes ? 1 : -1;
}

static PyObject *apply_call(Apply *f, PyObject *const *args, size_t flags, PyObject *names) {
    Py_ssize_t n = PyVectorcall_NARGS(flags);
    Node *nodes[MOST];
    long level;
    PyObject *state = state_now();
    if (!state) return NULL;
    long mode = mode_of(state);
    if (names || mode > ALL || PyDict_GET_SIZE(outer) || !parents_of(args, n, nodes, &level, 0))
        return PyObject_Vectorcall(f->general, args, flags, names);
    PyObject *out = NULL, *forward = NULL, *parents = tuple_of((PyObject **)nodes, (int)n);
    PyTypeObject *type = (PyTypeObject *)f->context;
    Context *ctx = (Context *)type->tp_alloc(type, 0);
    if (!ctx || !parents) goto done;
    ctx->saved = Py_NewRef(empty_tuple);
    ctx->parents = Py_NewRef(parents);
    if (!(forward = PyObject_GetAttr(f->cls, s_forward))) goto done;
    PyObject *given[MOST + 1] = {(PyObject *)ctx};
    for (Py_ssize_t i = 0; i < n; i++) given[i + 1] = args[i];
    out = call_quietly(forward, given, n + 1);
    if (!out || mode < level) goto done;
    int simple = is_simple(ctx, out, args, nodes, n);
    if (simple < 0) Py_CLEAR(out);
    else if (simple) {
        Tensor *t = (Tensor *)out;
        Node *made = node_by_hand((PyTypeObject *)f->recorded, f->op, (PyObject *)f, parents, nodes,
                                  (PyObject *)ctx, Py_TYPE(out), t->array, level);
        if (!made) Py_CLEAR(out);
        else {
            tensor_set_history(t, (PyObject *)made, NULL);
            Py_DECREF(made);
        }
    } else {
        PyObject *all = tuple_of((PyObject **)args, (int)n);
        PyObject *answer = all ? PyObject_CallFunction(
            f->finish, "OOOll", (PyObject *)ctx, all, out, mode, level) : NULL;
        Py_XDECREF(all);
        Py_SETREF(out, answer);
    }
done:
    Py_XDECREF(forward); Py_XDECREF(ctx); Py_XDECREF(parents);
    return out;
}

static int apply_pull(Apply *f, Node *n, PyObject *g, PyObject *cotangents) {
    if (n->ns >= 0 || n->s[0] == FREED || !n->np) return 0;
    Tensor *seen = shown(n, g);
    if (!seen) return PyErr_Occurred() ? -1 : 0;
    PyObject *backward = PyObject_GetAttr(f->cls, s_backward);
    PyObject *args[2] = {n->s[0], (PyObject *)seen};
    PyObject *answer = backward ? call_quietly(backward, args, 2) : NULL;
    int failed = answer ? hand_on(answer, n, cotangents, backward) : -1;
    Py_DECREF(seen); Py_XDECREF(backward); Py_XDECREF(answer);
    return failed ? -1 : 1;
}

static PyObject *apply_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    PyObject *cls, *op, *general, *finish, *context, *recorded;
    if (!PyArg_ParseTuple(args, "OOOOO!O!", &cls, &op, &general, &finish, &PyType_Type, &context,
                          &PyType_Type, &recorded)) return NULL;
    Apply *f = (Apply *)type->tp_alloc(type, 0);
    if (!f) return NULL;
    f->vectorcall = (vectorcallfunc)apply_call;
    f->cls = Py_NewRef(cls); f->op = Py_NewRef(op); f->general = Py_NewRef(general);
    f->finish = Py_NewRef(finish);
    f->context = Py_NewRef(context); f->recorded = Py_NewRef(recorded);
    return (PyObject *)f;
}

HOLDER(apply, Apply, dict, 7)
static void apply_dealloc(PyObject *self) { end_of(self, apply_clear); }

static PyMemberDef apply_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Apply, vectorcall), READONLY},
    {"__dictoffset__", T_PYSSIZET, offsetof(Apply, dict), READONLY},
    {0}};
static PyGetSetDef apply_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict}, {0}};
static PyType_Slot apply_slots[] = {
    {Py_tp_new, apply_new}, {Py_tp_dealloc, apply_dealloc}, {Py_tp_traverse, apply_traverse},
    {Py_tp_clear, apply_clear}, {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, apply_members},
    {Py_tp_getset, apply_getset}, {0}};
static PyType_Spec apply_spec = {
    "pullback.core.compiled._core.Apply", sizeof(Apply), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, apply_slots};

// ---- custom_gradient ----------------------------------------------------------------------------

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *dict, *function;
    PyObject *weak;
} Gradient;

static PyObject *reads, *is_older;   // of Variables; see `custom/gradient.py`

// `custom/capture_guard.py::reaches_older`; -1 for an error.
static int reaches_older(Node *root, Node **own, Py_ssize_t n, int64_t start) {
    Node *few[64], *node;
    int met = 1, at = 0;
    few[0] = root;
    while (at < met) {
        node = few[at++];
        if (node->seq < start) return 1;
        PyObject **parents;
        Py_ssize_t count = parents_in(node, &parents);
        if (!count) {
            PyObject *older = PyObject_CallFunction(is_older, "OL", node, (long long)start);
            int answer = older ? PyObject_IsTrue(older) : -1;
            Py_XDECREF(older);
            if (answer) return answer;
        }
        for (Py_ssize_t i = 0; i < count; i++) {
            Node *p = node_of(parents[i]);
            int known = !p;
            for (Py_ssize_t j = 0; !known && j < n; j++) known = own[j] == p;
            for (int j = 0; !known && j < met; j++) known = few[j] == p;
            if (known) continue;
            if (met == 64) return 1;   // many: in Python, which finds the same
            few[met++] = p;
        }
    }
    return 0;
}

static PyObject *gradient_call(
    Gradient *f, PyObject *const *args, size_t flags, PyObject *names
) {
    Py_ssize_t n = PyVectorcall_NARGS(flags);
    Node *nodes[MOST];
    long level;
    PyObject *state = state_now(), *self = (PyObject *)f;
    if (!state) return NULL;
    long mode = mode_of(state);
    if (names || mode > ALL || PyDict_GET_SIZE(outer) || !f->function
        || !PyFunction_Check(f->function)
        || !parents_of(args, n, nodes, &level, 1)) {
        PyObject *general = PyObject_GetAttr(self, s_general);
        PyObject *answer = general ? PyObject_Vectorcall(general, args, flags, names) : NULL;
        Py_XDECREF(general);
        return answer;
    }
    PyObject *before = Py_NewRef(PyList_GET_ITEM(reads, 0)), *answer = NULL;
    int64_t start = ++counter;
    PyObject *parents = tuple_of((PyObject **)nodes, (int)n);
    PyObject *result = parents ? PyObject_Vectorcall(f->function, args, n, NULL) : NULL;
    if (!result) goto done;
    int plain = PyList_GET_ITEM(reads, 0) == before && PyTuple_CheckExact(result)
        && PyTuple_GET_SIZE(result) == 2 && PyFunction_Check(PyTuple_GET_ITEM(result, 1));
    Tensor *y = plain ? (Tensor *)PyTuple_GET_ITEM(result, 0) : NULL;
    Class *found = y ? class_of((PyObject *)y) : NULL;
    plain = found && found->plain && is_real(y->array);
    PyTypeObject *cls = plain ? found->out : NULL;
    Node *inner = plain ? node_of(y->history) : NULL;
    for (Py_ssize_t i = 0; i < n; i++) if (nodes[i] == inner) inner = NULL;
    if (inner) {
        int older = reaches_older(inner, nodes, n, start);
        if (older < 0) goto done;
        plain = !older;
    }
    if (!plain) {
        PyObject *all = tuple_of((PyObject **)args, (int)n), *at = PyLong_FromLongLong(start);
        answer = all && at ? PyObject_CallMethodObjArgs(
            self, s_recorded, result, parents, all, at, NULL) : NULL;
        Py_XDECREF(all); Py_XDECREF(at);
        goto done;
    }
    Tensor *out = new_tensor(cls);
    answer = (PyObject *)out;
    if (!out) goto done;
    out->array = Py_NewRef(y->array);
    if (mode >= level) {
        out->history = (PyObject *)node_by_hand(
            CustomNodeType, self, self, parents, nodes, PyTuple_GET_ITEM(result, 1), cls,
            y->array, level);
        if (!out->history) Py_CLEAR(answer);
    }
done:
    Py_DECREF(before); Py_XDECREF(parents); Py_XDECREF(result);
    return answer;
}

static int gradient_pull(Node *n, PyObject *g, PyObject *cotangents) {
    PyObject *rule = n->s[0];
    if (n->ns >= 0 || !PyFunction_Check(rule) || !n->np) return 0;
    Tensor *seen = shown(n, g);
    PyObject *state = state_now(), *before = NULL, *answer = NULL;
    if (!seen || !state) { Py_XDECREF(seen); return PyErr_Occurred() ? -1 : 0; }
    if (mode_of(state) == REQUIRED || (before = PyObject_CallNoArgs(forget_tapes))) {
        PyObject *args[1] = {(PyObject *)seen};
        answer = PyObject_Vectorcall(rule, args, 1, NULL);
        if (before && before != Py_None) answer = state_back(before, answer);
    }
    int failed = answer ? hand_on(answer, n, cotangents, rule) : -1;
    Py_DECREF(seen); Py_XDECREF(before); Py_XDECREF(answer);
    return failed ? -1 : 1;
}

HOLDER(gradient, Gradient, dict, 2)
static void gradient_dealloc(PyObject *self) { end_of(self, gradient_clear); }

static PyObject *gradient_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    Gradient *f = (Gradient *)type->tp_alloc(type, 0);
    if (f) f->vectorcall = (vectorcallfunc)gradient_call;
    return (PyObject *)f;
}

static PyMemberDef gradient_members[] = {
    {"function", T_OBJECT_EX, offsetof(Gradient, function)},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Gradient, vectorcall), READONLY},
    {"__dictoffset__", T_PYSSIZET, offsetof(Gradient, dict), READONLY},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Gradient, weak), READONLY},
    {0}};
static PyGetSetDef gradient_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict}, {0}};
static PyType_Slot gradient_slots[] = {
    {Py_tp_new, gradient_new}, {Py_tp_dealloc, gradient_dealloc},
    {Py_tp_traverse, gradient_traverse}, {Py_tp_clear, gradient_clear},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, gradient_members},
    {Py_tp_getset, gradient_getset}, {0}};
static PyType_Spec gradient_spec = {
    "pullback.core.compiled._core.GradientBase", sizeof(Gradient), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    gradient_slots};
