/* The Python type of a variant: its constructor and attributes. */
#ifndef PYPTO_LAUNCHER_VARIANT_TYPE_H
#define PYPTO_LAUNCHER_VARIANT_TYPE_H

#include "launcher_variant.h"

PyDoc_STRVAR(
    variant_doc,
    "Variant(entry, runtime, owner, params, ints, floats, alias, written, captures, explain,\n"
    "        epoch=None, scope=None, conditional=False)\n\n"
    "A compiled kernel and what a call must match to be run by it.\n\n"
    "entry: address of the PyptoKernel of a loaded binary; runtime: address of the PyptoRuntime;\n"
    "owner: any object that keeps both loaded.\n"
    "params: one tuple a parameter,\n"
    "  ('tensor', (code, bits), sizes)  DLPack dtype; -1 stands for any size; 0-d is (1,)\n"
    "  ('int', widen)    an int64; with widen bools and subclasses of int are taken too\n"
    "  ('float', widen)  a double; with widen integers are taken too\n"
    "  ('constant', value)  an exactly equal value (type and printed form); lists and dicts are\n"
    "      copied now and compared by value, other objects by identity\n"
    "  ('constant', value, compare)  compare(argument) is true; for objects of changing content\n"
    "ints: ('size', param, axis) and ('scalar', param) in the order of PyptoCall.ints.\n"
    "floats: parameters, in the order of PyptoCall.floats.\n"
    "alias: class number of each tensor parameter; written: whether the kernel writes it.\n"
    "captures: rows (container, key, expected) or (container, key) for 'nothing is there':\n"
    "  a dict and its key, a cell and None, a list or tuple and an index, an object and the name\n"
    "  of an attribute, or a container and Ellipsis: the container itself, compared by value.\n"
    "explain(code, args): called when the kernel refuses the call; raises.\n"
    "epoch, scope: the options' epoch() and scope() under which the binary was looked up; read\n"
    "  them before the options. Default: now.\n"
    "conditional: the kernel has conditions that a call must meet, with empty outputs, too.\n\n"
    "Calling a variant with a tuple of all arguments checks and runs it; it returns False, and\n"
    "does nothing, when the arguments do not fit. Epoch, scope and captures are not checked.");

static int parse_sizes(PyObject* sizes, Param* out) {
    if (!PyTuple_Check(sizes) || PyTuple_GET_SIZE(sizes) < 1 ||
        PyTuple_GET_SIZE(sizes) > MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "sizes must be a tuple of 1 to %d ints", MAX_RANK);
        return -1;
    }
    out->ndim = (int32_t)PyTuple_GET_SIZE(sizes);
    for (int32_t i = 0; i < out->ndim; i++) {
        out->sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i));
        if (out->sizes[i] == -1 && PyErr_Occurred()) return -1;
        if (out->sizes[i] < -1) {
            PyErr_SetString(PyExc_ValueError, "a size must be -1 or more");
            return -1;
        }
    }
    return 0;
}

static int parse_tensor(PyObject* spec, Param* out) {
    const char* kind;
    int code, bits;
    PyObject* sizes;
    if (!PyArg_ParseTuple(spec, "s(ii)O:tensor", &kind, &code, &bits, &sizes)) return -1;
    if (code < 0 || code > 255 || bits < 1 || bits > 255) {
        PyErr_SetString(PyExc_ValueError, "dtype must be a DLPack code and a number of bits");
        return -1;
    }
    out->kind = TENSOR;
    out->code = (uint8_t)code;
    out->bits = (uint8_t)bits;
    return parse_sizes(sizes, out);
}

static int parse_constant(PyObject* spec, Param* out) {
    const char* kind;
    PyObject *value, *compare = NULL;
    if (!PyArg_ParseTuple(spec, "sO|O:constant", &kind, &value, &compare)) return -1;
    out->kind = CONSTANT;
    out->expected = snapshot(value);
    Py_XINCREF(compare);
    out->compare = compare;
    return out->expected ? 0 : -1;
}

static int parse_scalar(PyObject* spec, ParamKind kind, Param* out) {
    const char* name;
    out->kind = kind;
    return PyArg_ParseTuple(spec, "sp:scalar", &name, &out->widen) ? 0 : -1;
}

static int parse_param(PyObject* spec, Param* out) {
    const char* kind = NULL;
    if (PyTuple_Check(spec) && PyTuple_GET_SIZE(spec) > 0 &&
        PyUnicode_Check(PyTuple_GET_ITEM(spec, 0)))
        kind = PyUnicode_AsUTF8(PyTuple_GET_ITEM(spec, 0));
    if (kind && strcmp(kind, "tensor") == 0) return parse_tensor(spec, out);
    if (kind && strcmp(kind, "int") == 0) return parse_scalar(spec, INT, out);
    if (kind && strcmp(kind, "float") == 0) return parse_scalar(spec, FLOAT, out);
    if (kind && strcmp(kind, "constant") == 0) return parse_constant(spec, out);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "not the description of a parameter: %R", spec);
    return -1;
}

static int parse_params(Variant* self, PyObject* specs) {
    self->n_params = PyTuple_GET_SIZE(specs);
    self->params = PyMem_Calloc((size_t)self->n_params + 1, sizeof(Param));
    self->tensors = PyMem_Calloc((size_t)self->n_params + 1, sizeof(Py_ssize_t));
    if (!self->params || !self->tensors) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->n_params; i++) {
        if (parse_param(PyTuple_GET_ITEM(specs, i), &self->params[i]) < 0) return -1;
        if (self->params[i].kind == TENSOR) self->tensors[self->n_tensors++] = i;
    }
    return 0;
}

static int is_param(const Variant* self, Py_ssize_t param, ParamKind kind) {
    if (param >= 0 && param < self->n_params && self->params[param].kind == kind) return 1;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "parameter %zd has not the kind asked for", param);
    return 0;
}

static int parse_int_source(Variant* self, PyObject* spec, IntSource* out) {
    const char* kind;
    int axis = -1;
    if (!PyArg_ParseTuple(spec, "sn|i:ints", &kind, &out->param, &axis)) return -1;
    out->axis = axis;
    if (strcmp(kind, "scalar") == 0 && axis == -1)
        return is_param(self, out->param, INT) ? 0 : -1;
    if (strcmp(kind, "size") == 0 && is_param(self, out->param, TENSOR) && axis >= 0 &&
        axis < self->params[out->param].ndim)
        return 0;
    if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "not the source of an int: %R", spec);
    return -1;
}

static int parse_sources(Variant* self, PyObject* ints, PyObject* floats) {
    self->n_ints = PyTuple_GET_SIZE(ints);
    self->n_floats = PyTuple_GET_SIZE(floats);
    self->ints = PyMem_Calloc((size_t)self->n_ints + 1, sizeof(IntSource));
    self->floats = PyMem_Calloc((size_t)self->n_floats + 1, sizeof(Py_ssize_t));
    if (!self->ints || !self->floats) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->n_ints; i++)
        if (parse_int_source(self, PyTuple_GET_ITEM(ints, i), &self->ints[i]) < 0) return -1;
    for (Py_ssize_t i = 0; i < self->n_floats; i++) {
        self->floats[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(floats, i));
        if (!is_param(self, self->floats[i], FLOAT)) return -1;
    }
    return 0;
}

static int parse_memory(Variant* self, PyObject* alias, PyObject* written) {
    if (PyTuple_GET_SIZE(alias) != self->n_tensors ||
        PyTuple_GET_SIZE(written) != self->n_tensors) {
        PyErr_SetString(PyExc_ValueError, "alias and written have one entry for each tensor");
        return -1;
    }
    self->alias = PyMem_Calloc((size_t)self->n_tensors + 1, sizeof(Py_ssize_t));
    self->written = PyMem_Calloc((size_t)self->n_tensors + 1, 1);
    if (!self->alias || !self->written) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->n_tensors; i++) {
        self->alias[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(alias, i));
        if (self->alias[i] == -1 && PyErr_Occurred()) return -1;
        int truth = PyObject_IsTrue(PyTuple_GET_ITEM(written, i));
        if (truth < 0) return -1;
        self->written[i] = (uint8_t)truth;
        self->n_written += truth;
    }
    return 0;
}

static int parse_capture(PyObject* spec, Capture* out) {
    PyObject *container, *key, *expected = NULL;
    if (!PyTuple_Check(spec) ||
        !PyArg_ParseTuple(spec, "OO|O:captures", &container, &key, &expected)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a capture must be a tuple");
        return -1;
    }
    if (key == Py_Ellipsis && expected) {
        out->kind = BY_VALUE;
    } else if (PyDict_CheckExact(container)) {
        out->kind = IN_DICT;
    } else if (PyCell_Check(container)) {
        out->kind = IN_CELL;
    } else if ((PyList_CheckExact(container) || PyTuple_CheckExact(container)) &&
               PyLong_Check(key)) {
        out->kind = IN_SEQUENCE;
        out->index = PyLong_AsSsize_t(key);
        if (out->index < 0) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "negative index");
            return -1;
        }
    } else if (PyUnicode_Check(key)) {
        out->kind = IN_ATTRIBUTE;
    } else {
        PyErr_Format(PyExc_TypeError, "not a captured read: %R", spec);
        return -1;
    }
    Py_INCREF(container);
    out->container = container;
    Py_INCREF(key);
    if (PyUnicode_CheckExact(key)) PyUnicode_InternInPlace(&key);
    out->key = key;
    if (out->kind == BY_VALUE) {
        out->expected = snapshot(expected);
        return out->expected ? 0 : -1;
    }
    Py_XINCREF(expected);
    out->expected = expected;
    return 0;
}

static int parse_captures(Variant* self, PyObject* rows) {
    Py_ssize_t count = PyTuple_GET_SIZE(rows);
    self->captures = PyMem_Calloc((size_t)count + 1, sizeof(Capture));
    if (!self->captures) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        self->n_captures = i + 1; /* so that a failure frees what this row has taken */
        if (parse_capture(PyTuple_GET_ITEM(rows, i), &self->captures[i]) < 0) return -1;
    }
    return 0;
}

static int parse_entry(Variant* self, unsigned long long entry, unsigned long long runtime) {
    self->kernel = (const PyptoKernel*)(uintptr_t)entry;
    self->runtime = (const PyptoRuntime*)(uintptr_t)runtime;
    if (!self->kernel || !self->runtime) {
        PyErr_SetString(PyExc_ValueError, "the address of a kernel or of the runtime is null");
        return -1;
    }
    if (self->kernel->abi_version != PYPTO_ABI_VERSION ||
        self->runtime->abi_version != PYPTO_ABI_VERSION || !self->kernel->run) {
        PyErr_Format(PyExc_RuntimeError,
                     "binary interface version %u expected; the kernel has %u, the runtime %u",
                     PYPTO_ABI_VERSION, self->kernel->abi_version, self->runtime->abi_version);
        return -1;
    }
    return 0;
}

static PyObject* variant_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static char* keywords[] = {"entry", "runtime",  "owner",   "params", "ints",  "floats", "alias",
                               "written", "captures", "explain", "epoch",  "scope", "conditional", NULL};
    unsigned long long entry, runtime;
    PyObject *owner, *params, *ints, *floats, *alias, *written, *captures, *explain;
    PyObject *epoch = Py_None, *scope = NULL;
    int conditional = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "KKOO!O!O!O!O!O!O|OOp:Variant", keywords, &entry, &runtime, &owner,
            &PyTuple_Type, &params, &PyTuple_Type, &ints, &PyTuple_Type, &floats, &PyTuple_Type,
            &alias, &PyTuple_Type, &written, &PyTuple_Type, &captures, &explain, &epoch, &scope,
            &conditional))
        return NULL;
    Variant* self = (Variant*)type->tp_alloc(type, 0);
    if (!self) return NULL;
    Py_INCREF(owner);
    self->owner = owner;
    Py_INCREF(explain);
    self->explain = explain;
    self->conditional = conditional;
    self->epoch = epoch == Py_None ? current_epoch : PyLong_AsUnsignedLongLong(epoch);
    if (PyErr_Occurred()) goto failed;
    if (scope) {
        Py_INCREF(scope);
        self->scope = scope;
    } else if (get_scope(&self->scope) < 0) {
        goto failed;
    }
    if (parse_entry(self, entry, runtime) < 0 || parse_params(self, params) < 0 ||
        parse_sources(self, ints, floats) < 0 || parse_memory(self, alias, written) < 0 ||
        parse_captures(self, captures) < 0)
        goto failed;
    return (PyObject*)self;
failed:
    Py_DECREF(self);
    return NULL;
}

static int variant_traverse(Variant* self, visitproc visit, void* arg) {
    Py_VISIT(self->owner);
    Py_VISIT(self->explain);
    Py_VISIT(self->scope);
    for (Py_ssize_t i = 0; self->params && i < self->n_params; i++) {
        Py_VISIT(self->params[i].expected);
        Py_VISIT(self->params[i].compare);
    }
    for (Py_ssize_t i = 0; self->captures && i < self->n_captures; i++) {
        Py_VISIT(self->captures[i].container);
        Py_VISIT(self->captures[i].key);
        Py_VISIT(self->captures[i].expected);
    }
    return 0;
}

/* Breaks cycles through `explain`, constants and captures. Afterwards the variant matches nothing
 * and launches nothing: its epoch is none that will ever be current. */
static int variant_clear(Variant* self) {
    self->epoch = ~0ull;
    Py_CLEAR(self->explain);
    Py_CLEAR(self->scope);
    for (Py_ssize_t i = 0; self->params && i < self->n_params; i++) {
        Py_CLEAR(self->params[i].expected);
        Py_CLEAR(self->params[i].compare);
    }
    for (Py_ssize_t i = 0; self->captures && i < self->n_captures; i++) {
        Py_CLEAR(self->captures[i].container);
        Py_CLEAR(self->captures[i].key);
        Py_CLEAR(self->captures[i].expected);
    }
    return 0;
}

static void variant_dealloc(Variant* self) {
    PyObject_GC_UnTrack(self);
    variant_clear(self);
    Py_CLEAR(self->owner);
    PyMem_Free(self->params);
    PyMem_Free(self->tensors);
    PyMem_Free(self->alias);
    PyMem_Free(self->written);
    PyMem_Free(self->ints);
    PyMem_Free(self->floats);
    PyMem_Free(self->captures);
    Py_TYPE(self)->tp_free(self);
}

static Slot* new_slots(Py_ssize_t count) {
    Slot* slots = PyMem_New(Slot, (size_t)count + 1);
    if (!slots) PyErr_NoMemory();
    for (Py_ssize_t i = 0; slots && i < count; i++) slots[i].state = UNREAD;
    return slots;
}

/* Checks and runs one variant on a tuple of all arguments: FITS..., MISFIT or FAILED. */
static Match variant_run(Variant* self, PyObject* args, Slot* slots) {
    PyObject* const* values = &PyTuple_GET_ITEM(args, 0);
    if (PyTuple_GET_SIZE(args) != self->n_params || !self->explain) return MISFIT;
    Match match = arguments_fit(self, values, slots);
    if (match == FITS && launch(self, values, slots) < 0) return FAILED;
    return match;
}

static PyObject* variant_call(Variant* self, PyObject* args, PyObject* kwargs) {
    PyObject* values;
    static char* keywords[] = {"args", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!:Variant", keywords, &PyTuple_Type, &values))
        return NULL;
    Slot* slots = new_slots(PyTuple_GET_SIZE(values));
    if (!slots) return NULL;
    Match match = variant_run(self, values, slots);
    PyMem_Free(slots);
    return match == FAILED ? NULL : PyBool_FromLong(match != MISFIT);
}

static PyMemberDef variant_members[] = {
    {"owner", T_OBJECT, offsetof(Variant, owner), READONLY, "what keeps the binary loaded"},
    {"epoch", T_ULONGLONG, offsetof(Variant, epoch), READONLY, "epoch it belongs to"},
    {"scope", T_OBJECT, offsetof(Variant, scope), READONLY, "scope it belongs to, or None"},
    {"launches", T_ULONGLONG, offsetof(Variant, launches), READONLY, "kernel runs so far"},
    {NULL}};

static PyTypeObject VariantType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_pypto_launcher.Variant",
    .tp_doc = variant_doc,
    .tp_basicsize = sizeof(Variant),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = variant_new,
    .tp_dealloc = (destructor)variant_dealloc,
    .tp_traverse = (traverseproc)variant_traverse,
    .tp_clear = (inquiry)variant_clear,
    .tp_call = (ternaryfunc)variant_call,
    .tp_members = variant_members,
};

#endif
