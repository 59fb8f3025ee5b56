/* Checked twin: one core of a launch, and what its instructions may touch. */
#ifndef PYPTO_TWIN_CHECK_CORE_H
#define PYPTO_TWIN_CHECK_CORE_H

#include "../../../runtime/pypto_abi.h"
#include "../check.h"
#include "../rules.h"
#include "report.h"
#include "shadow.h"

namespace pypto_twin {
namespace check {

using AscendC::HardEvent;
using AscendC::Hardware;
using AscendC::TPosition;

/* Memory that a kernel was given: a tensor argument or the workspace. */
struct Region {
    uint64_t begin, end;
    std::string name;
};

/* What the cores of a launch share. Cores run on several threads: locked where it is used. */
struct Launch {
    std::mutex mutex; /* of what follows, but for `global` */
    Sites sites;
    Report report;
    std::mutex global_mutex;
    Shadow global;
    std::vector<Region> regions; /* empty: not known */
    std::vector<Clock> arrived;  /* at the barrier of cores, by generation */
    uint32_t kind = 0;           /* enum PyptoKind */
};

/* Streams of a group, those of the cube core first. */
struct Group {
    uint32_t cubes, vectors;
    uint32_t size() const { return cubes + vectors; }
};
inline Group group_of(uint32_t kind)
{
    return Group{kind == PYPTO_CUBE || kind >= PYPTO_MIX_1_0,
                 kind == PYPTO_MIX_1_2 ? 2u : kind != PYPTO_CUBE && kind != PYPTO_MIX_1_0};
}

/* A buffer that a TPipe has handed out, and what a queue says of it. */
struct Buffer {
    enum class State : uint8_t { unbound, idle, filling, queued, draining };

    uint64_t begin, end; /* offsets in its memory */
    Site site;           /* of InitBuffer */
    State state;
    pipe_t producer, consumer;
    Clock forward, backward;
};

class Core {
public:
    Core(Launch& launch, const PyptoCore& core);

    void instruction(pipe_t pipe);
    void access(bool write, TPosition position, const void* address, uint64_t bytes, pipe_t pipe,
                uint32_t rows, uint64_t pitch);
    void ordered(pipe_t earlier, pipe_t later);
    void barrier(pipe_t pipe);
    void set_flag(HardEvent event, int32_t id);
    void wait_flag(HardEvent event, int32_t id);
    void arrive();
    void leave();
    void finish();

    void reset_buffers();
    void add_buffer(TPosition position, const void* address, uint64_t bytes, bool queue,
                    TPosition destination);
    void queue_event(QueueEvent what, TPosition position, const void* address);

    /* Rules of one call (rules.h), and what they ask. */
    bool obeys(const Call& call);
    bool is_cube() const;
    uint64_t place(TPosition position, uint64_t address) const; /* byte of its memory */
    void broken(const char* rule, std::string text, const Tensor* of);

private:
    struct Flag {
        bool set = false;
        Site site = kNoSite;
        Clock clock;
    };

    void found(const char* rule, std::string text, Site other = kNoSite);
    void touch(bool write, Hardware memory, uint64_t address, uint64_t bytes, pipe_t pipe);
    bool inside(bool write, Hardware memory, uint64_t address, uint64_t bytes);
    Buffer* buffer_of(Hardware memory, uint64_t offset);
    Site here();

    Launch& launch_;
    const PyptoCore& core_;
    const uint32_t cores_; /* of the launch */
    Order order_;
    Event event_{};
    Site site_ = kNoSite;
    Sites::Numbers sites_; /* those of this core, so that most are found without a lock */
    Shadow local_[static_cast<uint32_t>(Hardware::MAX)];
    std::map<uint64_t, Buffer> buffers_[static_cast<uint32_t>(Hardware::MAX)]; /* by offset */
    Flag flags_[static_cast<uint32_t>(HardEvent::MAX)][8];
    uint32_t barriers_ = 0;
};

}  // namespace check
}  // namespace pypto_twin

#endif
