/* A forwarder: the `__call__` of a Python class whose instances hold what a call goes to.
 *
 * It saves the frame, the tuple and the dict of a method `def __call__(self, *args, **kwargs)`.
 */
#ifndef PYPTO_LAUNCHER_FORWARDER_H
#define PYPTO_LAUNCHER_FORWARDER_H

#include <Python.h>
#include <stddef.h>
#include <structmember.h>

#include "launcher_errors.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* attribute; /* interned str */
} Forwarder;

PyDoc_STRVAR(forwarder_doc,
             "Forwarder(attribute)\n\n"
             "As a class attribute `__call__`: calling an instance calls what its `attribute`\n"
             "holds, with the same arguments.");

/* args[0] is the instance: this is called as an unbound method. */
static PyObject* forwarder_vectorcall(PyObject* object, PyObject* const* args, size_t flags,
                                      PyObject* kwnames) {
    Forwarder* self = (Forwarder*)object;
    Py_ssize_t n_args = PyVectorcall_NARGS(flags);
    if (n_args < 1) {
        PyErr_SetString(PyExc_TypeError, "__call__ needs an instance");
        return NULL;
    }
    PyObject* target = PyObject_GetAttr(args[0], self->attribute);
    if (!target) return NULL;
    PyObject* result = PyObject_Vectorcall(
        target, args + 1, (size_t)(n_args - 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, kwnames);
    if (!result && PyMethod_Check(target)) drop_single_frame();
    Py_DECREF(target);
    return result;
}

static PyObject* forwarder_get(PyObject* self, PyObject* instance, PyObject* type) {
    (void)type;
    if (instance && instance != Py_None) return PyMethod_New(self, instance);
    Py_INCREF(self);
    return self;
}

static PyObject* forwarder_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static char* keywords[] = {"attribute", NULL};
    PyObject* attribute;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U:Forwarder", keywords, &attribute))
        return NULL;
    Forwarder* self = (Forwarder*)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = forwarder_vectorcall;
    Py_INCREF(attribute);
    PyUnicode_InternInPlace(&attribute);
    self->attribute = attribute;
    return (PyObject*)self;
}

static void forwarder_dealloc(Forwarder* self) {
    Py_CLEAR(self->attribute);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject ForwarderType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_pypto_launcher.Forwarder",
    .tp_doc = forwarder_doc,
    .tp_basicsize = sizeof(Forwarder),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Forwarder, vectorcall),
    .tp_new = forwarder_new,
    .tp_dealloc = (destructor)forwarder_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = forwarder_get,
};

#endif
