// Node and Tensor: the layouts of `core/node.py::Node` and `core/tensor.py::Tensor`.
//
// The Python classes derive from the types here and add no slots, so that C reads the fields where
// Python reads attributes of the same names. A node of an ordinary operation holds its parents and
// saved values inline; the tuples `parents` and `saved` are made when Python asks for them.

typedef struct {
    PyObject_HEAD
    PyObject *op, *parents, *saved;
    PyObject *shape, *dtype, *noted, *weak;
    PyObject *p[2], *s[3];   // inline; NULL stands for None
    PyObject *maker;         // the Operation or Apply that made it and can pull it; or NULL
    int64_t seq;
    uint64_t mark;           // of the collection that met it last
    int8_t level, np, ns;    // how many parents and saved values are inline
} Node;

typedef struct {
    PyObject_HEAD
    PyObject *array, *history, *view_of, *views, *weak;
} Tensor;

static PyTypeObject *NodeBase, *TensorBase;             // the types here
static PyTypeObject *NodeType, *TensorType;  // the classes made of them in Python
static PyObject *FREED;
static int64_t counter = 0;  // the last number that was given to a node, a tape or a write

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

// ---- Node ---------------------------------------------------------------------------------------

static int node_traverse(Node *n, visitproc visit, void *arg) {
    Py_VISIT(n->op); Py_VISIT(n->parents); Py_VISIT(n->saved); Py_VISIT(n->noted);
    Py_VISIT(n->shape); Py_VISIT(n->dtype); Py_VISIT(n->maker);
    for (int i = 0; i < 2; i++) Py_VISIT(n->p[i]);
    for (int i = 0; i < 3; i++) Py_VISIT(n->s[i]);
    Py_VISIT(Py_TYPE(n));
    return 0;
}

static void node_drop_saved(Node *n) {
    n->ns = 0;
    for (int i = 0; i < 3; i++) Py_CLEAR(n->s[i]);
}

static int node_clear(Node *n) {
    n->np = 0;
    for (int i = 0; i < 2; i++) Py_CLEAR(n->p[i]);
    node_drop_saved(n);
    Py_CLEAR(n->op); Py_CLEAR(n->parents); Py_CLEAR(n->saved); Py_CLEAR(n->noted);
    Py_CLEAR(n->shape); Py_CLEAR(n->dtype); Py_CLEAR(n->maker);
    return 0;
}

static void node_dealloc(Node *n) {
    PyObject_GC_UnTrack(n);
    Py_TRASHCAN_BEGIN(n, node_dealloc)  // a chain of a million nodes ends without recursion
    if (n->weak) PyObject_ClearWeakRefs((PyObject *)n);
    node_clear(n);
    n->mark = 0;
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

static PyObject *node_get_parents(Node *n, void *unused) {
    if (!n->parents) {
        if (!n->np) return PyErr_Format(PyExc_AttributeError, "parents");
        if (!(n->parents = tuple_of(n->p, n->np))) return NULL;
    }
    return Py_NewRef(n->parents);
}

static int node_set_parents(Node *n, PyObject *value, void *unused) {
    n->np = 0;
    for (int i = 0; i < 2; i++) Py_CLEAR(n->p[i]);
    Py_XSETREF(n->parents, Py_XNewRef(value));
    if (value && PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) <= 2) {
        n->np = (int8_t)PyTuple_GET_SIZE(value);
        for (int i = 0; i < n->np; i++) {
            PyObject *parent = PyTuple_GET_ITEM(value, i);
            n->p[i] = parent == Py_None ? NULL : Py_NewRef(parent);
        }
    }
    return 0;
}

static PyObject *node_get_saved(Node *n, void *unused) {
    if (!n->saved) {
        if (!n->ns) return PyErr_Format(PyExc_AttributeError, "saved");
        if (!(n->saved = tuple_of(n->s, n->ns))) return NULL;
    }
    return Py_NewRef(n->saved);
}

static int node_set_saved(Node *n, PyObject *value, void *unused) {
    node_drop_saved(n);
    if (value != FREED) Py_CLEAR(n->maker);
    Py_XSETREF(n->saved, Py_XNewRef(value));
    return 0;
}

static PyObject *node_get_op(Node *n, void *unused) {
    if (n->op) return Py_NewRef(n->op);
    return PyErr_Format(PyExc_AttributeError, "op");
}

static int node_set_op(Node *n, PyObject *value, void *unused) {
    Py_CLEAR(n->maker);  // an override: its gradient is that of another operation
    Py_XSETREF(n->op, Py_XNewRef(value));
    return 0;
}

static PyGetSetDef node_getset[] = {
    {"parents", (getter)node_get_parents, (setter)node_set_parents},
    {"saved", (getter)node_get_saved, (setter)node_set_saved},
    {"op", (getter)node_get_op, (setter)node_set_op},
    {0}};
static PyMemberDef node_members[] = {
    {"shape", T_OBJECT_EX, offsetof(Node, shape)},
    {"dtype", T_OBJECT_EX, offsetof(Node, dtype)},
    {"noted", T_OBJECT_EX, offsetof(Node, noted)},
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

static int tensor_traverse(Tensor *t, visitproc visit, void *arg) {
    Py_VISIT(t->array); Py_VISIT(t->history); Py_VISIT(t->view_of); Py_VISIT(t->views);
    Py_VISIT(Py_TYPE(t));
    return 0;
}

static int tensor_clear(Tensor *t) {
    Py_CLEAR(t->array); Py_CLEAR(t->history); Py_CLEAR(t->view_of); Py_CLEAR(t->views);
    return 0;
}

static void tensor_dealloc(Tensor *t) {
    PyObject_GC_UnTrack(t);
    Py_TRASHCAN_BEGIN(t, tensor_dealloc)
    if (t->weak) PyObject_ClearWeakRefs((PyObject *)t);
    tensor_clear(t);
    give((PyObject *)t, TensorType, spare_tensors, &count_tensors);
    Py_TRASHCAN_END
}

static PyMemberDef tensor_members[] = {
    {"_array", T_OBJECT_EX, offsetof(Tensor, array)},
    {"_history", T_OBJECT, offsetof(Tensor, history)},
    {"_view_of", T_OBJECT_EX, offsetof(Tensor, view_of)},
    {"_views", T_OBJECT_EX, offsetof(Tensor, views)},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Tensor, weak), READONLY},
    {0}};
static PyType_Slot tensor_slots[] = {
    {Py_tp_dealloc, tensor_dealloc}, {Py_tp_traverse, tensor_traverse},
    {Py_tp_clear, tensor_clear}, {Py_tp_members, tensor_members}, {0}};
static PyType_Spec tensor_spec = {
    "pullback.core.compiled._core.TensorBase", sizeof(Tensor), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, tensor_slots};

// ---- Classes of tensors -------------------------------------------------------------------------

// What is known of a class: the class of its results, and whether `_array` and `_history` are the
// fields here, also those of its results (a Variable's history is computed, a symbol's array). A version tag is of one class in one state, so
// that an entry is never of a changed class, nor of another one at the same address; it holds no
// reference.
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
