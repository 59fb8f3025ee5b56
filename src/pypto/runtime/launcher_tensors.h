/* Reading torch tensors without torch's headers.
 *
 * Two routes give the same TensorView: the DLPack exchange table of the tensor type (a C call),
 * and public attributes, for versions of torch that have no such table. DLPack says nothing about
 * gradients and the negative bit (the lazily negated views of torch), so both are asked for
 * separately. What does not fit is left to the slow path, which says why.
 */
#ifndef PYPTO_LAUNCHER_TENSORS_H
#define PYPTO_LAUNCHER_TENSORS_H

#include "launcher_values.h"

enum { MAX_RANK = 8 };

/* The parts of the DLPack interface (version 1) that are used here. */
typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} DlpackDtype;

typedef struct {
    void* data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    DlpackDtype dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
} DlpackTensor;

typedef struct {
    uint32_t major;
    uint32_t minor;
    void* previous;
    void (*allocate)(void);
    void (*managed_from_object)(void);
    void (*managed_to_object)(void);
    int (*tensor_from_object)(void* object, DlpackTensor* out);
    void (*current_stream)(void);
} DlpackExchange;

enum { DLPACK_MAJOR = 1, DLPACK_CPU = 1 };

/* A dense tensor in the memory of the host. A 0-d tensor has shape (1,). */
typedef struct {
    uint8_t* data;
    int64_t bytes;
    int32_t ndim;
    uint8_t code; /* DLPack's type code and bits of one element */
    uint8_t bits;
    int64_t shape[MAX_RANK];
} TensorView;

/* What `init` was given: the exact types read here, and how. */
static struct {
    PyObject* types;   /* tuple of exact types; the first is torch.Tensor itself */
    PyObject* dtypes;  /* dict: torch.dtype -> code << 8 | bits */
    PyObject* strided; /* torch.strided */
    PyObject* increment_version;
    PyObject* is_grad_enabled;
    PyObject* forward_levels; /* dict; NULL: nothing is known of levels */
    PyObject* capsule; /* keeps `exchange` alive */
    const DlpackExchange* exchange;
    PyGetSetDescrObject* requires_grad; /* NULL: read by name */
    PyMethodDescrObject* is_neg;        /* NULL: called by name */
} torch_api;

static struct {
    PyObject *requires_grad, *is_neg, *layout, *is_cpu, *dtype, *shape, *stride, *data_ptr;
    PyObject* current_level;
} names;

static PyObject* no_level; /* the int -1, which exists once */

static int is_tensor(PyObject* value) {
    if (!torch_api.types) return 0;
    PyTypeObject* base = (PyTypeObject*)PyTuple_GET_ITEM(torch_api.types, 0);
    return PyType_IsSubtype(Py_TYPE(value), base);
}

static int is_readable_type(PyObject* value) {
    if (!torch_api.types) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(torch_api.types); i++)
        if ((PyObject*)Py_TYPE(value) == PyTuple_GET_ITEM(torch_api.types, i)) return 1;
    return 0;
}

/* Truth of a new reference that is released; -1 on error. */
static int take_truth(PyObject* value) {
    if (!value) return -1;
    int truth = value == Py_True ? 1 : value == Py_False ? 0 : PyObject_IsTrue(value);
    Py_DECREF(value);
    return truth;
}

/* 1 when torch would record this tensor's use for a gradient: refused, we have none. */
static int needs_grad(PyObject* value) {
    PyGetSetDescrObject* descriptor = torch_api.requires_grad;
    int needs = take_truth(
        descriptor ? descriptor->d_getset->get(value, descriptor->d_getset->closure)
                   : PyObject_GetAttr(value, names.requires_grad));
    if (needs != 1) return needs;
    return take_truth(PyObject_CallNoArgs(torch_api.is_grad_enabled));
}

/* 1 while a level of forward-mode differentiation is active: tensors may have tangents, which a
 * kernel would drop. The slow path tells which. */
static int records_forward(void) {
    if (!torch_api.forward_levels) return 0;
    PyObject* level = PyDict_GetItemWithError(torch_api.forward_levels, names.current_level);
    if (!level) return PyErr_Occurred() ? -1 : 0;
    return level != no_level;
}

static int is_negated(PyObject* value) {
    PyMethodDescrObject* method = torch_api.is_neg;
    return take_truth(method ? method->d_method->ml_meth(value, NULL)
                             : PyObject_CallMethodNoArgs(value, names.is_neg));
}

/* Fills in `bytes`; 1 when the strides (in elements; NULL: dense) are those of a dense tensor
 * whose size fits int64. Axes of size 1 may have any stride, and so may empty tensors. */
static int is_dense(TensorView* view, const int64_t* strides) {
    int64_t count = 1;
    for (int32_t i = 0; i < view->ndim; i++)
        if (view->shape[i] == 0) {
            view->bytes = 0;
            return 1;
        }
    for (int32_t i = view->ndim - 1; i >= 0; i--) {
        if (strides && view->shape[i] != 1 && strides[i] != count) return 0;
        if (__builtin_mul_overflow(count, view->shape[i], &count)) return 0;
    }
    return !__builtin_mul_overflow(count, (int64_t)((view->bits + 7) / 8), &view->bytes);
}

static int finish_view(TensorView* view, const int64_t* strides) {
    if (view->ndim == 0) {
        view->ndim = 1;
        view->shape[0] = 1;
        strides = NULL;
    }
    /* Elements without memory: the storage was released, or torch stands in for zeros. */
    return is_dense(view, strides) && (view->data || view->bytes == 0);
}

static int read_by_exchange(PyObject* value, TensorView* view) {
    DlpackTensor tensor;
    if (torch_api.exchange->tensor_from_object(value, &tensor) != 0) return forgive();
    if (tensor.device_type != DLPACK_CPU || tensor.dtype.lanes != 1) return 0;
    if (tensor.ndim > MAX_RANK) return 0;
    view->data = (uint8_t*)tensor.data + (tensor.data ? tensor.byte_offset : 0);
    view->ndim = tensor.ndim;
    view->code = tensor.dtype.code;
    view->bits = tensor.dtype.bits;
    for (int32_t i = 0; i < tensor.ndim; i++) view->shape[i] = tensor.shape[i];
    return finish_view(view, tensor.strides);
}

/* Reads a tuple of at most MAX_RANK ints and releases it; its length, -1 on error or misfit. */
static int32_t take_ints(PyObject* tuple, int64_t* out) {
    if (!tuple) return -1;
    Py_ssize_t count = PyTuple_Check(tuple) ? PyTuple_GET_SIZE(tuple) : -1;
    if (count > MAX_RANK) count = -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
        if (out[i] == -1 && PyErr_Occurred()) count = -1;
    }
    Py_DECREF(tuple);
    return (int32_t)count;
}

/* 1 when the tensor is strided, on the CPU and of a dtype that is known; fills code and bits. */
static int read_kind(PyObject* value, TensorView* view) {
    PyObject* layout = PyObject_GetAttr(value, names.layout);
    if (!layout) return -1;
    int strided = layout == torch_api.strided;
    Py_DECREF(layout);
    if (!strided) return 0;
    int on_cpu = take_truth(PyObject_GetAttr(value, names.is_cpu));
    if (on_cpu != 1) return on_cpu;
    PyObject* dtype = PyObject_GetAttr(value, names.dtype);
    if (!dtype) return -1;
    PyObject* packed = PyDict_GetItemWithError(torch_api.dtypes, dtype);
    Py_DECREF(dtype);
    if (!packed) return PyErr_Occurred() ? -1 : 0;
    long number = PyLong_AsLong(packed);
    if (number == -1 && PyErr_Occurred()) return -1;
    view->code = (uint8_t)(number >> 8);
    view->bits = (uint8_t)number;
    return 1;
}

static int read_attributes(PyObject* value, TensorView* view) {
    int64_t strides[MAX_RANK];
    int known = read_kind(value, view);
    if (known != 1) return known;
    view->ndim = take_ints(PyObject_GetAttr(value, names.shape), view->shape);
    if (view->ndim < 0) return PyErr_Occurred() ? -1 : 0;
    int32_t count = take_ints(PyObject_CallMethodNoArgs(value, names.stride), strides);
    if (count != view->ndim) return PyErr_Occurred() ? -1 : 0;
    PyObject* address = PyObject_CallMethodNoArgs(value, names.data_ptr);
    if (!address) return -1;
    view->data = PyLong_AsVoidPtr(address);
    Py_DECREF(address);
    if (!view->data && PyErr_Occurred()) return -1;
    return finish_view(view, strides);
}

/* Reads a tensor that a kernel can use as it stands. 1 done, 0 left to the slow path, -1 error. */
static int read_tensor(PyObject* value, TensorView* view) {
    if (!is_readable_type(value)) return 0;
    int refused = needs_grad(value);
    if (refused == 0) refused = is_negated(value);
    if (refused != 0) return refused < 0 ? forgive() : 0;
    if (torch_api.exchange) return read_by_exchange(value, view);
    int read = read_attributes(value, view);
    return read < 0 ? forgive() : read;
}

#endif
