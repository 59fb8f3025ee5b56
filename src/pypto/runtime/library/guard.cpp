/* A stream is left from inside the signal's handler: that switches to the thread which resumed the
 * fiber, as the fiber itself does when it waits, and nobody resumes the fiber again. What the stream
 * holds stays behind; what may not (the checker's own state, the memory allocator's) is kept by
 * PyptoCore.held: a stream is not left there.
 *
 * A fault comes from the instruction at hand, and ends the stream there. Time is looked at a few times
 * per limit. A stream that is past it is left when it is in the kernel's own code, which holds
 * nothing; in the checker, it stops itself on the way out (PyptoCore.expired). */
#include "guard.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <mutex>

#include "job.h"
#include "memory.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace pypto_runtime_library {

/* Of a thread that runs a checked launch. Handlers walk the list of them, so none is ever freed; thread-local memory is out of reach there, as its first use may allocate. */
struct Watch {
    std::atomic<bool> used{true};
    std::atomic<pthread_t> thread{};
    std::atomic<Stream*> stream{nullptr}; /* that runs at the moment */
    Watch* next = nullptr;
    void (*code)(PyptoCore*, const void*) = nullptr; /* in the binary of the kernel, whose code is */
    uintptr_t begin = 0, end = 0;                    /* [begin, end) */
    int timer; /* the system's number; its functions, as older C libraries have them in one of their own */
    bool timed = false;
    stack_t stack_before;
    alignas(16) uint8_t stack[65536];
};

namespace {

constexpr int kFaults[] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL};
/* Time's signal. One that arrives late, when no handler is left, is ignored by default. */
constexpr int kTime = SIGURG;
constexpr int kSignals[] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL, kTime};
constexpr size_t kSignalCount = sizeof kSignals / sizeof *kSignals;

/* Looks at the time per limit, and limits that a stream may take in all, working all along. */
constexpr uint32_t kTicks = 5, kWhole = 30;
constexpr double kUsualLimit = 10, kSoon = 1e-3; /* seconds */

std::atomic<Watch*> watches{nullptr};
std::mutex installing;
uint32_t guards = 0;
struct sigaction before[kSignalCount];

struct Registers {
    uintptr_t pc, sp, frame;
};
Registers registers_of(void* context)
{
    const mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return Registers{static_cast<uintptr_t>(machine.gregs[REG_RIP]), static_cast<uintptr_t>(machine.gregs[REG_RSP]),
                     static_cast<uintptr_t>(machine.gregs[REG_RBP])};
#elif defined(__aarch64__)
    return Registers{machine.pc, machine.sp, machine.regs[29]};
#else
    (void)machine;
    return Registers{0, 0, 0};
#endif
}

bool in_code(const Watch& watch, uintptr_t address) { return address >= watch.begin && address < watch.end; }

/* Where the stream stands. Frames are followed on its own stack only. */
void walk(const Watch& watch, const Stream& stream, const Registers& at, const void** stack)
{
    const uintptr_t top = reinterpret_cast<uintptr_t>(stream.stack_top);
    const auto readable = [&](uintptr_t address, size_t words) {
        return address % sizeof(void*) == 0 && address >= top - kStackBytes && address + words * sizeof(void*) <= top;
    };
    uint32_t depth = 0;
    if (in_code(watch, at.pc)) {
        stack[depth++] = reinterpret_cast<const void*>(at.pc + 1); /* as the others, which are past their call */
    } else if (readable(at.sp, 1)) { /* in a function of another library: what it returns to */
        const uintptr_t back = *reinterpret_cast<const uintptr_t*>(at.sp);
        if (in_code(watch, back)) {
            stack[depth++] = reinterpret_cast<const void*>(back);
        }
    }
    for (uintptr_t frame = at.frame; depth < PYPTO_FAULT_DEPTH && readable(frame, 2);) {
        const uintptr_t* const words = reinterpret_cast<const uintptr_t*>(frame);
        stack[depth++] = reinterpret_cast<const void*>(words[1]);
        if (words[0] <= frame) {
            break;
        }
        frame = words[0];
    }
}

Watch* watch_of_this_thread()
{
    for (Watch* watch = watches.load(); watch != nullptr; watch = watch->next) {
        if (watch->used.load() && pthread_equal(watch->thread.load(), pthread_self())) {
            return watch;
        }
    }
    return nullptr;
}

/* Ends the stream that this thread runs; in its signal's handler. */
[[noreturn]] void abandon(Watch& watch, Stream& stream, uint32_t kind, const void* address, void* context)
{
    stream.fault.kind = kind;
    stream.fault.address = address;
    walk(watch, stream, registers_of(context), stream.fault.stack);
    watch.stream.store(nullptr);
    pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
    stream.fiber.yield();
    fail("an abandoned stream was resumed");
}

/* To the handler that was there before. */
void pass_on(int number, siginfo_t* info, void* context)
{
    size_t index = 0;
    while (kSignals[index] != number) {
        ++index;
    }
    const struct sigaction& handler = before[index];
    if ((handler.sa_flags & SA_SIGINFO) != 0) {
        handler.sa_sigaction(number, info, context);
    } else if (handler.sa_handler != SIG_DFL && handler.sa_handler != SIG_IGN) {
        handler.sa_handler(number);
    } else if (number != kTime && (handler.sa_handler == SIG_DFL || info->si_code > 0)) {
        /* the end of the process: at the faulting instruction again, or by what another process sent */
        struct sigaction usual = {};
        usual.sa_handler = SIG_DFL;
        sigaction(number, &usual, nullptr);
        if (info->si_code <= 0) {
            raise(number);
        }
    }
}

uint32_t kind_of(int number, const Stream& stream, uintptr_t address)
{
    switch (number) {
        case SIGFPE: return PYPTO_FAULT_DIVISION;
        case SIGILL: return PYPTO_FAULT_TRAP;
        default: break;
    }
    const uintptr_t bottom = reinterpret_cast<uintptr_t>(stream.stack_top) - kStackBytes;
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    return number == SIGSEGV && address < bottom && address >= bottom - page ? PYPTO_FAULT_STACK : PYPTO_FAULT_MEMORY;
}

void on_fault(int number, siginfo_t* info, void* context)
{
    const int error = errno;
    Watch* const watch = watch_of_this_thread();
    Stream* const stream = watch != nullptr ? watch->stream.load() : nullptr;
    if (stream != nullptr && stream->core.held == 0 && info->si_code > 0) { /* else sent by somebody */
        /* where the processor checks addresses itself, it does not say which it was */
        const uintptr_t address = info->si_code == SI_KERNEL ? ~uintptr_t{0} : reinterpret_cast<uintptr_t>(info->si_addr);
        errno = error;
        abandon(*watch, *stream, kind_of(number, *stream, address), reinterpret_cast<const void*>(address), context);
    }
    pass_on(number, info, context);
    errno = error;
}

void set_timer(const Watch& watch, double seconds)
{
    const auto whole = static_cast<time_t>(seconds);
    const timespec each{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
    const itimerspec every{each, each};
    syscall(SYS_timer_settime, watch.timer, 0, &every, nullptr);
}

/* Whether the stream has taken all its time; to be asked at every tick. */
bool expired(Stream& stream)
{
    const uint64_t* const counters = stream.core.counters;
    const uint64_t work = counters[PYPTO_COUNT_VECTOR] + counters[PYPTO_COUNT_COPY] + counters[PYPTO_COUNT_BARRIER] +
                          counters[PYPTO_COUNT_SYNC_ALL];
    stream.idle = work == stream.work ? stream.idle + 1 : 0;
    stream.work = work;
    return stream.idle >= kTicks || ++stream.ticks >= kTicks * kWhole;
}

void on_time(int number, siginfo_t* info, void* context)
{
    const int error = errno;
    Watch* const watch = watch_of_this_thread();
    if (info->si_code != SI_TIMER || watch == nullptr || info->si_value.sival_ptr != watch) {
        pass_on(number, info, context);
        errno = error;
        return;
    }
    Stream* const stream = watch->stream.load();
    if (stream != nullptr && (stream->core.expired != 0 || expired(*stream))) {
        stream->core.expired = 1;
        errno = error;
        if (stream->core.held == 0 && in_code(*watch, registers_of(context).pc)) {
            abandon(*watch, *stream, PYPTO_FAULT_TIME, nullptr, context);
        }
        set_timer(*watch, kSoon); /* soon, at a better place */
    }
    errno = error;
}

void install()
{
    const std::lock_guard<std::mutex> lock(installing);
    if (guards++ != 0) {
        return;
    }
    for (size_t i = 0; i < kSignalCount; ++i) {
        struct sigaction handler = {};
        handler.sa_sigaction = kSignals[i] == kTime ? on_time : on_fault;
        handler.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigemptyset(&handler.sa_mask);
        sigaddset(&handler.sa_mask, kTime);
        sigaction(kSignals[i], &handler, &before[i]);
    }
}

/* Leaves alone what somebody else has installed since. */
void uninstall()
{
    const std::lock_guard<std::mutex> lock(installing);
    if (--guards != 0) {
        return;
    }
    for (size_t i = 0; i < kSignalCount; ++i) {
        struct sigaction now = {};
        sigaction(kSignals[i], nullptr, &now);
        if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == (kSignals[i] == kTime ? on_time : on_fault)) {
            sigaction(kSignals[i], &before[i], nullptr);
        }
    }
}

Watch& take_watch()
{
    for (Watch* watch = watches.load(); watch != nullptr; watch = watch->next) {
        bool used = false;
        if (watch->used.compare_exchange_strong(used, true)) {
            watch->thread.store(pthread_self());
            return *watch;
        }
    }
    Watch* const made = new Watch;
    made->thread.store(pthread_self());
    made->next = watches.load();
    while (!watches.compare_exchange_weak(made->next, made)) {
    }
    return *made;
}

/* Which addresses are code of the binary that `launch` runs. */
void find_code(Watch& watch, const PyptoLaunch& launch)
{
    if (watch.code == launch.stream) {
        return;
    }
    watch.code = launch.stream;
    watch.begin = watch.end = 0;
    const auto look = [](dl_phdr_info* info, size_t, void* data) {
        Watch& into = *static_cast<Watch*>(data);
        const uintptr_t wanted = reinterpret_cast<uintptr_t>(into.code);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& part = info->dlpi_phdr[i];
            const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
            if (part.p_type == PT_LOAD && wanted >= begin && wanted < begin + part.p_memsz) {
                into.begin = begin;
                into.end = begin + part.p_memsz;
                return 1;
            }
        }
        return 0;
    };
    dl_iterate_phdr(look, &watch);
}

/* Seconds of processor time; 0: no limit. Read once. */
double limit()
{
    static const double seconds = [] {
        const char* const text = getenv("PYPTO_TWIN_TIMEOUT");
        if (text == nullptr || *text == '\0') {
            return kUsualLimit;
        }
        char* end = nullptr;
        const double wanted = strtod(text, &end);
        if (*end == '\0' && wanted >= 0 && wanted < 1e9) {
            return wanted;
        }
        fprintf(stderr, "pypto: PYPTO_TWIN_TIMEOUT=%s is not a number of seconds, 0 for no limit; ignored\n", text);
        return kUsualLimit;
    }();
    return seconds;
}

void start_timer(Watch& watch)
{
    if (limit() == 0) {
        return;
    }
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kTime;
    event.sigev_value.sival_ptr = &watch;
    event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
    watch.timed = syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &watch.timer) == 0;
    if (watch.timed) {
        set_timer(watch, limit() < kTicks * kSoon ? kSoon : limit() / kTicks);
    } else {
        fprintf(stderr, "pypto: no timer is left: kernels without end are not stopped (%s)\n", strerror(errno));
    }
}

}  // namespace

Guard::Guard(const PyptoLaunch& launch) : watch_(take_watch())
{
    find_code(watch_, launch);
    stack_t stack = {};
    stack.ss_sp = watch_.stack;
    stack.ss_size = sizeof watch_.stack;
    sigaltstack(&stack, &watch_.stack_before);
    install();
    start_timer(watch_);
}

Guard::~Guard()
{
    if (watch_.timed) {
        syscall(SYS_timer_delete, watch_.timer);
        watch_.timed = false;
    }
    uninstall();
    sigaltstack(&watch_.stack_before, nullptr);
    watch_.used.store(false);
}

void Guard::enter(Stream& stream) { watch_.stream.store(&stream); }
void Guard::leave() { watch_.stream.store(nullptr); }

}  // namespace pypto_runtime_library
