#include "fiber.h"

#include "memory.h"

namespace pypto_runtime_library {

void Fiber::enter(Fiber* self)
{
    self->body_(self->argument_);
    self->done_ = true;
    self->yield();
    fail("a finished fiber was resumed");
}

#if defined(__x86_64__)

/* Saves the callee-saved registers on the current stack, stores its pointer to *from, goes on with
 * the stack `to`. The control words of SSE and x87 are callee-saved too. */
extern "C" __attribute__((visibility("hidden"))) void pypto_fiber_switch(void** from, void* to);
extern "C" __attribute__((visibility("hidden"))) void pypto_fiber_start();

__asm__(
    ".text\n"
    ".p2align 4\n"
    ".hidden pypto_fiber_switch\n"
    ".globl pypto_fiber_switch\n"
    ".type pypto_fiber_switch,@function\n"
    "pypto_fiber_switch:\n"
    "  pushq %rbp\n"
    "  pushq %rbx\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  subq $8, %rsp\n"
    "  stmxcsr (%rsp)\n"
    "  fnstcw 4(%rsp)\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  ldmxcsr (%rsp)\n"
    "  fldcw 4(%rsp)\n"
    "  addq $8, %rsp\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbx\n"
    "  popq %rbp\n"
    "  ret\n"
    ".size pypto_fiber_switch,.-pypto_fiber_switch\n"
    ".p2align 4\n"
    ".hidden pypto_fiber_start\n"
    ".globl pypto_fiber_start\n"
    ".type pypto_fiber_start,@function\n"
    "pypto_fiber_start:\n" /* rbx: argument, r12: function; the stack is 16-byte aligned */
    "  movq %rbx, %rdi\n"
    "  callq *%r12\n"
    "  ud2\n"
    ".size pypto_fiber_start,.-pypto_fiber_start\n"
    /* without this mark the linker would make the stack of the process executable */
    ".section .note.GNU-stack,\"\",@progbits\n"
    ".text\n");

void Fiber::prepare(uint8_t* stack_top, void (*body)(void*), void* argument)
{
    body_ = body;
    argument_ = argument;
    done_ = false;
    uint64_t* top = reinterpret_cast<uint64_t*>(stack_top) - 2;
    *--top = reinterpret_cast<uint64_t>(&pypto_fiber_start);
    *--top = 0;                                          /* rbp */
    *--top = reinterpret_cast<uint64_t>(this);           /* rbx */
    *--top = reinterpret_cast<uint64_t>(&Fiber::enter);  /* r12 */
    *--top = 0;                                          /* r13 */
    *--top = 0;                                          /* r14 */
    *--top = 0;                                          /* r15 */
    --top;
    uint32_t mxcsr = 0;
    uint16_t x87 = 0;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    *top = mxcsr | static_cast<uint64_t>(x87) << 32;
    inside_ = top;
}

void Fiber::resume() { pypto_fiber_switch(&outside_, inside_); }
void Fiber::yield() { pypto_fiber_switch(&inside_, outside_); }

#else

void Fiber::trampoline(unsigned high, unsigned low)
{
    enter(reinterpret_cast<Fiber*>(static_cast<uintptr_t>(high) << 32 | low));
}

void Fiber::prepare(uint8_t* stack_top, void (*body)(void*), void* argument)
{
    body_ = body;
    argument_ = argument;
    done_ = false;
    if (getcontext(&inside_) != 0) {
        fail("getcontext failed");
    }
    inside_.uc_stack.ss_sp = stack_top - kStackBytes;
    inside_.uc_stack.ss_size = kStackBytes;
    inside_.uc_link = nullptr;
    const uint64_t self = reinterpret_cast<uintptr_t>(this);
    makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::trampoline), 2,
                static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
}

void Fiber::resume()
{
    if (swapcontext(&outside_, &inside_) != 0) {
        fail("swapcontext failed");
    }
}
void Fiber::yield()
{
    if (swapcontext(&inside_, &outside_) != 0) {
        fail("swapcontext failed");
    }
}

#endif

}  // namespace pypto_runtime_library
