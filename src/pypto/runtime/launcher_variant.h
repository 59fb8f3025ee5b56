/* A variant: one compiled binary and everything that a call must match to be run by it. */
#ifndef PYPTO_LAUNCHER_VARIANT_H
#define PYPTO_LAUNCHER_VARIANT_H

#include <structmember.h>

#include "launcher_errors.h"
#include "launcher_tensors.h"
#include "pypto_abi.h"

/* Above this many bytes of tensors other Python threads may run during the kernel. Below, a kernel
 * takes less than about 50 us, and giving up the interpreter lock may cost more than that: taking
 * it back from a busy thread waits for its switch interval (5 ms). */
enum { RELEASE_GIL_ABOVE = 256 * 1024 };

typedef enum { TENSOR, INT, FLOAT, CONSTANT } ParamKind;

typedef struct {
    ParamKind kind;
    int widen;          /* INT, FLOAT: narrower Python types are taken too */
    uint8_t code, bits; /* TENSOR */
    int32_t ndim;
    int64_t sizes[MAX_RANK]; /* -1: any */
    PyObject* expected;      /* CONSTANT: the value */
    PyObject* compare;       /* CONSTANT: called with the argument, or NULL */
} Param;

typedef enum { IN_DICT, IN_CELL, IN_SEQUENCE, IN_ATTRIBUTE, BY_VALUE } CaptureKind;

typedef struct {
    CaptureKind kind;
    PyObject* container;
    PyObject* key;
    PyObject* expected; /* NULL: nothing must be there */
    Py_ssize_t index;   /* IN_SEQUENCE */
} Capture;

typedef struct {
    Py_ssize_t param;
    int32_t axis; /* -1: the scalar itself */
} IntSource;

typedef struct {
    PyObject_HEAD
    const PyptoKernel* kernel;
    const PyptoRuntime* runtime;
    PyObject* owner;
    PyObject* explain;
    PyObject* scope; /* value of the scope variable it was compiled under, or NULL */
    unsigned long long epoch;
    unsigned long long launches;
    Py_ssize_t n_params, n_tensors, n_ints, n_floats, n_captures, n_written;
    Param* params;
    Py_ssize_t* tensors; /* parameter of each tensor, in order */
    Py_ssize_t* alias;   /* class of each tensor */
    uint8_t* written;    /* of each tensor */
    int conditional;     /* the kernel has conditions that a call must meet */
    IntSource* ints;
    Py_ssize_t* floats;
    Capture* captures;
} Variant;

static PyTypeObject VariantType;

/* Counts changes of the global options. */
static unsigned long long current_epoch;
static PyObject* scope_variable; /* ContextVar of the options' scope, or NULL */

/* What is known of one argument during a call, kept between the variants that are tried. */
typedef struct {
    enum { UNREAD, UNFIT, READ } state; /* of `view` */
    TensorView view;
    int64_t integer;
    double number;
} Slot;

typedef enum { FAILED = -1, MISFIT = 0, FITS = 1, FITS_EMPTY = 2 } Match;

/* New reference to the current scope in *out; NULL when there is no scope variable, or when it
 * holds nothing and has no default. */
static int get_scope(PyObject** out) {
    *out = NULL;
    if (!scope_variable) return 0;
    return PyContextVar_Get(scope_variable, NULL, out);
}

static int capture_read(const Capture* row, PyObject** out) {
    PyObject* found = NULL;
    switch (row->kind) {
        case IN_DICT:
            found = PyDict_GetItemWithError(row->container, row->key);
            if (!found && PyErr_Occurred()) return -1;
            break;
        case IN_CELL:
            found = PyCell_GET(row->container);
            break;
        case IN_SEQUENCE:
            if (PyList_CheckExact(row->container)) {
                if (row->index < PyList_GET_SIZE(row->container))
                    found = PyList_GET_ITEM(row->container, row->index);
            } else if (row->index < PyTuple_GET_SIZE(row->container)) {
                found = PyTuple_GET_ITEM(row->container, row->index);
            }
            break;
        case BY_VALUE:
            found = row->container;
            break;
        case IN_ATTRIBUTE:
            *out = PyObject_GetAttr(row->container, row->key);
            if (*out) return 0;
            if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
            PyErr_Clear();
            return 0;
    }
    Py_XINCREF(found);
    *out = found;
    return 0;
}

static int captures_hold(const Variant* self) {
    for (Py_ssize_t i = 0; i < self->n_captures; i++) {
        const Capture* row = &self->captures[i];
        PyObject* found;
        if (capture_read(row, &found) < 0) return -1;
        int holds = 1;
        if (found != row->expected || row->kind == BY_VALUE) {
            holds = 0;
            if (found && row->expected)
                holds = exactly_equal(row->expected, found, row->kind == BY_VALUE);
        }
        Py_XDECREF(found);
        if (holds != 1) return holds;
    }
    return 1;
}

/* Epoch, scope and captured values: everything that is no argument. 1, 0 or -1. */
static int context_holds(const Variant* self) {
    if (self->epoch != current_epoch) return 0;
    if (scope_variable) {
        PyObject* scope;
        if (get_scope(&scope) < 0) return -1;
        int same = scope == self->scope;
        if (!same && scope && self->scope) same = exactly_equal(self->scope, scope, 0);
        Py_XDECREF(scope);
        if (same != 1) return same;
    }
    return captures_hold(self);
}

static int constant_holds(const Param* param, PyObject* value) {
    if (!param->compare) return exactly_equal(param->expected, value, 1);
    return take_truth(PyObject_CallOneArg(param->compare, value));
}

/* Scalars and constants. They come before any tensor is read, since reading them may run Python
 * code (__index__, __float__, comparisons) that could change a tensor. */
static int scalars_fit(const Variant* self, PyObject* const* args, Slot* slots) {
    for (Py_ssize_t i = 0; i < self->n_params; i++) {
        const Param* param = &self->params[i];
        int fits = 1;
        if (param->kind == TENSOR) continue;
        if (param->kind == CONSTANT)
            fits = constant_holds(param, args[i]);
        else if (is_tensor(args[i]))
            fits = 0; /* torch would convert it; that it is no tensor parameter must be seen */
        else if (param->kind == INT)
            fits = read_int(args[i], param->widen, &slots[i].integer);
        else
            fits = read_float(args[i], param->widen, &slots[i].number);
        if (fits != 1) return fits;
    }
    return 1;
}

static int tensor_fits(const Param* param, PyObject* value, Slot* slot) {
    if (slot->state == UNREAD) {
        int read = read_tensor(value, &slot->view);
        if (read < 0) return -1;
        slot->state = read ? READ : UNFIT;
    }
    const TensorView* view = &slot->view;
    if (slot->state == UNFIT || view->code != param->code || view->bits != param->bits ||
        view->ndim != param->ndim)
        return 0;
    for (int32_t axis = 0; axis < view->ndim; axis++)
        if (param->sizes[axis] >= 0 && param->sizes[axis] != view->shape[axis]) return 0;
    return 1;
}

static int same_memory(const TensorView* a, const TensorView* b) {
    if (a->data != b->data || a->bytes != b->bytes || a->code != b->code || a->bits != b->bits ||
        a->ndim != b->ndim)
        return 0;
    return memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0;
}

static int overlaps(const TensorView* a, const TensorView* b) {
    if (a->bytes == 0 || b->bytes == 0) return 0;
    uintptr_t first = (uintptr_t)a->data, second = (uintptr_t)b->data;
    return first <= second ? second - first < (uintptr_t)a->bytes
                           : first - second < (uintptr_t)b->bytes;
}

/* Tensors of one class are one memory; a written tensor touches no tensor of another class. */
static int alias_fits(const Variant* self, const Slot* slots) {
    for (Py_ssize_t i = 0; i < self->n_tensors; i++)
        for (Py_ssize_t j = i + 1; j < self->n_tensors; j++) {
            const TensorView* a = &slots[self->tensors[i]].view;
            const TensorView* b = &slots[self->tensors[j]].view;
            if (self->alias[i] == self->alias[j]) {
                if (!same_memory(a, b)) return 0;
            } else if ((self->written[i] || self->written[j]) && overlaps(a, b)) {
                return 0;
            }
        }
    return 1;
}

static int writes_nothing(const Variant* self, const Slot* slots) {
    for (Py_ssize_t i = 0; i < self->n_tensors; i++)
        if (self->written[i] && slots[self->tensors[i]].view.bytes != 0) return 0;
    return 1;
}

static Match arguments_fit(const Variant* self, PyObject* const* args, Slot* slots) {
    int fits = scalars_fit(self, args, slots);
    for (Py_ssize_t i = 0; fits == 1 && i < self->n_tensors; i++) {
        Py_ssize_t at = self->tensors[i];
        fits = tensor_fits(&self->params[at], args[at], &slots[at]);
    }
    if (fits != 1) return fits < 0 ? FAILED : MISFIT;
    /* Conditions on sizes hold for empty outputs, too: only the kernel's own code knows them. */
    if (writes_nothing(self, slots)) return self->conditional ? FITS : FITS_EMPTY;
    return alias_fits(self, slots) ? FITS : MISFIT;
}

/* The tensors that a call wrote, as an iterator over itself: a tuple and its iterator would be two
 * allocations that the garbage collector counts. */
typedef struct {
    PyObject_HEAD
    const Variant* variant; /* borrowed, as `args` is; NULL once the call is over */
    PyObject* const* args;
    Py_ssize_t next; /* index into the variant's tensors */
} WrittenTensors;

static PyObject* written_next(PyObject* object) {
    WrittenTensors* self = (WrittenTensors*)object;
    while (self->variant && self->next < self->variant->n_tensors) {
        Py_ssize_t i = self->next++;
        if (self->variant->written[i]) return Py_NewRef(self->args[self->variant->tensors[i]]);
    }
    return NULL;
}

static PyTypeObject WrittenTensorsType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_pypto_launcher.WrittenTensors",
    .tp_doc = "the tensors that a call wrote",
    .tp_basicsize = sizeof(WrittenTensors),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = written_next,
};

/* Tells autograd that the written tensors changed: saved ones then refuse their backward. */
static int increment_versions(const Variant* self, PyObject* const* args) {
    WrittenTensors* written = PyObject_New(WrittenTensors, &WrittenTensorsType);
    if (!written) return -1;
    written->variant = self;
    written->args = args;
    written->next = 0;
    PyObject* done = PyObject_CallOneArg(torch_api.increment_version, (PyObject*)written);
    written->variant = NULL;
    Py_DECREF(written);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* The kernel refused the call: `explain` raises the error that says why. */
static int raise_refusal(const Variant* self, int32_t code, PyObject* const* args) {
    PyObject* values = PyTuple_New(self->n_params);
    if (!values) return -1;
    for (Py_ssize_t i = 0; i < self->n_params; i++) {
        Py_INCREF(args[i]);
        PyTuple_SET_ITEM(values, i, args[i]);
    }
    PyObject* result = PyObject_CallFunction(self->explain, "iO", (int)code, values);
    Py_DECREF(values);
    if (result) {
        Py_DECREF(result);
        PyErr_Format(PyExc_RuntimeError, "a kernel refused its call with code %d, unexplained",
                     (int)code);
    } else {
        drop_single_frame();
    }
    return -1;
}

/* Lays the arguments out as the kernel's wrapper wants them; returns the bytes of all tensors. */
static uint64_t fill_call(const Variant* self, const Slot* slots, void** tensors, int64_t* ints,
                          double* floats) {
    uint64_t bytes = 0;
    for (Py_ssize_t i = 0; i < self->n_tensors; i++) {
        const TensorView* view = &slots[self->tensors[i]].view;
        tensors[i] = view->data;
        bytes += (uint64_t)view->bytes;
    }
    for (Py_ssize_t i = 0; i < self->n_ints; i++) {
        const Slot* slot = &slots[self->ints[i].param];
        int32_t axis = self->ints[i].axis;
        ints[i] = axis < 0 ? slot->integer : slot->view.shape[axis];
    }
    for (Py_ssize_t i = 0; i < self->n_floats; i++) floats[i] = slots[self->floats[i]].number;
    return bytes;
}

/* Runs the kernel on arguments that fit. The caller holds references to `self` and all `args`. */
static int launch(Variant* self, PyObject* const* args, const Slot* slots) {
    enum { LOCAL_WORDS = 64 };
    uint64_t local[LOCAL_WORDS];
    size_t words = (size_t)(self->n_tensors + self->n_ints + self->n_floats);
    uint64_t* space = words <= LOCAL_WORDS ? local : PyMem_New(uint64_t, words);
    if (!space) {
        PyErr_NoMemory();
        return -1;
    }
    void** tensors = (void**)space;
    int64_t* ints = (int64_t*)(tensors + self->n_tensors);
    double* floats = (double*)(ints + self->n_ints);
    uint64_t bytes = fill_call(self, slots, tensors, ints, floats);
    const PyptoCall call = {tensors, ints, floats};
    int32_t code;
    if (bytes > RELEASE_GIL_ABOVE) {
        Py_BEGIN_ALLOW_THREADS;
        code = self->kernel->run(self->runtime, &call);
        Py_END_ALLOW_THREADS;
    } else {
        code = self->kernel->run(self->runtime, &call);
    }
    if (space != local) PyMem_Free(space);
    if (code != PYPTO_OK) return raise_refusal(self, code, args);
    self->launches++;
    return self->n_written ? increment_versions(self, args) : 0;
}

#endif
