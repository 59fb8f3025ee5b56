/* Exact comparison of plain Python values, and scalars read from Python objects.
 *
 * "Exact" means: same type and same printed form, so that 1, 1.0 and True differ, and so do 0.0
 * and -0.0. Only types whose comparison runs no Python code are compared by value; objects of any
 * other type are equal when they are the same object.
 */
#ifndef PYPTO_LAUNCHER_VALUES_H
#define PYPTO_LAUNCHER_VALUES_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* Clears the pending error if a caller may go on without the value: the slow path meets the same
 * error again and reports it. Returns 0, or -1 when it must not be cleared (KeyboardInterrupt). */
static int forgive(void) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    PyErr_Clear();
    return 0;
}

static int exactly_equal(PyObject* a, PyObject* b, int containers);

static int equal_sequences(PyObject* const* a, PyObject* const* b, Py_ssize_t count,
                           int containers) {
    for (Py_ssize_t i = 0; i < count; i++) {
        int equal = exactly_equal(a[i], b[i], containers);
        if (equal != 1) return equal;
    }
    return 1;
}

/* Dictionaries are equal when their items are, in order: iteration can show the order. */
static int equal_dicts(PyObject* a, PyObject* b, int containers) {
    if (PyDict_GET_SIZE(a) != PyDict_GET_SIZE(b)) return 0;
    Py_ssize_t at_a = 0, at_b = 0;
    PyObject *key_a, *key_b, *value_a, *value_b;
    while (PyDict_Next(a, &at_a, &key_a, &value_a)) {
        if (!PyDict_Next(b, &at_b, &key_b, &value_b)) return 0;
        int equal = exactly_equal(key_a, key_b, containers);
        if (equal == 1) equal = exactly_equal(value_a, value_b, containers);
        if (equal != 1) return equal;
    }
    return 1;
}

static int equal_containers(PyObject* a, PyObject* b, int containers) {
    if (PyTuple_CheckExact(a)) {
        if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return 0;
        return equal_sequences(&PyTuple_GET_ITEM(a, 0), &PyTuple_GET_ITEM(b, 0),
                               PyTuple_GET_SIZE(a), containers);
    }
    if (PyList_CheckExact(a)) {
        if (PyList_GET_SIZE(a) != PyList_GET_SIZE(b)) return 0;
        return equal_sequences(((PyListObject*)a)->ob_item, ((PyListObject*)b)->ob_item,
                               PyList_GET_SIZE(a), containers);
    }
    return equal_dicts(a, b, containers);
}

/* 1 equal, 0 different, -1 error (nesting too deep). With `containers` lists and dicts are
 * compared by value even if they are the same object: `a` must then be a private copy. Without,
 * they are equal only when they are the same object. */
static int exactly_equal(PyObject* a, PyObject* b, int containers) {
    if (Py_TYPE(a) != Py_TYPE(b)) return 0;
    int mutable_container = PyList_CheckExact(a) || PyDict_CheckExact(a);
    if (PyTuple_CheckExact(a) || (mutable_container && containers)) {
        if (a == b && !containers) return 1;
        if (Py_EnterRecursiveCall(" in the comparison of a constant")) return -1;
        int equal = equal_containers(a, b, containers);
        Py_LeaveRecursiveCall();
        return equal;
    }
    if (a == b) return 1;
    if (PyFloat_CheckExact(a)) {
        double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (PyComplex_CheckExact(a)) {
        Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a))
        return PyObject_RichCompareBool(a, b, Py_EQ);
    return 0;
}

static PyObject* snapshot(PyObject* value);

static PyObject* snapshot_dict(PyObject* value) {
    PyObject* copy = PyDict_New();
    if (!copy) return NULL;
    Py_ssize_t at = 0;
    PyObject *key, *item;
    while (PyDict_Next(value, &at, &key, &item)) {
        PyObject* item_copy = snapshot(item);
        int failed = !item_copy || PyDict_SetItem(copy, key, item_copy) < 0;
        Py_XDECREF(item_copy);
        if (failed) {
            Py_DECREF(copy);
            return NULL;
        }
    }
    return copy;
}

static PyObject* snapshot_sequence(PyObject* value) {
    int is_tuple = PyTuple_CheckExact(value);
    Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(value) : PyList_GET_SIZE(value);
    PyObject* copy = is_tuple ? PyTuple_New(count) : PyList_New(count);
    for (Py_ssize_t i = 0; copy && i < count; i++) {
        PyObject* item =
            snapshot(is_tuple ? PyTuple_GET_ITEM(value, i) : PyList_GET_ITEM(value, i));
        if (!item) {
            Py_CLEAR(copy);
        } else if (is_tuple) {
            PyTuple_SET_ITEM(copy, i, item);
        } else {
            PyList_SET_ITEM(copy, i, item);
        }
    }
    return copy;
}

/* A copy of tuples, lists and dicts at all depths, so that later changes of the original show. */
static PyObject* snapshot(PyObject* value) {
    int is_dict = PyDict_CheckExact(value);
    if (!is_dict && !PyTuple_CheckExact(value) && !PyList_CheckExact(value)) {
        Py_INCREF(value);
        return value;
    }
    if (Py_EnterRecursiveCall(" in the copy of a constant")) return NULL;
    PyObject* copy = is_dict ? snapshot_dict(value) : snapshot_sequence(value);
    Py_LeaveRecursiveCall();
    return copy;
}

/* A container is no scalar even where it can convert itself, as a one-element array can. */
static int has_length(PyObject* value) {
    PyTypeObject* type = Py_TYPE(value);
    return (type->tp_as_mapping && type->tp_as_mapping->mp_length) ||
           (type->tp_as_sequence && type->tp_as_sequence->sq_length);
}

static int has_index(PyObject* value) { return PyIndex_Check(value); }

/* Reads an int64. 1 done, 0 does not fit (type or range), -1 error. With `widen` bools and
 * subclasses of int are taken too. */
static int read_int(PyObject* value, int widen, int64_t* out) {
    int overflow = 0;
    if (PyLong_Check(value)) {
        if (!widen && !PyLong_CheckExact(value)) return 0;
        *out = PyLong_AsLongLongAndOverflow(value, &overflow);
        return overflow == 0;
    }
    if (!has_index(value) || has_length(value)) return 0;
    PyObject* index = PyNumber_Index(value);
    if (!index) return forgive();
    *out = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    return overflow == 0;
}

/* Reads a double. 1 done, 0 does not fit, -1 error. With `widen` integers are taken too. */
static int read_float(PyObject* value, int widen, double* out) {
    if (PyFloat_Check(value)) {
        *out = PyFloat_AS_DOUBLE(value);
        return 1;
    }
    if (!PyLong_Check(value)) {
        PyNumberMethods* number = Py_TYPE(value)->tp_as_number;
        if (!has_index(value) && !(number && number->nb_float)) return 0;
        if (has_length(value)) return 0;
    }
    if (!widen && has_index(value)) return 0;
    *out = PyFloat_AsDouble(value);
    if (*out == -1.0 && PyErr_Occurred()) return forgive();
    return 1;
}

#endif
