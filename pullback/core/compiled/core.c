// The compiled core: see README.md in this folder.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <structmember.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/dtype_api.h>

#ifdef Py_GIL_DISABLED
#error "The compiled core needs the global lock; without it, the core in Python is used."
#endif

#include "objects.h"
#include "kernels.h"
#include "batched.h"
#include "operation.h"
#include "duals.h"
#include "by_hand.h"

// ---- The backward pass --------------------------------------------------------------------------

// One step; 1: done here. What a node's maker cannot do, its operation does in Python.
static int step(Node *n, PyObject *g, PyObject *cotangents, int *frees) {
    PyObject *maker = n->maker;
    *frees = -1;
    if (maker) {
        PyTypeObject *type = Py_TYPE(maker);
        int done = 0;
        Py_INCREF(maker);
        if (type == OperationType) {
            done = pull((Operation *)maker, n, g, cotangents);
            *frees = ((Operation *)maker)->frees;
        } else {
            done = type == ApplyType ? apply_pull((Apply *)maker, n, g, cotangents)
                                     : gradient_pull(n, g, cotangents);
            *frees = 1;
        }
        Py_DECREF(maker);
        if (done) return done;
    }
    PyObject *op = PyObject_GetAttrString((PyObject *)n, "op");
    PyObject *done = op ? PyObject_CallMethodObjArgs(op, s_pull, n, g, cotangents, NULL) : NULL;
    if (done && *frees < 0) {
        PyObject *keeps = PyObject_GetAttr(op, s_keeps);
        *frees = keeps ? PyObject_IsTrue(keeps) : -1;
        Py_XDECREF(keeps);
        if (*frees < 0) Py_CLEAR(done);
    }
    Py_XDECREF(op); Py_XDECREF(done);
    return done ? 1 : -1;
}

// `core/reverse.py::_sweep`: (order, cotangents, free, place); `place[0]` becomes the failed node.
static PyObject *sweep(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    PyObject *order, *cotangents, *place;
    long free_level;
    if (count != 4 || (free_level = PyLong_AsLong(args[2])) < 0 || !PyList_Check(args[3])) {
        return PyErr_Format(PyExc_TypeError, "sweep: order, cotangents, free, place");
    }
    order = args[0]; cotangents = args[1]; place = args[3];
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(order); i++) {
        Node *n = (Node *)PyList_GET_ITEM(order, i);
        PyObject *g = PyDict_GetItemWithError(cotangents, (PyObject *)n);
        if (!g) {
            if (PyErr_Occurred()) return NULL;
            continue;
        }
        Py_INCREF(g); Py_INCREF(n);
        int frees = 0;
        int failed = PyDict_DelItem(cotangents, (PyObject *)n) < 0
            || (g != Py_None && step(n, g, cotangents, &frees) < 0);
        Py_DECREF(g);
        if (failed) {
            PyObject *type, *error, *trace;
            PyErr_Fetch(&type, &error, &trace);
            PyList_SetItem(place, 0, (PyObject *)n);
            PyErr_Restore(type, error, trace);
            return NULL;
        }
        if (frees > 0 && free_level == n->level) node_set_saved(n, FREED, NULL);
        Py_DECREF(n);
    }
    Py_RETURN_NONE;
}

typedef struct { int64_t seq; Node *node; } Place;
typedef struct { Place *items; Py_ssize_t count, room; } Places;
static uint64_t collections = 0;

static int places_add(Places *places, Node *node) {
    if (places->count == places->room) {
        Py_ssize_t room = places->room ? 2 * places->room : 256;
        Place *items = realloc(places->items, room * sizeof(Place));
        if (!items) return -1;
        places->items = items; places->room = room;
    }
    places->items[places->count++] = (Place){node->seq, node};
    return 0;
}

static int latest_first(const void *a, const void *b) {
    int64_t x = ((const Place *)a)->seq, y = ((const Place *)b)->seq;
    return (x < y) - (x > y);
}

static PyObject *list_of(Places *places) {
    PyObject *made = PyList_New(places->count);
    for (Py_ssize_t i = 0; made && i < places->count; i++)
        PyList_SET_ITEM(made, i, Py_NewRef((PyObject *)places->items[i].node));
    return made;
}

// `core/reverse.py::_collect` without spans: roots -> (order, ends). No Python runs while nodes are
// marked, so that no other thread can mark them.
static PyObject *collect(PyObject *module, PyObject *roots) {
    Places stack = {0}, order = {0}, ends = {0};
    PyObject *root, *answer = NULL;
    Py_ssize_t position = 0;
    int failed = 0;
    uint64_t mark = ++collections;
    if (!PyDict_Check(roots)) return PyErr_Format(PyExc_TypeError, "collect: a dictionary");
    while (PyDict_Next(roots, &position, &root, NULL)) {
        ((Node *)root)->mark = mark;
        failed |= places_add(&stack, (Node *)root);
    }
    while (stack.count && !failed) {
        Node *node = stack.items[--stack.count].node;
        PyObject **parents;
        Py_ssize_t n = parents_in(node, &parents);
        failed |= places_add(n ? &order : &ends, node);
        for (Py_ssize_t i = 0; i < n && !failed; i++) {
            Node *p = node_of(parents[i]);
            if (!p || p->mark == mark) continue;
            p->mark = mark;
            failed |= places_add(&stack, p);
        }
    }
    Py_ssize_t i = 1;
    while (i < order.count && order.items[i].seq < order.items[i - 1].seq) i++;
    if (i < order.count) qsort(order.items, order.count, sizeof(Place), latest_first);
    if (failed) PyErr_NoMemory();
    else answer = Py_BuildValue("NN", list_of(&order), list_of(&ends));
    free(stack.items); free(order.items); free(ends.items);
    return answer;
}

// ---- The module ---------------------------------------------------------------------------------

static PyObject *number(PyObject *module, PyObject *unused) {
    return PyLong_FromLongLong(++counter);
}

static Py_ssize_t offset_in(PyObject *cls, const char *name) {
    PyObject *found = PyObject_GetAttrString(cls, name);
    Py_ssize_t at = -1;
    if (found && Py_TYPE(found) == &PyMemberDescr_Type)
        at = ((PyMemberDescrObject *)found)->d_member->offset;
    else if (found) PyErr_Format(PyExc_TypeError, "%s is no slot", name);
    Py_XDECREF(found);
    return at;
}

// The classes that Python has made of the types here: their memory is spared, see `give`.
static PyObject *adopt(PyObject *module, PyObject *args) {
    PyObject *node, *leaf, *tensor, *freed;
    if (!PyArg_ParseTuple(args, "OOOO", &node, &leaf, &tensor, &freed)) return NULL;
    NodeType = (PyTypeObject *)Py_NewRef(node);
    LeafType = (PyTypeObject *)Py_NewRef(leaf);
    for (int i = 0; i < 2; i++) {
        PyObject *field = PyDescr_NewGetSet(LeafType, leaf_getset + i);
        int failed = field ? PyObject_SetAttrString(leaf, leaf_getset[i].name, field) : -1;
        Py_XDECREF(field);
        if (failed) return NULL;
    }
    TensorType = (PyTypeObject *)Py_NewRef(tensor);
    FREED = Py_NewRef(freed);
    if (NodeType->tp_basicsize != NodeBase->tp_basicsize
        || TensorType->tp_basicsize != TensorBase->tp_basicsize) {
        return PyErr_Format(PyExc_TypeError, "the classes must add no slots");
    }
    NodeType->tp_dealloc = (destructor)node_dealloc;
    TensorType->tp_dealloc = (destructor)tensor_dealloc;
    Py_RETURN_NONE;
}

// What the core in Python provides: {name here: object}.
static PyObject *provide(PyObject *module, PyObject *given) {
    static const struct { const char *name; PyObject **place; } wanted[] = {
        {"find_loops", &find_loops}, {"refusals", &refusals}, {"refuse", &refuse},
        {"general_node", &general_node}, {"unrecorded", &unrecorded}, {"link_view", &link_view},
        {"fitted", &fitted}, {"added", &added}, {"find_steps", &find_steps}, {"traces", &traces}, {"entrances", &entrances},
        {"scalers", &scalers}, {"inexact_dtypes", &inexact_dtypes}, {"numpy_add", &numpy_add},
        {"numpy_multiply", &numpy_multiply}, {"state_variable", &state_variable},
        {"forget_tapes", &forget_tapes}, {"outer", &outer}, {"latest", &latest}, {"quiet", &quiet_purpose}, {"reads", &reads},
        {"is_older", &is_older}, {"maps_setting", &maps_setting}};
    PyObject *found;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
        if ((found = PyDict_GetItemString(given, wanted[i].name)))
            Py_XSETREF(*wanted[i].place, Py_NewRef(found));
    if ((found = PyDict_GetItemString(given, "State")) && (
        (mode_at = offset_in(found, "mode")) < 0 || (forms_at = offset_in(found, "_forms")) < 0
        || (observers_at = offset_in(found, "observers")) < 0
        || (sweep_at = offset_in(found, "sweep")) < 0
        || (scoped_at = offset_in(found, "scoped")) < 0)) return NULL;
    if ((found = PyDict_GetItemString(given, "CallNode")))
        CallNodeType = (PyTypeObject *)Py_NewRef(found);
    if ((found = PyDict_GetItemString(given, "Batched"))) {
        BatchedType = (PyTypeObject *)Py_NewRef(found);
        if ((value_at = offset_in(found, "value")) < 0
            || (tag_at = offset_in(found, "tag")) < 0) return NULL;
    }
    if ((found = PyDict_GetItemString(given, "HiddenShape")))
        HiddenType = (PyTypeObject *)Py_NewRef(found);
    if ((found = PyDict_GetItemString(given, "Dual"))) {
        DualType = (PyTypeObject *)Py_NewRef(found);
        if ((token_at = offset_in(found, "token")) < 0
            || (tangent_at = offset_in(found, "tangent")) < 0) return NULL;
    }
    if ((found = PyDict_GetItemString(given, "Accumulator"))
        && (sweep_token_at = offset_in(found, "token")) < 0) return NULL;
    if ((found = PyDict_GetItemString(given, "CustomNode"))) {
        CustomNodeType = (PyTypeObject *)Py_NewRef(found);
        if ((cls_at = offset_in(found, "cls")) < 0
            || (details_at = offset_in(found, "details")) < 0) return NULL;
    }
    if (numpy_add && !add_loops.kernel && loops_set(&add_loops, numpy_add, 2) < 0) return NULL;
    if (numpy_multiply && !multiply_loops.kernel
        && loops_set(&multiply_loops, numpy_multiply, 2) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"sweep", (PyCFunction)(void (*)(void))sweep, METH_FASTCALL,
     "The backward pass through nodes on raw arrays: order, cotangents, free, place."},
    {"collect", collect, METH_O, "The nodes that roots depend on, latest first, and the ends."},
    {"number", number, METH_NOARGS, "The next number of nodes, tapes and writes."},
    {"adopt", adopt, METH_VARARGS, "Take the classes Node, Leaf and Tensor, and FREED."},
    {"provide", provide, METH_O, "Take objects of the core in Python, by their names here."},
    {0}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "The hot path of the core, compiled.", -1, functions};

static const struct { PyTypeObject **type; PyType_Spec *spec; } types[] = {
    {&NodeBase, &node_spec}, {&TensorBase, &tensor_spec}, {&OperationType, &operation_spec},
    {&ContextBase, &context_spec}, {&ApplyType, &apply_spec}, {&GradientBase, &gradient_spec}};
static const struct { PyObject **string; const char *text; } strings[] = {
    {&s_out, "_out"}, {&s_tags, "tags"}, {&s_tag, "tag"}, {&s_array, "_array"}, {&s_history, "_history"}, {&s_attrs, "attrs"},
    {&s_pull, "pull"}, {&s_keeps, "keeps"}, {&s_shape, "shape"}, {&s_dtype, "dtype"},
    {&s_forward, "forward"}, {&s_backward, "backward"}, {&s_form, "form"}, {&s_node, "_node"},
    {&s_restored, "_restored_tensors"}, {&s_save, "_save"}, {&s_general, "general"},
    {&s_recorded, "_recorded"}, {&s_hand_on, "hand_on"}};

/* The same number as in __init__.py: it changes with each change of what C and Python give each other. */
#define INTERFACE 3

PyMODINIT_FUNC PyInit__core(void) {
    import_array();
    PyObject *module = PyModule_Create(&definition);
    if (!module || !(empty_tuple = PyTuple_New(0))) return NULL;
    if (PyModule_AddIntConstant(module, "interface", INTERFACE) < 0) return NULL;
    for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
        if (!(*strings[i].string = PyUnicode_InternFromString(strings[i].text))) return NULL;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        PyObject *type = PyType_FromSpec(types[i].spec);
        if (!type || PyModule_AddType(module, (PyTypeObject *)type) < 0) return NULL;
        *types[i].type = (PyTypeObject *)type;
    }
    array_field = PyObject_GetAttr((PyObject *)TensorBase, s_array);
    history_field = PyObject_GetAttr((PyObject *)TensorBase, s_history);
    return array_field && history_field ? module : NULL;
}
