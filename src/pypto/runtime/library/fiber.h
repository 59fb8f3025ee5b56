/* Stackful fibers of one thread: a fiber runs until it yields to the thread that resumed it. */
#ifndef PYPTO_RUNTIME_FIBER_H
#define PYPTO_RUNTIME_FIBER_H

#include "common.h"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace pypto_runtime_library {

/* Must be resumed, always on the same thread, until `done`. */
class Fiber {
public:
    /* `body(argument)` will run on the stack that ends at `stack_top` (16-byte aligned). */
    void prepare(uint8_t* stack_top, void (*body)(void*), void* argument);
    void resume(); /* returns when the fiber yields or ends */
    void yield();  /* called inside the fiber */
    bool done() const { return done_; }

private:
    static void enter(Fiber* self);

    void (*body_)(void*) = nullptr;
    void* argument_ = nullptr;
    bool done_ = false;
#if defined(__x86_64__)
    void* inside_ = nullptr;   /* stack pointers of the two sides while they wait */
    void* outside_ = nullptr;
#else
    ucontext_t inside_;
    ucontext_t outside_;
    static void trampoline(unsigned high, unsigned low);
#endif
};

}  // namespace pypto_runtime_library

#endif
