/* Threads that help with launches. Made at the first launch that needs them; they never end. */
#ifndef PYPTO_RUNTIME_POOL_H
#define PYPTO_RUNTIME_POOL_H

#include "job.h"

namespace pypto_runtime_library {

class Pool {
public:
    /* Runs `launch` with the help of the workers. False, with nothing done, when they are busy
     * with the launch of another thread or when there are none. */
    bool try_launch(const PyptoLaunch& launch);

    /* Workers that would take part in a launch at once: they wait for one without sleeping. */
    uint32_t awake() const { return awake_.load(); }
    /* Makes all workers wait without sleeping for a while, unless they are busy. */
    void rouse();

    /* The process's pool. A forked child has a new one: threads do not survive a fork. */
    static Pool& instance();

private:
    bool start_workers();
    static void* worker(void* pool);
    void wake(uint32_t wanted);

    std::mutex launching_; /* held by the thread whose launch the workers serve */
    uint32_t workers_ = 0; /* threads started, the caller not included; under launching_ */
    bool started_ = false;
    Job job_;

    std::atomic<uint32_t> awake_{0};
    std::atomic<uint32_t> roused_{0}; /* changes with each rouse() */
    std::atomic<uint32_t> sleepers_{0};
    std::mutex sleep_mutex_;
    std::condition_variable work_;
};

}  // namespace pypto_runtime_library

#endif
