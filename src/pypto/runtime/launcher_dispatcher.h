/* The Python type of a dispatcher: one kernel as a callable with its variants. */
#ifndef PYPTO_LAUNCHER_DISPATCHER_H
#define PYPTO_LAUNCHER_DISPATCHER_H

#include "launcher_variant_type.h"

/* Arguments of a call that are kept on the C stack; more need an allocation. */
enum { LOCAL_SLOTS = 12 };

/* Variants a dispatcher keeps. Each is tried in turn, so more would not be faster than the slow
 * path; and those made in a scope of options that was left match nothing any more. */
enum { MAX_VARIANTS = 64 };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* name;
    PyObject* param_names; /* tuple of interned str */
    PyObject** defaults;   /* one a parameter, NULL: must be given */
    PyObject* fallback;
    PyObject* variants; /* tuple of Variant; replaced as a whole, never changed */
    PyObject* weakrefs;
    unsigned long long fallbacks;
} Dispatcher;

static PyTypeObject DispatcherType;

PyDoc_STRVAR(
    dispatcher_doc,
    "Dispatcher(name, param_names, defaults, fallback)\n\n"
    "Callable that runs the variant fitting the arguments, else fallback(args, kwargs).\n\n"
    "param_names: tuple of str, every one positional or keyword; defaults: dict of the defaults;\n"
    "fallback(args: tuple, kwargs: dict): gets the call as it was made; its result is returned.\n"
    "An exception that it raises itself, with no frame but its own, arrives without that frame.\n"
    "A call that a variant runs returns None.");

static Py_ssize_t count_params(const Dispatcher* self) {
    return PyTuple_GET_SIZE(self->param_names);
}

/* Index of a parameter, -1 when there is none, -2 on error. */
static Py_ssize_t find_param(const Dispatcher* self, PyObject* name) {
    Py_ssize_t count = count_params(self);
    for (Py_ssize_t i = 0; i < count; i++)
        if (PyTuple_GET_ITEM(self->param_names, i) == name) return i;
    for (Py_ssize_t i = 0; i < count; i++) {
        int order = PyUnicode_Compare(PyTuple_GET_ITEM(self->param_names, i), name);
        if (order == -1 && PyErr_Occurred()) return -2;
        if (order == 0) return i;
    }
    return -1;
}

/* Borrowed references to the argument of each parameter. 1 done, 0 the call is wrong, -1 error. */
static int bind_arguments(const Dispatcher* self, PyObject* const* args, Py_ssize_t n_args,
                          PyObject* kwnames, PyObject** bound) {
    Py_ssize_t count = count_params(self);
    if (n_args > count) return 0;
    for (Py_ssize_t i = 0; i < count; i++) bound[i] = i < n_args ? args[i] : NULL;
    Py_ssize_t n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; i < n_keywords; i++) {
        Py_ssize_t at = find_param(self, PyTuple_GET_ITEM(kwnames, i));
        if (at < 0) return at == -1 ? 0 : -1;
        if (bound[at]) return 0;
        bound[at] = args[n_args + i];
    }
    for (Py_ssize_t i = n_args; i < count; i++) {
        if (!bound[i]) bound[i] = self->defaults[i];
        if (!bound[i]) return 0;
    }
    return 1;
}

static PyObject* call_fallback(Dispatcher* self, PyObject* const* args, Py_ssize_t n_args,
                               PyObject* kwnames) {
    if (!self->fallback) {
        PyErr_SetString(PyExc_RuntimeError, "the dispatcher was cleared");
        return NULL;
    }
    PyObject* positional = PyTuple_New(n_args);
    PyObject* keywords = PyDict_New();
    int failed = !positional || !keywords;
    for (Py_ssize_t i = 0; !failed && i < n_args; i++) {
        Py_INCREF(args[i]);
        PyTuple_SET_ITEM(positional, i, args[i]);
    }
    Py_ssize_t n_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t i = 0; !failed && i < n_keywords; i++)
        failed = PyDict_SetItem(keywords, PyTuple_GET_ITEM(kwnames, i), args[n_args + i]) < 0;
    PyObject* result = NULL;
    if (!failed) {
        PyObject* fallback = self->fallback;
        Py_INCREF(fallback);
        self->fallbacks++;
        result = PyObject_CallFunctionObjArgs(fallback, positional, keywords, NULL);
        if (!result) drop_single_frame();
        Py_DECREF(fallback);
    }
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

/* Moves the variant at `index` to the front, unless the tuple was replaced meanwhile. */
static int promote(Dispatcher* self, PyObject* variants, Py_ssize_t index) {
    if (self->variants != variants) return 0;
    PyObject* ordered = PyTuple_New(PyTuple_GET_SIZE(variants));
    if (!ordered) return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(variants); i++) {
        Py_ssize_t from = i == 0 ? index : i <= index ? i - 1 : i;
        PyObject* variant = PyTuple_GET_ITEM(variants, from);
        Py_INCREF(variant);
        PyTuple_SET_ITEM(ordered, i, variant);
    }
    self->variants = ordered;
    Py_DECREF(variants);
    return 0;
}

/* Runs the first variant that fits. `args` are referenced by the caller. */
static Match run_variants(Dispatcher* self, PyObject* const* args, Slot* slots) {
    PyObject* variants = self->variants;
    Match match = MISFIT;
    Py_INCREF(variants);
    for (Py_ssize_t i = 0; match == MISFIT && i < PyTuple_GET_SIZE(variants); i++) {
        Variant* variant = (Variant*)PyTuple_GET_ITEM(variants, i);
        int holds = context_holds(variant);
        if (holds == 1)
            match = arguments_fit(variant, args, slots);
        else if (holds < 0)
            match = FAILED;
        if (i > 0 && match > MISFIT && promote(self, variants, i) < 0) match = FAILED;
        if (match == FITS && launch(variant, args, slots) < 0) match = FAILED;
    }
    Py_DECREF(variants);
    return match;
}

static PyObject* dispatch(Dispatcher* self, PyObject* const* args, Py_ssize_t n_args,
                          PyObject* kwnames, PyObject** bound, Slot* slots) {
    PyObject* const* values = args;
    Py_ssize_t count = count_params(self);
    if (n_args != count || kwnames) {
        int bindable = bind_arguments(self, args, n_args, kwnames, bound);
        if (bindable < 0) return NULL;
        if (!bindable) return call_fallback(self, args, n_args, kwnames);
        values = bound;
    }
    int recorded = records_forward();
    if (recorded < 0) return NULL;
    if (recorded) return call_fallback(self, args, n_args, kwnames);
    for (Py_ssize_t i = 0; i < count; i++) slots[i].state = UNREAD;
    Match match = run_variants(self, values, slots);
    if (match == FAILED) return NULL;
    if (match == MISFIT) return call_fallback(self, args, n_args, kwnames);
    Py_RETURN_NONE;
}

static PyObject* dispatcher_vectorcall(PyObject* object, PyObject* const* args, size_t flags,
                                       PyObject* kwnames) {
    Dispatcher* self = (Dispatcher*)object;
    Py_ssize_t n_args = PyVectorcall_NARGS(flags), count = count_params(self);
    if (count <= LOCAL_SLOTS) {
        PyObject* bound[LOCAL_SLOTS];
        Slot slots[LOCAL_SLOTS];
        return dispatch(self, args, n_args, kwnames, bound, slots);
    }
    PyObject** bound = PyMem_New(PyObject*, (size_t)count);
    Slot* slots = new_slots(count);
    PyObject* result = NULL;
    if (bound && slots)
        result = dispatch(self, args, n_args, kwnames, bound, slots);
    else
        PyErr_NoMemory();
    PyMem_Free(bound);
    PyMem_Free(slots);
    return result;
}

PyDoc_STRVAR(run_doc,
             "run(args) -> bool\n\n"
             "Runs the first variant that fits a tuple of all arguments; False: none does.\n"
             "For the fallback, on prepared arguments: False then means that no variant is\n"
             "registered for the current options, captured values and such arguments.");

static PyObject* dispatcher_run(Dispatcher* self, PyObject* args) {
    if (!PyTuple_Check(args) || PyTuple_GET_SIZE(args) != count_params(self)) {
        PyErr_SetString(PyExc_ValueError, "run takes a tuple with one value for each parameter");
        return NULL;
    }
    Slot* slots = new_slots(PyTuple_GET_SIZE(args));
    if (!slots) return NULL;
    Match match = run_variants(self, &PyTuple_GET_ITEM(args, 0), slots);
    PyMem_Free(slots);
    return match == FAILED ? NULL : PyBool_FromLong(match != MISFIT);
}

/* A new tuple: `first` (may be NULL), then the variants except `without` and outdated ones. */
static PyObject* rebuilt(const Dispatcher* self, PyObject* first, PyObject* without) {
    PyObject* list = PyList_New(0);
    if (list && first && PyList_Append(list, first) < 0) Py_CLEAR(list);
    for (Py_ssize_t i = 0; list && i < PyTuple_GET_SIZE(self->variants); i++) {
        PyObject* variant = PyTuple_GET_ITEM(self->variants, i);
        if (PyList_GET_SIZE(list) == MAX_VARIANTS) break;
        if (variant == first || variant == without) continue;
        if (((Variant*)variant)->epoch != current_epoch) continue;
        if (PyList_Append(list, variant) < 0) Py_CLEAR(list);
    }
    PyObject* tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject* replace_variants(Dispatcher* self, PyObject* variants) {
    if (!variants) return NULL;
    PyObject* old = self->variants;
    self->variants = variants;
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

static PyObject* dispatcher_add(Dispatcher* self, PyObject* variant) {
    if (!PyObject_TypeCheck(variant, &VariantType)) {
        PyErr_SetString(PyExc_TypeError, "add takes a Variant");
        return NULL;
    }
    if (((Variant*)variant)->n_params != count_params(self)) {
        PyErr_SetString(PyExc_ValueError, "the variant has another number of parameters");
        return NULL;
    }
    return replace_variants(self, rebuilt(self, variant, NULL));
}

static PyObject* dispatcher_remove(Dispatcher* self, PyObject* variant) {
    return replace_variants(self, rebuilt(self, NULL, variant));
}

static PyObject* dispatcher_clear_variants(Dispatcher* self, PyObject* unused) {
    (void)unused;
    return replace_variants(self, PyTuple_New(0));
}

static int set_names(Dispatcher* self, PyObject* param_names, PyObject* defaults) {
    Py_ssize_t count = PyTuple_GET_SIZE(param_names);
    self->param_names = PyTuple_New(count);
    self->defaults = PyMem_Calloc((size_t)count + 1, sizeof(PyObject*));
    if (!self->param_names || !self->defaults) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject* name = PyTuple_GET_ITEM(param_names, i);
        if (!PyUnicode_CheckExact(name)) {
            PyErr_SetString(PyExc_TypeError, "parameter names must be str");
            return -1;
        }
        Py_INCREF(name);
        PyUnicode_InternInPlace(&name);
        PyTuple_SET_ITEM(self->param_names, i, name);
        self->defaults[i] = PyDict_GetItemWithError(defaults, name);
        Py_XINCREF(self->defaults[i]);
        if (!self->defaults[i] && PyErr_Occurred()) return -1;
    }
    return 0;
}

static PyObject* dispatcher_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static char* keywords[] = {"name", "param_names", "defaults", "fallback", NULL};
    PyObject *name, *param_names, *defaults, *fallback;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UO!O!O:Dispatcher", keywords, &name,
                                     &PyTuple_Type, &param_names, &PyDict_Type, &defaults,
                                     &fallback))
        return NULL;
    Dispatcher* self = (Dispatcher*)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = dispatcher_vectorcall;
    Py_INCREF(name);
    self->name = name;
    Py_INCREF(fallback);
    self->fallback = fallback;
    self->variants = PyTuple_New(0);
    if (!self->variants || set_names(self, param_names, defaults) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject*)self;
}

static int dispatcher_traverse(Dispatcher* self, visitproc visit, void* arg) {
    Py_VISIT(self->fallback);
    Py_VISIT(self->variants);
    for (Py_ssize_t i = 0; self->param_names && self->defaults && i < count_params(self); i++)
        Py_VISIT(self->defaults[i]);
    return 0;
}

/* Breaks cycles; names and the (now empty) tuple of variants stay, so that a call still fails
 * cleanly. */
static int dispatcher_clear(Dispatcher* self) {
    Py_CLEAR(self->fallback);
    for (Py_ssize_t i = 0; self->param_names && self->defaults && i < count_params(self); i++)
        Py_CLEAR(self->defaults[i]);
    PyObject* old = self->variants;
    self->variants = PyTuple_New(0); /* the shared empty tuple: cannot fail */
    Py_XDECREF(old);
    return 0;
}

static void dispatcher_dealloc(Dispatcher* self) {
    PyObject_GC_UnTrack(self);
    if (self->weakrefs) PyObject_ClearWeakRefs((PyObject*)self);
    dispatcher_clear(self);
    Py_CLEAR(self->variants);
    Py_CLEAR(self->param_names);
    Py_CLEAR(self->name);
    PyMem_Free(self->defaults);
    Py_TYPE(self)->tp_free(self);
}

static PyObject* dispatcher_repr(Dispatcher* self) {
    return PyUnicode_FromFormat("<pypto dispatcher %U, %zd variants>", self->name,
                                PyTuple_GET_SIZE(self->variants));
}

static PyMethodDef dispatcher_methods[] = {
    {"add", (PyCFunction)dispatcher_add, METH_O,
     "add(variant): try this variant first; drops those of older epochs, and of more than\n"
     "MAX_VARIANTS the ones that were used least recently"},
    {"remove", (PyCFunction)dispatcher_remove, METH_O, "remove(variant): try it no longer"},
    {"clear", (PyCFunction)dispatcher_clear_variants, METH_NOARGS, "clear(): forget all variants"},
    {"run", (PyCFunction)dispatcher_run, METH_O, run_doc},
    {NULL}};

static PyMemberDef dispatcher_members[] = {
    {"name", T_OBJECT, offsetof(Dispatcher, name), READONLY, "name of the kernel"},
    {"param_names", T_OBJECT, offsetof(Dispatcher, param_names), READONLY, "parameters"},
    {"variants", T_OBJECT, offsetof(Dispatcher, variants), READONLY, "in the order of trial"},
    {"fallbacks", T_ULONGLONG, offsetof(Dispatcher, fallbacks), READONLY,
     "calls that no variant ran"},
    {NULL}};

static PyTypeObject DispatcherType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_pypto_launcher.Dispatcher",
    .tp_doc = dispatcher_doc,
    .tp_basicsize = sizeof(Dispatcher),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_BASETYPE,
    .tp_vectorcall_offset = offsetof(Dispatcher, vectorcall),
    .tp_weaklistoffset = offsetof(Dispatcher, weakrefs),
    .tp_new = dispatcher_new,
    .tp_dealloc = (destructor)dispatcher_dealloc,
    .tp_traverse = (traverseproc)dispatcher_traverse,
    .tp_clear = (inquiry)dispatcher_clear,
    .tp_call = PyVectorcall_Call,
    .tp_repr = (reprfunc)dispatcher_repr,
    .tp_methods = dispatcher_methods,
    .tp_members = dispatcher_members,
};

#endif
