/* What the launcher does to exceptions on their way to the caller. */
#ifndef PYPTO_LAUNCHER_ERRORS_H
#define PYPTO_LAUNCHER_ERRORS_H

#include <Python.h>
#include <frameobject.h>

/* An exception whose traceback is the raising frame alone loses it: our own Python functions raise
 * so what is meant for the caller, who then sees no frame but his own. */
static void drop_single_frame(void) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (traceback && !((PyTracebackObject*)traceback)->tb_next) {
        PyErr_NormalizeException(&type, &value, &traceback);
        /* The instance has a traceback of its own, which would come back. */
        if (PyException_SetTraceback(value, Py_None) < 0) PyErr_Clear();
        Py_CLEAR(traceback);
    }
    PyErr_Restore(type, value, traceback);
}

#endif
