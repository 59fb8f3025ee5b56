#include "pool.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>

#include "guard.h"

namespace pypto_runtime_library {

namespace {

/* Pauses before a worker without work sleeps, some 200 us: as long as calls in a loop take to come. */
constexpr uint32_t kSpin = 16000;

/* Nanoseconds of one core. Waking a thread takes longer than work below kSleepers; work below kAwake
 * is done before another thread has seen it, and a block below kBlock is not worth taking. */
constexpr double kSleepers = 150000, kAwake = 12000, kBlock = 5000;
/* Two launches of less than kSleepers within this time: more are to be expected. */
constexpr auto kSoon = std::chrono::microseconds(150);

std::atomic<Pool*> current_pool{nullptr};

/* The old pool's locks may be held by threads that do not exist in the child: it is left alone. */
void forget_pool() { current_pool.store(nullptr); }

}  // namespace

Pool& Pool::instance()
{
    Pool* pool = current_pool.load();
    if (pool != nullptr) {
        return *pool;
    }
    static const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
    if (registered != 0) {
        fail("pthread_atfork failed");
    }
    Pool* const fresh = new Pool; /* lives as long as the process: its threads wait in it */
    if (current_pool.compare_exchange_strong(pool, fresh)) {
        return *fresh;
    }
    delete fresh;
    return *pool;
}

bool Pool::start_workers()
{
    if (!started_) {
        started_ = true;
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the application's threads' */
        for (uint32_t i = 1; i < worker_count(); ++i) {
            pthread_t thread;
            if (pthread_create(&thread, nullptr, &Pool::worker, this) != 0) {
                break; /* fewer workers are slower, not wrong */
            }
            pthread_detach(thread);
            ++workers_;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    return workers_ != 0;
}

void* Pool::worker(void* argument)
{
    Pool& pool = *static_cast<Pool*>(argument);
    for (;;) {
        const uint32_t roused = pool.roused_.load();
        pool.awake_.fetch_add(1);
        for (uint32_t i = 0; i < kSpin && !pool.job_.has_unclaimed(); ++i) {
            pause();
        }
        pool.awake_.fetch_sub(1);
        if (!pool.job_.has_unclaimed()) {
            std::unique_lock<std::mutex> lock(pool.sleep_mutex_);
            pool.sleepers_.fetch_add(1);
            pool.work_.wait(lock, [&] {
                return pool.job_.has_unclaimed() || pool.roused_.load() != roused;
            });
            pool.sleepers_.fetch_sub(1);
        }
        pool.job_.participate();
    }
    return nullptr;
}

void Pool::wake(uint32_t wanted)
{
    const uint32_t sleeping = sleepers_.load();
    if (sleeping == 0) {
        return;
    }
    { std::lock_guard<std::mutex> lock(sleep_mutex_); }
    if (wanted >= sleeping) {
        work_.notify_all();
    } else {
        for (uint32_t i = 0; i < wanted; ++i) {
            work_.notify_one();
        }
    }
}

void Pool::rouse()
{
    std::unique_lock<std::mutex> launching(launching_, std::try_to_lock);
    if (launching.owns_lock() && start_workers()) {
        roused_.fetch_add(1);
        wake(workers_);
    }
}

bool Pool::try_launch(const PyptoLaunch& launch)
{
    std::unique_lock<std::mutex> lock(launching_, std::try_to_lock);
    if (!lock.owns_lock() || !start_workers()) {
        return false;
    }
    job_.open(launch, workers_ + 1);
    wake(Job::stream_count(launch) - 1);
    job_.participate();
    job_.wait_all();
    return true;
}

uint32_t blocks(double work)
{
    const uint32_t workers = worker_count();
    if (workers == 1 || work < kAwake) {
        return 1;
    }
    const double worthwhile = work / kBlock;
    const uint32_t most = worthwhile < workers ? static_cast<uint32_t>(worthwhile) : workers;
    if (work >= kSleepers) {
        return most;
    }
    Pool& pool = Pool::instance();
    const uint32_t awake = pool.awake();
    if (awake != 0) {
        return awake + 1 < most ? awake + 1 : most;
    }
    /* Too little to wake anyone for; but if there is more of it, they may as well be awake. */
    static thread_local std::chrono::steady_clock::time_point last;
    const auto now = std::chrono::steady_clock::now();
    if (now - last < kSoon) {
        pool.rouse();
    }
    last = now;
    return 1;
}

void launch(const PyptoLaunch* request)
{
    const uint32_t streams = Job::stream_count(*request);
    const bool alone_only = request->stuck != nullptr;
    if (!alone_only && streams > 1 && worker_count() > 1 && Pool::instance().try_launch(*request)) {
        return;
    }
    if (!Job::may_synchronise(*request)) {
        for (uint32_t i = 0; i < streams; ++i) {
            Job::run_plain(*request, i);
        }
        return;
    }
    static thread_local Job alone; /* all streams as fibers of this thread */
    if (!alone_only) {
        alone.open(*request, 1);
        alone.participate();
        return;
    }
    Guard guard(*request);
    alone.open(*request, 1, &guard);
    alone.participate();
}

}  // namespace pypto_runtime_library
