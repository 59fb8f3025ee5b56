/* The launcher: calls of compiled kernels from Python, without Python code on a warm call.
 *
 * A Dispatcher stands for one kernel and tries its variants, the most recently used first. The
 * first that fits the arguments and the captured values is run; if none does, the dispatcher calls
 * its fallback, which handles the call in Python (compiles, copies, or refuses with a message).
 * A warm call allocates one tuple, for telling autograd which tensors were written; it hashes
 * nothing, opens no file and keeps no reference.
 *
 * Compiled against Python.h alone (3.11 and later), as one translation unit with its headers. The
 * state is the process's: it needs the interpreter lock, and one interpreter.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "launcher_dispatcher.h"
#include "launcher_forwarder.h"

static void keep(PyObject** place, PyObject* value) {
    PyObject* old = *place;
    Py_XINCREF(value);
    *place = value;
    Py_XDECREF(old);
}

/* Getters that may be called directly: they belong to the tensor type, which is fixed. */
static int find_getters(PyObject* tensor_type) {
    PyObject* grad = PyObject_GetAttr(tensor_type, names.requires_grad);
    PyObject* neg = PyObject_GetAttr(tensor_type, names.is_neg);
    int found = grad && neg;
    if (found) {
        int direct = Py_IS_TYPE(grad, &PyGetSetDescr_Type);
        keep((PyObject**)&torch_api.requires_grad, direct ? grad : NULL);
        direct = Py_IS_TYPE(neg, &PyMethodDescr_Type) &&
                 ((PyMethodDescrObject*)neg)->d_method->ml_flags == METH_NOARGS;
        keep((PyObject**)&torch_api.is_neg, direct ? neg : NULL);
    }
    Py_XDECREF(grad);
    Py_XDECREF(neg);
    return found ? 0 : -1;
}

/* The table of the capsule; NULL without an error when its version is none we know. */
static int find_exchange(PyObject* capsule, const DlpackExchange** out) {
    *out = NULL;
    if (capsule == Py_None) return 0;
    const DlpackExchange* table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (!table) return -1;
    while (table && table->major != DLPACK_MAJOR) table = table->previous;
    if (table && table->tensor_from_object) *out = table;
    return 0;
}

PyDoc_STRVAR(
    init_doc,
    "init(tensor_types, exchange_api, dtypes, strided, increment_version, is_grad_enabled,\n"
    "     forward_levels) -> str\n\n"
    "Tells the launcher about torch; before it no tensor is read.\n\n"
    "tensor_types: exact types that are read, torch.Tensor first; exchange_api: the capsule of\n"
    "torch.Tensor, or None to read attributes; dtypes: dict torch.dtype -> code << 8 | bits;\n"
    "strided: torch.strided; increment_version(tuple of tensors); is_grad_enabled() -> bool.\n"
    "forward_levels: dict with the level of forward-mode differentiation as _current_level; None.\n"
    "Returns the route that is used: 'dlpack' or 'attributes'.");

static PyObject* launcher_init(PyObject* module, PyObject* args) {
    (void)module;
    PyObject *types, *capsule, *dtypes, *strided, *increment_version, *is_grad_enabled, *levels;
    if (!PyArg_ParseTuple(args, "O!OO!OOOO:init", &PyTuple_Type, &types, &capsule, &PyDict_Type,
                          &dtypes, &strided, &increment_version, &is_grad_enabled, &levels))
        return NULL;
    if (PyTuple_GET_SIZE(types) == 0 || !PyType_Check(PyTuple_GET_ITEM(types, 0))) {
        PyErr_SetString(PyExc_TypeError, "tensor_types must be a tuple of types");
        return NULL;
    }
    if (levels != Py_None && !PyDict_Check(levels)) {
        PyErr_SetString(PyExc_TypeError, "forward_levels must be a dict or None");
        return NULL;
    }
    const DlpackExchange* exchange;
    if (find_exchange(capsule, &exchange) < 0) return NULL;
    if (find_getters(PyTuple_GET_ITEM(types, 0)) < 0) return NULL;
    keep(&torch_api.dtypes, dtypes);
    keep(&torch_api.strided, strided);
    keep(&torch_api.increment_version, increment_version);
    keep(&torch_api.is_grad_enabled, is_grad_enabled);
    keep(&torch_api.forward_levels, levels == Py_None ? NULL : levels);
    keep(&torch_api.capsule, capsule);
    torch_api.exchange = exchange;
    keep(&torch_api.types, types);
    return PyUnicode_FromString(exchange ? "dlpack" : "attributes");
}

static PyObject* launcher_bump_epoch(PyObject* module, PyObject* unused) {
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(++current_epoch);
}

static PyObject* launcher_epoch(PyObject* module, PyObject* unused) {
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(current_epoch);
}

static PyObject* launcher_set_scope_variable(PyObject* module, PyObject* variable) {
    (void)module;
    if (variable != Py_None && !PyContextVar_CheckExact(variable)) {
        PyErr_SetString(PyExc_TypeError, "a ContextVar or None expected");
        return NULL;
    }
    keep(&scope_variable, variable == Py_None ? NULL : variable);
    current_epoch++;
    Py_RETURN_NONE;
}

static PyObject* launcher_scope(PyObject* module, PyObject* unused) {
    (void)module, (void)unused;
    PyObject* scope;
    if (get_scope(&scope) < 0) return NULL;
    if (scope) return scope;
    Py_RETURN_NONE;
}

static PyMethodDef launcher_methods[] = {
    {"init", launcher_init, METH_VARARGS, init_doc},
    {"bump_epoch", launcher_bump_epoch, METH_NOARGS,
     "bump_epoch() -> int: the global options changed; no variant made so far matches again"},
    {"epoch", launcher_epoch, METH_NOARGS, "epoch() -> int"},
    {"set_scope_variable", launcher_set_scope_variable, METH_O,
     "set_scope_variable(var): a ContextVar; variants match while it holds the same object"},
    {"scope", launcher_scope, METH_NOARGS, "scope(): what the scope variable holds; else None"},
    {NULL}};

static struct PyModuleDef launcher_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_pypto_launcher",
    .m_doc = "Calls of compiled kernels; see Dispatcher and Variant.",
    .m_size = -1,
    .m_methods = launcher_methods,
};

static int make_names(void) {
    const struct {
        PyObject** place;
        const char* text;
    } all[] = {{&names.requires_grad, "requires_grad"}, {&names.is_neg, "is_neg"},
               {&names.layout, "layout"},               {&names.is_cpu, "is_cpu"},
               {&names.dtype, "dtype"},                 {&names.shape, "shape"},
               {&names.stride, "stride"},               {&names.data_ptr, "data_ptr"},
               {&names.current_level, "_current_level"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!*all[i].place && !(*all[i].place = PyUnicode_InternFromString(all[i].text)))
            return -1;
    if (!no_level) no_level = PyLong_FromLong(-1);
    return no_level ? 0 : -1;
}

PyMODINIT_FUNC PyInit__pypto_launcher(void) {
    if (make_names() < 0) return NULL;
    PyObject* module = PyModule_Create(&launcher_module);
    if (!module) return NULL;
    if (PyType_Ready(&WrittenTensorsType) < 0 || PyModule_AddType(module, &VariantType) < 0 ||
        PyModule_AddType(module, &DispatcherType) < 0 ||
        PyModule_AddType(module, &ForwarderType) < 0 ||
        PyModule_AddIntConstant(module, "ABI_VERSION", PYPTO_ABI_VERSION) < 0 ||
        PyModule_AddIntConstant(module, "RELEASE_GIL_ABOVE", RELEASE_GIL_ABOVE) < 0 ||
        PyModule_AddIntConstant(module, "MAX_RANK", MAX_RANK) < 0 ||
        PyModule_AddIntConstant(module, "MAX_VARIANTS", MAX_VARIANTS) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
