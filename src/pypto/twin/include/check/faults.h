/* Checked twin: what the scalar code of a kernel does that ends, or holds up, a process. */
#ifndef PYPTO_TWIN_CHECK_FAULTS_H
#define PYPTO_TWIN_CHECK_FAULTS_H

#include <algorithm>

#include "core_checks.h"

namespace pypto_twin {
namespace check {

struct FaultWords {
    const char* rule;
    const char* text;
};

inline FaultWords words_of(const PyptoFault& fault)
{
    const uintptr_t address = reinterpret_cast<uintptr_t>(fault.address);
    switch (fault.kind) {
        case PYPTO_FAULT_DIVISION:
            return {"scalar-division", "scalar code divides an integer by 0, or the lowest one by -1"};
        case PYPTO_FAULT_STACK:
            return {"scalar-stack", "scalar code needs more stack than the twin has, 256 KiB: a recursion, or a large array"};
        case PYPTO_FAULT_TRAP:
            return {"scalar-trap", "scalar code comes to a place that the C++ compiler takes for unreachable"};
        case PYPTO_FAULT_TIME:
            return {"timeout", "the core comes to no end: PYPTO_TWIN_TIMEOUT seconds without an instruction other than "
                               "scalar ones, or 30 times as long in all"};
        default:
            return {"scalar-memory", address < 65536 ? "scalar code reads or writes through a null pointer"
                                                     : "scalar code reads or writes memory that does not exist"};
    }
}

/* Where it stood; and the instruction before, if any. */
inline void Core::fault(const PyptoFault& fault)
{
    static_assert(PYPTO_FAULT_DEPTH == Sites::kDepth, "a stack is a stack");
    Sites::Stack stack{};
    std::copy(fault.stack, fault.stack + PYPTO_FAULT_DEPTH, stack.begin());
    const Site before = site_;
    site_ = launch_.sites.of(stack);
    const FaultWords words = words_of(fault);
    found(words.rule, words.text, before);
    launch_.stopped = true;
}

/* The time is over while the checker looks at a call. */
inline void Core::expire()
{
    site_ = here();
    found("timeout", words_of(PyptoFault{PYPTO_FAULT_TIME, nullptr, {}}).text);
    stop();
}

/* The checker is at work: the stream is not left here (PyptoCore.held). */
class HeldCore {
public:
    explicit HeldCore(PyptoCore& core) : core_(core)
    {
        ++core.held;
        __asm__ volatile("" ::: "memory");
    }
    ~HeldCore()
    {
        __asm__ volatile("" ::: "memory");
        --core_.held;
    }
    HeldCore(const HeldCore&) = delete;

private:
    PyptoCore& core_;
};

/* The same; a stream whose time is over stops when the checker has done its work. */
class Held {
public:
    explicit Held(Core& core) : core_(core), held_(core.unit()) {}
    ~Held()
    {
        if (__builtin_expect(__atomic_load_n(&core_.unit().expired, __ATOMIC_RELAXED) != 0, 0)) {
            core_.expire();
        }
    }

private:
    Core& core_;
    HeldCore held_;
};

}  // namespace check
}  // namespace pypto_twin

#endif
