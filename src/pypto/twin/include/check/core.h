/* Checked twin: one core of a launch, and what its instructions may touch. */
#ifndef PYPTO_TWIN_CHECK_CORE_H
#define PYPTO_TWIN_CHECK_CORE_H

#include <deque>
#include <memory>

#include "../../../runtime/pypto_abi.h"
#include "../check.h"
#include "../rules.h"
#include "defined.h"
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
    uint32_t element = 1;            /* bytes of one */
    std::unique_ptr<Defined> values; /* of the workspace; arguments are defined */
};

/* Streams of a group, those of the cube core first. */
struct Members {
    uint32_t cubes, vectors;
    uint32_t size() const { return cubes + vectors; }
};
inline Members members_of(uint32_t kind)
{
    return Members{kind == PYPTO_CUBE || kind >= PYPTO_MIX_1_0,
                   kind == PYPTO_MIX_1_2 ? 2u : kind != PYPTO_CUBE && kind != PYPTO_MIX_1_0};
}

/* What a scalar unit has written to a line of global memory, from the first write to the clean; bit i
 * stands for byte i. */
struct Span {
    uint32_t core;
    uint64_t bytes;
    Site site;
    Event written, cleaned; /* its last write, the clean */
    uint64_t serial;        /* of the cleans of the launch */
};

/* A line of global memory in the data cache of a scalar unit. */
struct Line {
    uint64_t dirty = 0; /* written here and nowhere else */
    uint64_t stale = 0; /* written elsewhere since the line was read */
    Site dirty_by = kNoSite, stale_by = kNoSite;
    uint32_t stale_core = 0;
    Event written{};             /* the last write */
    uint64_t fetched = 0;        /* cleans of the launch until then */
    uint64_t unsure = 0;         /* written by `rival`, whose clean need not have come before the fetch */
    uint32_t rival_core = kNone; /* a writer of the line that need not have come before the fetch */
    Site rival = kNoSite;
    Event rival_written{};

    static constexpr uint32_t kNone = ~0u;
};

/* 16 x 16 values of L0C, and who has them by the unit flag. */
struct Unit {
    enum class State : uint8_t { plain, filling, full, taken };

    State state = State::plain;
    Site site = kNoSite; /* the last Mmad */
};
constexpr uint64_t kUnitBytes = 1024, kUnits = 128;

/* CrossCoreSetFlag calls of one core for one mode and flag. */
struct Sets {
    uint32_t count = 0;
    Site last = kNoSite;
    std::deque<Clock> clocks; /* of the last ones */
};

constexpr uint32_t kCrossFlags = 16, kCrossModes = 3;

class Core;

/* What the cores of a launch share. They run on one thread (PyptoLaunch.stuck). */
struct Launch {
    ~Launch();

    Sites sites;
    Origins origins;
    Report report;
    Shadow global;
    std::vector<Region> regions; /* empty: not known */
    uint32_t kind = 0;           /* enum PyptoKind */
    std::vector<std::unique_ptr<Core>> cores;
    bool stopped = false; /* a core was stopped: others may wait for it */
    bool stuck = false;   /* cores waited for ever */

    struct Meeting { /* of cores in SyncAll */
        Clock clock;
        std::vector<uint32_t> present;
    };
    std::vector<Meeting> meetings[2]; /* of the vector cores, of all cores */
    std::map<uint64_t, Clock> uncached; /* by address: what a core that reads there learns */
    uint64_t cached_lines = 0;          /* of all cores */
    std::map<uint64_t, std::vector<Span>> spans; /* that are clean, by line */
    uint64_t cleans = 0;
};

/* A buffer that a TPipe has handed out, and what a queue says of it. */
struct Buffer {
    enum class State : uint8_t { unbound, idle, filling, queued, draining };

    uint64_t begin, end; /* offsets in its memory */
    Site site;           /* of InitBuffer */
    State state;
    TPosition position;
    uint32_t queue;         /* number of the queue or TBuf */
    uint32_t index, number; /* of the queue's buffers */
    uint32_t round;         /* the how-manieth tensor of the queue it holds */
    pipe_t producer, consumer;
    Clock forward, backward;
};

/* Memory that tensors are of: a buffer, or what the kernel says of a tensor itself. */
struct Allocation {
    uint64_t begin, end; /* offsets in its memory; of GM: addresses */
    Site site;           /* of InitBuffer, or of the first such tensor */
    Hardware memory;
    bool declared;  /* by the kernel */
    Buffer* buffer; /* of a TPipe; nullptr: freed */
};

class Core {
public:
    Core(Launch& launch, PyptoCore& core);

    void instruction(pipe_t pipe);
    void access(bool write, const Provenance& of, const void* address, uint64_t bytes, pipe_t pipe,
                uint32_t rows, uint64_t pitch);
    void ordered(pipe_t earlier, pipe_t later);
    void set_atomic(bool atomic) { atomic_ = atomic; }
    void finish();
    std::string name() const; /* as messages call it */
    const Report& report() const { return report_; }
    [[noreturn]] void stop();
    [[noreturn]] void refuse(const char* rule, const char* what);

    PyptoCore& unit() { return core_; }

    /* faults.h */
    void fault(const PyptoFault& fault);
    [[noreturn]] void expire();

    /* events.h */
    void init_state() { started_ = true; }
    void barrier(pipe_t pipe);
    void set_flag(HardEvent event, int32_t id);
    void wait_flag(HardEvent event, int32_t id);
    void fetch_id(HardEvent event, int32_t id, bool allocate);
    void release_id(HardEvent event, int32_t id);

    /* cores.h */
    void soft_sync(const void* gm, uint64_t gm_bytes, uint64_t ub_bytes);
    bool arrive(bool aiv_only);
    void leave(bool aiv_only);
    bool cross_set(uint32_t mode, pipe_t pipe, uint32_t flag);
    bool cross_wait(uint32_t flag);
    void cross_waited(uint32_t flag);
    void stuck();
    void finish_cross();

    /* unit_flag.h */
    bool unit_product(uint32_t flag, const void* address, uint64_t bytes, bool goes_on);
    bool unit_drain(uint32_t flag, const void* address, uint64_t bytes, uint32_t strips, uint64_t pitch);

    /* cache.h */
    void cached(bool write, const void* address, uint64_t bytes);
    void uncached(bool read, bool write, const void* address, uint64_t bytes);
    void clean(const void* address, bool all, bool global);

    /* buffers.h */
    void begin_pipe(const void* pipe);
    void end_pipe(const void* pipe);
    uint32_t add_buffers(TPosition position, const void* address, uint64_t bytes, uint32_t number,
                         TPosition target);
    Provenance held_by(const Provenance& buffer) const;
    Provenance declare(TPosition position, const void* address, uint64_t bytes);
    Provenance redeclare(const Provenance& of, const void* address, uint64_t bytes);
    void queue_event(QueueEvent what, const Provenance& of, const void* address);
    void queue_depth(uint32_t queued, uint32_t depth);

    /* Rules of one call (rules.h), and what they ask. */
    bool obeys(const Call& call);
    void gather_offset(uint64_t offset, uint32_t unit);
    void block_lists(const Blocks& dst, const Blocks& src, uint32_t bytes, uint32_t repeats);
    bool is_cube() const;
    bool has_pipe() const { return piped_; }
    uint64_t place(TPosition position, uint64_t address) const; /* byte of its memory */
    void broken(const char* rule, std::string text, const Tensor* of);

    /* Which values are defined: values.h. */
    void define(TPosition position, const void* address, uint64_t bytes, uint32_t rows, uint64_t pitch);
    void undefine(Undefined why, TPosition position, const void* address, uint64_t bytes, uint32_t rows,
                  uint64_t pitch);
    void clear_values();
    void spoil(TPosition position, uint64_t address, uint64_t bytes);
    void lend(const Provenance& of, uint64_t address, uint64_t bytes) { lent_ = Lent{of, address, bytes}; }
    void move(TPosition dst, const void* to, uint64_t to_pitch, TPosition src, const void* from,
              uint64_t from_pitch, uint64_t bytes, uint32_t rows, bool accumulates);
    void lanes(const Instruction& instruction, const Operand<uint8_t>* operands, uint32_t repeats,
               uint32_t count);
    void masked_lanes(const Instruction& instruction, const Operand<uint8_t>* operands, uint32_t repeats,
                      uint64_t low, uint64_t high);
    Origin origin(TPosition position, const void* address, uint64_t bytes);
    void assign(TPosition position, const void* address, uint64_t bytes, Origin origin);
    uint8_t defined_bits(TPosition position, const void* address);
    void assign_bits(TPosition position, const void* address, uint8_t bits, Origin origin);
    bool use(const char* rule, const char* what, TPosition position, const void* address, uint64_t bytes);
    bool use_origin(const char* rule, const char* what, Origin origin);

private:
    struct Flag {
        bool set = false;
        bool awaited = false; /* a wait stands before the set */
        Site site = kNoSite;  /* of the one that came first */
        Clock clock;
    };
    struct Lent { /* to the next instruction, for intermediate results */
        Provenance of;
        uint64_t address = 0, bytes = 0;
    };
    struct Ids { /* of one event, a bit each */
        uint8_t fetched = 0, allocated = 0;
    };
    struct Waiting {
        enum class For : uint8_t { nothing, vectors, all, flag };
        For what = For::nothing;
        uint32_t flag = 0;
        Site site = kNoSite;
    };

    void found(const char* rule, std::string text, Site other = kNoSite, Place place = {});
    void touch(bool write, const Provenance& of, uint64_t address, uint64_t bytes, pipe_t pipe);
    void touch_global(Use use, uint64_t address, uint64_t bytes, pipe_t pipe);
    void conflict(const Record& now, const Record& earlier, Hardware memory, Place place);
    void rivals(const Record& now, const Record& earlier, Place place, bool same_bytes, bool updates);
    bool inside(bool write, const Provenance& of, uint64_t address, uint64_t bytes, pipe_t pipe);
    bool inside_memory(const std::string& verb, Hardware memory, uint64_t address, uint64_t bytes);
    void inside_own(bool write, const Provenance& of, uint64_t address, uint64_t bytes, pipe_t pipe);
    void inside_any(bool write, Hardware memory, uint64_t address, uint64_t bytes);
    void outside_own(const char* verb, const Allocation& own, uint64_t end, uint64_t address, uint64_t bytes);
    void in_turn(const char* verb, const Buffer& buffer, uint32_t round, uint64_t address, uint64_t bytes);
    static std::string spelled(const Buffer& buffer);
    bool inside_global(bool write, uint64_t address, uint64_t bytes);
    Place place_of(Hardware memory, uint64_t address, uint64_t bytes);
    Buffer* buffer_of(Hardware memory, uint64_t offset);
    Buffer* buffer_of(const Provenance& of, uint64_t offset);
    void reset_buffers();
    void queue_bound(const char* what, const Buffer& buffer);
    void left_full();
    void unmet_waits(pipe_t pipe);
    bool flag_known(const char* call, HardEvent event, int32_t id);
    bool kind_synchronises(const char* call);
    bool takes_part(uint32_t mode, const Core& other) const;
    bool takes_part(uint32_t mode, uint32_t other) const; /* by its number */
    uint32_t complete(uint32_t mode, uint32_t flag, const Core& with) const;
    uint32_t available(uint32_t flag) const;
    std::vector<std::string> missing() const;
    void dirty_lines(const char* what, uint64_t begin, uint64_t end, bool own, bool whole_lines);
    void outdate(uint64_t begin, uint64_t end, bool own);
    void fetch(uint64_t number, Line& line);
    void first_write(uint64_t number, const Line& line, uint64_t part);
    void line_writers(Use use, uint64_t begin, uint64_t end, pipe_t pipe);
    void not_clean(const char* what, uint32_t core, Site site, uint64_t begin, uint64_t bytes);
    void two_writers(uint64_t number, uint32_t core, Site site, const char* order);
    void write_back(uint64_t line, const Line& held);
    template <typename Visit>
    void each_unit(uint64_t begin, uint64_t end, const Visit& visit);
    void units_left();
    Site here();

    struct Values;
    void scalar(bool write, TPosition position, const void* address, uint64_t bytes);
    Region* region_of(uint64_t address, uint64_t bytes);
    Values values_at(TPosition position, const void* address, uint64_t bytes);
    Origin cause(Undefined why);
    uint64_t offset_of(Hardware memory, const void* address) const;
    std::string spelled(TPosition position, const void* address);
    void found_undefined(const char* rule, std::string text, Origin origin, Place place);
    void used(const char* rule, std::string text, TPosition position, const void* address, uint64_t bytes,
              const Values& from);
    void stored(TPosition dst, const uint8_t* to, TPosition src, const uint8_t* from, uint64_t bytes);
    void run_of_lanes(const Instruction& instruction, const Operand<uint8_t>* operands, uint32_t repeat,
                      uint32_t from, uint32_t to);
    void piece_of_lanes(const Instruction& instruction, const Operand<uint8_t>* operands,
                        const uint8_t* const* at, uint32_t count);
    void one_lane(const Instruction& instruction, const Operand<uint8_t>* operands, const uint8_t* const* at);

    Launch& launch_;
    PyptoCore& core_;
    const uint32_t cores_;  /* of the launch */
    const uint32_t number_; /* of this one: group by group */
    const bool cube_;
    const int64_t block_; /* what GetBlockIdx() returns */
    Report report_;
    Order order_;
    Event event_{};
    Site site_ = kNoSite;
    Step step_;
    Lent lent_;
    bool atomic_ = false;    /* what copies to GM do */
    bool kind_told_ = false; /* that an instruction is for the other kind of core */
    Shadow local_[static_cast<uint32_t>(Hardware::MAX)];

    std::map<uint64_t, Buffer> buffers_[static_cast<uint32_t>(Hardware::MAX)]; /* by offset */
    Buffer* last_buffers_[static_cast<uint32_t>(Hardware::MAX)] = {}; /* found by buffer_of */
    std::vector<uint32_t> rounds_; /* tensors that each queue has given out */

    std::vector<Allocation> allocations_{1}; /* by the number that tensors have; none is 0 */
    std::map<std::tuple<Hardware, uint64_t, uint64_t>, uint32_t> declared_; /* those of the kernel */
    const void* pipe_ = nullptr;  /* the TPipe that is in use */
    Site static_style_ = kNoSite; /* the first tensor at an address of the kernel's choice */

    bool started_ = false, piped_ = false; /* InitSocState, a TPipe */
    bool running_ = false;                 /* instructions since the last barrier of all pipes */
    Flag flags_[static_cast<uint32_t>(HardEvent::MAX)][8];
    Ids ids_[static_cast<uint32_t>(HardEvent::MAX)];

    uint32_t barriers_[2] = {};
    bool soft_sync_ = false; /* the next SyncAll is one of software */
    Waiting waiting_;
    Sets sets_[kCrossModes][kCrossFlags];
    uint32_t consumed_[kCrossFlags] = {};

    std::map<uint64_t, Line> lines_; /* of the data cache, by address / 64 */
    Unit units_[kUnits];

    Defined values_; /* of all on-chip memory */
};

inline Launch::~Launch() = default;

}  // namespace check
}  // namespace pypto_twin

#endif
