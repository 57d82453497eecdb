// Node and Tensor: the layouts of `core/node.py::Node` and `core/tensor.py::Tensor`.
//
// The Python classes derive from the types here and add no slots, so that C reads the fields where
// Python reads attributes of the same names. A node of an ordinary operation holds its parents and
// saved values inline; the tuples `parents` and `saved` are made each time that Python asks.

typedef struct Node {
    PyObject_HEAD
    PyObject *op, *shape, *dtype, *noted;
    PyObject *maker;         // the Operation or Apply that made it and can pull it; or NULL
    PyObject *p[2], *s[3];   // inline; NULL stands for None. A leaf's s: `grad`, `data`
    PyObject *weak;
    struct Node *before, *after;   // among the calm nodes
    int64_t seq;
    uint64_t mark;           // of the collection that met it last
    int8_t level, np, ns;    // how many parents and saved values are inline; -1: p[0], s[0] are what
    int8_t calm;             //   Python has set; see Note [calm nodes]
} Node;

typedef struct {
    PyObject_HEAD
    PyObject *array, *history, *view_of, *views;
    PyObject *weak;
    char kept;               // it is, or was, the `grad` of a leaf
} Tensor;

static PyTypeObject *NodeBase, *TensorBase;             // the types here
static PyTypeObject *NodeType, *LeafType, *TensorType;  // the classes made of them in Python
static PyObject *FREED;
static int64_t counter = 0;  // the last number that was given to a node, a tape or a write

// What the collector and the end of an object have to do with `count` fields from `first` on.
#define HOLDER(name, Type, first, count)                                                          \
    static int name##_traverse(PyObject *self, visitproc visit, void *arg) {                      \
        PyObject **held = &((Type *)self)->first;                                                 \
        for (int i = 0; i < count; i++) Py_VISIT(held[i]);                                        \
        Py_VISIT(Py_TYPE(self));                                                                  \
        return 0;                                                                                 \
    }                                                                                             \
    static int name##_clear(PyObject *self) {                                                     \
        PyObject **held = &((Type *)self)->first;                                                 \
        for (int i = 0; i < count; i++) Py_CLEAR(held[i]);                                        \
        return 0;                                                                                 \
    }

static void end_of(PyObject *self, inquiry clear) {   // of a type that spares no memory
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (type->tp_weaklistoffset) PyObject_ClearWeakRefs(self);
    clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

// Free lists: memory of ended nodes and tensors, of exactly `NodeType` and `TensorType`.
#define SPARE 256
static PyObject *spare_nodes[SPARE], *spare_tensors[SPARE];
static int count_nodes = 0, count_tensors = 0;

static PyObject *take(PyTypeObject *type, PyTypeObject *own, PyObject **spare, int *count) {
    if (type != own || !*count) return type->tp_alloc(type, 0);
    PyObject *made = spare[--*count];
    (void)PyObject_Init(made, type);
    PyObject_GC_Track(made);
    return made;
}

static void give(PyObject *ended, PyTypeObject *own, PyObject **spare, int *count) {
    PyTypeObject *type = Py_TYPE(ended);
    if (type == own && *count < SPARE) spare[(*count)++] = ended;
    else type->tp_free(ended);
    Py_DECREF(type);
}

static inline Node *new_node(void) {
    return (Node *)take(NodeType, NodeType, spare_nodes, &count_nodes);
}
static inline Tensor *new_tensor(PyTypeObject *type) {
    return (Tensor *)take(type, TensorType, spare_tensors, &count_tensors);
}

// ---- Calm nodes ---------------------------------------------------------------------------------

// Note [calm nodes]: a node refers to older nodes, so that a graph has no cycle, unless something
// leads from a node or a leaf to later ones: a hook, a gradient with a history, a rule of the
// user's. A node through which there can be none is calm: the collector does not visit it, and a
// graph of a million nodes costs it nothing. Its operation is one of the library's, its values are
// objects that the collector does not know (arrays, numbers), and its parents are calm nodes and
// closed leaves. A leaf is closed while it has no hooks, its array is a plain one, and its `grad`
// is nothing or a tensor without a history. When a leaf opens, or a calm node is given anything,
// all nodes are tracked again, since there is no way from a leaf to what was computed from it; and
// what is computed from an open leaf is tracked from the start.
static Node *calm_nodes = NULL;

static void node_calm(Node *n) {
    PyObject_GC_UnTrack(n);
    n->calm = 1;
    n->before = NULL;
    if ((n->after = calm_nodes)) calm_nodes->before = n;
    calm_nodes = n;
}

static void node_roused(Node *n) {   // no longer among the calm ones
    if (n->before) n->before->after = n->after;
    else calm_nodes = n->after;
    if (n->after) n->after->before = n->before;
    n->calm = 0;
}

static void rouse_all(void) {
    for (Node *n; (n = calm_nodes);) {
        node_roused(n);
        PyObject_GC_Track(n);
    }
}

static inline int is_nothing(PyObject *x) { return !x || x == Py_None; }
static inline int is_hidden(PyObject *x) { return !x || !PyObject_IS_GC(x); }   // from the collector

static int is_closed(Node *leaf) {
    Tensor *grad = (Tensor *)leaf->s[0];
    return !leaf->noted && is_hidden(leaf->s[1]) && (is_nothing((PyObject *)grad)
        || (Py_TYPE(grad) == TensorType && grad->kept && is_nothing(grad->history)
            && !grad->view_of && !grad->views && is_hidden(grad->array)));
}

static inline int is_calm(Node *parent) {
    return !parent || parent->calm || (Py_TYPE(parent) == LeafType && is_closed(parent));
}

// A value of a node: numbers, also in tuples and slices, and weak references without a callback.
static int is_inert(PyObject *x) {
    if (is_hidden(x)) return 1;
    if (PySlice_Check(x)) {
        PySliceObject *slice = (PySliceObject *)x;
        return is_inert(slice->start) && is_inert(slice->stop) && is_inert(slice->step);
    }
    if (!PyTuple_CheckExact(x)) return PyWeakref_CheckRefExact(x)
        && !((PyWeakReference *)x)->wr_callback;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(x); i++)
        if (!is_inert(PyTuple_GET_ITEM(x, i))) return 0;
    return 1;
}

// ---- Node ---------------------------------------------------------------------------------------

HOLDER(node, Node, op, 10)

static void node_dealloc(Node *n) {
    PyObject_GC_UnTrack(n);
    Py_TRASHCAN_BEGIN(n, node_dealloc)  // a chain of a million nodes ends without recursion
    if (n->weak) PyObject_ClearWeakRefs((PyObject *)n);
    if (n->calm) node_roused(n);
    node_clear((PyObject *)n);
    n->mark = 0;
    n->np = n->ns = 0;
    give((PyObject *)n, NodeType, spare_nodes, &count_nodes);
    Py_TRASHCAN_END
}

static PyObject *tuple_of(PyObject **items, int count) {
    PyObject *made = PyTuple_New(count);
    if (!made) return NULL;
    for (int i = 0; i < count; i++)
        PyTuple_SET_ITEM(made, i, Py_NewRef(items[i] ? items[i] : Py_None));
    return made;
}

// The parents of a node; NULL and None stand for none.
static inline Py_ssize_t parents_in(Node *n, PyObject ***items) {
    *items = n->np < 0 ? &PyTuple_GET_ITEM(n->p[0], 0) : n->p;
    return n->np < 0 ? PyTuple_GET_SIZE(n->p[0]) : n->np;
}

// The value of a field: a tuple of what is inline, or what Python has set.
static PyObject *field_get(PyObject **items, int count, const char *name) {
    if (!count) return PyErr_Format(PyExc_AttributeError, "%s", name);
    return count < 0 ? Py_NewRef(*items) : tuple_of(items, count);
}

static void field_set(PyObject **items, int most, int8_t *count, PyObject *value) {
    *count = value ? -1 : 0;
    PyObject *before = *items;
    *items = Py_XNewRef(value);
    Py_XDECREF(before);
    for (int i = 1; i < most; i++) Py_CLEAR(items[i]);
}

static PyObject *node_get_parents(Node *n, void *unused) {
    return field_get(n->p, n->np, "parents");
}

static int node_set_parents(Node *n, PyObject *value, void *unused) {
    if (value && !PyTuple_CheckExact(value)) {
        PyErr_SetString(PyExc_TypeError, "parents: a tuple");
        return -1;
    }
    if (n->calm) rouse_all();
    Py_ssize_t count = value ? PyTuple_GET_SIZE(value) : 0;
    if (!count || count > 2) {
        field_set(n->p, 2, &n->np, value);
        return 0;
    }
    field_set(n->p, 2, &n->np, NULL);
    n->np = (int8_t)count;
    for (int i = 0; i < count; i++)
        if (PyTuple_GET_ITEM(value, i) != Py_None) n->p[i] = Py_NewRef(PyTuple_GET_ITEM(value, i));
    return 0;
}

static PyObject *node_get_saved(Node *n, void *unused) {
    return field_get(n->s, n->ns, "saved");
}

static int node_set_saved(Node *n, PyObject *value, void *unused) {
    if (value != FREED) Py_CLEAR(n->maker);
    if (n->calm && value != FREED) rouse_all();
    field_set(n->s, 3, &n->ns, value);
    return 0;
}

static PyObject *node_get_op(Node *n, void *unused) {
    if (n->op) return Py_NewRef(n->op);
    return PyErr_Format(PyExc_AttributeError, "op");
}

static int node_set_op(Node *n, PyObject *value, void *unused) {
    if (n->calm) rouse_all();
    Py_CLEAR(n->maker);  // an override: its gradient is that of another operation
    Py_XSETREF(n->op, Py_XNewRef(value));
    return 0;
}

static PyObject *node_get_noted(Node *n, void *unused) {
    if (n->noted) return Py_NewRef(n->noted);
    return PyErr_Format(PyExc_AttributeError, "noted");
}

static int node_set_noted(Node *n, PyObject *value, void *unused) {
    if (is_calm(n)) rouse_all();
    Py_XSETREF(n->noted, Py_XNewRef(value));
    return 0;
}

// `grad` and `data` of a leaf: in place of the slots of `core/node.py::Leaf`.
static PyObject *leaf_get(Node *n, void *data) {
    PyObject *found = n->s[data != NULL];
    if (found) return Py_NewRef(found);
    return PyErr_Format(PyExc_AttributeError, "%s", data ? "data" : "grad");
}

static int leaf_set(Node *n, PyObject *value, void *data) {
    int closed = n->s[1] && is_closed(n);   // without an array it is a new one, with no graph
    if (!data && value && Py_TYPE(value) == TensorType) ((Tensor *)value)->kept = 1;
    Py_XSETREF(n->s[data != NULL], Py_XNewRef(value));
    if (closed && !is_closed(n)) rouse_all();
    return 0;
}

static PyGetSetDef leaf_getset[] = {
    {"grad", (getter)leaf_get, (setter)leaf_set, NULL, NULL},
    {"data", (getter)leaf_get, (setter)leaf_set, NULL, "data"}};
static PyGetSetDef node_getset[] = {
    {"parents", (getter)node_get_parents, (setter)node_set_parents},
    {"saved", (getter)node_get_saved, (setter)node_set_saved},
    {"op", (getter)node_get_op, (setter)node_set_op},
    {"noted", (getter)node_get_noted, (setter)node_set_noted},
    {0}};
static PyMemberDef node_members[] = {
    {"shape", T_OBJECT_EX, offsetof(Node, shape)},
    {"dtype", T_OBJECT_EX, offsetof(Node, dtype)},
    {"seq", T_LONGLONG, offsetof(Node, seq)},
    {"level", T_BYTE, offsetof(Node, level)},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Node, weak), READONLY},
    {0}};
static PyType_Slot node_slots[] = {
    {Py_tp_dealloc, node_dealloc}, {Py_tp_traverse, node_traverse}, {Py_tp_clear, node_clear},
    {Py_tp_getset, node_getset}, {Py_tp_members, node_members}, {0}};
static PyType_Spec node_spec = {
    "pullback.core.compiled._core.NodeBase", sizeof(Node), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, node_slots};

// ---- Tensor -------------------------------------------------------------------------------------

HOLDER(tensor, Tensor, array, 4)

static void tensor_dealloc(Tensor *t) {
    PyObject_GC_UnTrack(t);
    Py_TRASHCAN_BEGIN(t, tensor_dealloc)
    if (t->weak) PyObject_ClearWeakRefs((PyObject *)t);
    tensor_clear((PyObject *)t);
    t->kept = 0;
    give((PyObject *)t, TensorType, spare_tensors, &count_tensors);
    Py_TRASHCAN_END
}

static PyObject *tensor_get_history(Tensor *t, void *unused) {
    return Py_NewRef(t->history ? t->history : Py_None);
}

static int tensor_set_history(Tensor *t, PyObject *value, void *unused) {
    Py_XSETREF(t->history, Py_XNewRef(value));
    if (t->kept) rouse_all();   // the leaf opens
    return 0;
}

static PyGetSetDef tensor_getset[] = {
    {"_history", (getter)tensor_get_history, (setter)tensor_set_history}, {0}};
static PyMemberDef tensor_members[] = {
    {"_array", T_OBJECT_EX, offsetof(Tensor, array)},
    {"_view_of", T_OBJECT_EX, offsetof(Tensor, view_of)},
    {"_views", T_OBJECT_EX, offsetof(Tensor, views)},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Tensor, weak), READONLY},
    {0}};
static PyType_Slot tensor_slots[] = {
    {Py_tp_dealloc, tensor_dealloc}, {Py_tp_traverse, tensor_traverse},
    {Py_tp_clear, tensor_clear}, {Py_tp_members, tensor_members},
    {Py_tp_getset, tensor_getset}, {0}};
static PyType_Spec tensor_spec = {
    "pullback.core.compiled._core.TensorBase", sizeof(Tensor), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, tensor_slots};

// ---- Classes of tensors -------------------------------------------------------------------------

// What is known of a class: the class of its results, and whether `_array` and `_history` are the
// fields here, also those of its results (a Variable's history is computed, a symbol's array). A
// version tag is of one class in one state, so that an entry is never of a changed class, nor of
// another one at the same address; it holds no reference.
typedef struct {
    PyTypeObject *type, *out;
    unsigned int version;
    char plain, fields;   // both are fields; the array is
} Class;

#define CLASSES 16
static Class classes[CLASSES];
static PyObject *s_out, *s_array, *s_history, *array_field, *history_field;

static Class *class_found(PyTypeObject *type, Class *at) {
    at->type = NULL;
    if (!PyType_IsSubtype(type, TensorBase)) return NULL;
    PyObject *cls = (PyObject *)type;
    PyObject *out = PyObject_GetAttr(cls, s_out), *array = PyObject_GetAttr(cls, s_array);
    PyObject *history = PyObject_GetAttr(cls, s_history);
    PyObject *array_out = out ? PyObject_GetAttr(out, s_array) : NULL;
    PyObject *history_out = out ? PyObject_GetAttr(out, s_history) : NULL;
    if (array && history && array_out && history_out && PyType_Check(out)) {
        at->out = (PyTypeObject *)out;  // held by the class as long as it is in this state
        at->fields = array == array_field && array_out == array_field
            && history_out == history_field;
        at->plain = at->fields && history == history_field;
        at->type = type;
        at->version = type->tp_version_tag;
    }
    PyErr_Clear();
    Py_XDECREF(out); Py_XDECREF(array); Py_XDECREF(history);
    Py_XDECREF(array_out); Py_XDECREF(history_out);
    return at->type ? at : NULL;
}

static inline Class *class_of(PyObject *x) {  // NULL: no tensor
    PyTypeObject *type = Py_TYPE(x);
    for (int i = 0; i < CLASSES; i++) {
        if (classes[i].type == type && classes[i].version == type->tp_version_tag
            && type->tp_version_tag) {
            return classes + i;
        }
        if (!classes[i].type) return class_found(type, classes + i);
    }
    if (!PyType_IsSubtype(type, TensorBase)) return NULL;
    static int next = 1;   // the first one, mostly Tensor, stays
    next = next + 1 < CLASSES ? next + 1 : 1;
    return class_found(type, classes + next);
}

static inline Node *node_of(PyObject *history) {
    return history && history != Py_None ? (Node *)history : NULL;
}
