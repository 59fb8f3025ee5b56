/* Checked twin: part of the object file that kernels of this build are linked with. */
#ifndef PYPTO_TWIN_CHECK_CHECKER_H
#define PYPTO_TWIN_CHECK_CHECKER_H

#include <cstdio>
#include <cstring>

#include "block_lists.h"
#include "buffers.h"
#include "rules.h"
#include "cache.h"
#include "cores.h"
#include "faults.h"
#include "unit_flag.h"
#include "values.h"

namespace pypto_twin {
namespace check {

namespace {

/* A launch as its streams see it: the kernel's own, and what checks it. */
struct Frame {
    void (*stream)(PyptoCore*, const void*);
    const void* frame;
};

/* The launch that this thread runs. */
thread_local Launch* running = nullptr;

void run_stream(PyptoCore* core, const void* frame)
{
    const Frame& checked = *static_cast<const Frame*>(frame);
    checked.stream(core, checked.frame);
}

void stuck_stream(PyptoCore* core)
{
    running->stuck = true;
    running->cores[number_of(*core, members_of(running->kind))]->stuck();
}

void faulty_stream(PyptoCore* core, const PyptoFault* fault)
{
    const std::unique_ptr<Core>& checked = running->cores[number_of(*core, members_of(running->kind))];
    checked->fault(*fault);
}

/* Of this thread's launches since it was taken last, a finding a line. */
thread_local std::string last_report;

void append_stack(std::string& text, const Sites& sites, Site site)
{
    text += "\t";
    if (site != kNoSite) {
        for (const void* const address : sites.stack(site)) {
            char buffer[24];
            snprintf(buffer, sizeof buffer, "%s%p", text.back() == '\t' ? "" : " ", address);
            text += address != nullptr ? buffer : "";
        }
    }
}

/* rule, cores, message, memory, tiles, tile, then the stacks of: the place, the other place, the
 * buffer's InitBuffer, the InitBuffer of the queue that counts the tiles. What is unknown is empty. */
void append_group(std::string& text, const Launch& launch, const Group& group)
{
    const Finding& first = group.first;
    text += std::string(first.rule) + "\t";
    for (const uint32_t core : group.cores) {
        text += (text.back() == '\t' ? "" : ",") + launch.cores[core]->name();
    }
    text += "\t" + first.text + "\t" + first.place.text + "\t" + std::to_string(group.tiles) + "\t";
    text += first.step.index == Step::kNone ? "" : std::to_string(first.step.index);
    for (const Site site : {first.site, first.other, first.place.buffer, first.step.queue}) {
        append_stack(text, launch.sites, site);
    }
    text += "\n";
}

/* All cores have ended. */
void publish(Launch& launch)
{
    for (uint32_t number = 0; number < launch.cores.size(); ++number) {
        if (launch.cores[number] == nullptr) {
            continue; /* not begun: another one has ended the launch */
        }
        Core& core = *launch.cores[number];
        if (!launch.stopped && !launch.stuck) {
            core.finish_cross();
        }
        launch.report.merge(number, core.report());
    }
    for (const Group& group : launch.report.groups()) {
        append_group(last_report, launch, group);
    }
}

}  // namespace

Core* begin(PyptoCore* core)
{
    const HeldCore held(*core);
    Launch& launch = *running;
    const Members members = members_of(launch.kind);
    launch.cores.resize(static_cast<size_t>(core->block_num) * members.size());
    std::unique_ptr<Core>& made = launch.cores[number_of(*core, members)];
    made.reset(new Core(launch, *core));
    return made.get();
}
void end(Core* core)
{
    const HeldCore held(core->unit());
    core->finish();
}
void refuse(Core* core, const char* rule, const char* what)
{
    const HeldCore held(core->unit());
    core->refuse(rule, what);
}
void instruction(Core* core, pipe_t pipe)
{
    const Held held(*core);
    core->instruction(pipe);
}
void access(Core* core, bool write, Provenance of, const void* address, uint64_t bytes, pipe_t pipe,
            uint32_t rows, uint64_t pitch)
{
    const Held held(*core);
    core->access(write, of, address, bytes, pipe, rows, pitch);
}
void block_lists(Core* core, const Blocks& dst, const Blocks& src, uint32_t bytes, uint32_t repeats)
{
    const Held held(*core);
    core->block_lists(dst, src, bytes, repeats);
}
void gather_offset(Core* core, uint64_t offset, uint32_t unit)
{
    const Held held(*core);
    core->gather_offset(offset, unit);
}
bool obeys(Core* core, const Call& call)
{
    const Held held(*core);
    return core->obeys(call);
}
void ordered(Core* core, pipe_t earlier, pipe_t later)
{
    const Held held(*core);
    core->ordered(earlier, later);
}
void set_atomic(Core* core, bool atomic)
{
    const Held held(*core);
    core->set_atomic(atomic);
}
bool unit_product(Core* core, uint32_t flag, const void* address, uint64_t bytes, bool goes_on)
{
    const Held held(*core);
    return core->unit_product(flag, address, bytes, goes_on);
}
bool unit_drain(Core* core, uint32_t flag, const void* address, uint64_t bytes, uint32_t strips, uint64_t pitch)
{
    const Held held(*core);
    return core->unit_drain(flag, address, bytes, strips, pitch);
}
void cached(Core* core, bool write, const void* address, uint64_t bytes)
{
    const Held held(*core);
    core->cached(write, address, bytes);
}
void uncached(Core* core, bool read, bool write, const void* address, uint64_t bytes)
{
    const Held held(*core);
    core->uncached(read, write, address, bytes);
}
void clean(Core* core, const void* address, bool all, bool global)
{
    const Held held(*core);
    core->clean(address, all, global);
}
void init_state(Core* core)
{
    const Held held(*core);
    core->init_state();
}
void barrier(Core* core, pipe_t pipe)
{
    const Held held(*core);
    core->barrier(pipe);
}
void set_flag(Core* core, HardEvent event, int32_t id)
{
    const Held held(*core);
    core->set_flag(event, id);
}
void wait_flag(Core* core, HardEvent event, int32_t id)
{
    const Held held(*core);
    core->wait_flag(event, id);
}
void fetch_id(Core* core, HardEvent event, int32_t id, bool allocate)
{
    const Held held(*core);
    core->fetch_id(event, id, allocate);
}
void release_id(Core* core, HardEvent event, int32_t id)
{
    const Held held(*core);
    core->release_id(event, id);
}
void soft_sync(Core* core, const void* gm, uint64_t gm_bytes, uint64_t ub_bytes)
{
    const Held held(*core);
    core->soft_sync(gm, gm_bytes, ub_bytes);
}
bool arrive(Core* core, bool aiv_only)
{
    const Held held(*core);
    return core->arrive(aiv_only);
}
void leave(Core* core, bool aiv_only)
{
    const Held held(*core);
    core->leave(aiv_only);
}
bool cross_set(Core* core, uint32_t mode, pipe_t pipe, uint32_t flag)
{
    const Held held(*core);
    return core->cross_set(mode, pipe, flag);
}
bool cross_wait(Core* core, uint32_t flag)
{
    const Held held(*core);
    return core->cross_wait(flag);
}
void cross_waited(Core* core, uint32_t flag)
{
    const Held held(*core);
    core->cross_waited(flag);
}
void begin_pipe(Core* core, const void* pipe)
{
    const Held held(*core);
    core->begin_pipe(pipe);
    core->clear_values();
}
void end_pipe(Core* core, const void* pipe)
{
    const Held held(*core);
    core->end_pipe(pipe);
}
Provenance held_by(Core* core, Provenance buffer)
{
    const Held held(*core);
    return core->held_by(buffer);
}
Provenance declare(Core* core, TPosition position, const void* address, uint64_t bytes)
{
    const Held held(*core);
    return core->declare(position, address, bytes);
}
Provenance redeclare(Core* core, Provenance of, const void* address, uint64_t bytes)
{
    const Held held(*core);
    return core->redeclare(of, address, bytes);
}
uint32_t add_buffers(Core* core, TPosition position, const void* address, uint64_t bytes, uint32_t number,
                     TPosition target)
{
    const Held held(*core);
    return core->add_buffers(position, address, bytes, number, target);
}
void queue_event(Core* core, QueueEvent what, Provenance of, const void* address)
{
    const Held held(*core);
    core->queue_event(what, of, address);
}
void queue_depth(Core* core, uint32_t queued, uint32_t depth)
{
    const Held held(*core);
    core->queue_depth(queued, depth);
}

void define(Core* core, TPosition position, const void* address, uint64_t bytes, uint32_t rows, uint64_t pitch)
{
    const Held held(*core);
    core->define(position, address, bytes, rows, pitch);
}
void undefine(Core* core, Undefined why, TPosition position, const void* address, uint64_t bytes,
              uint32_t rows, uint64_t pitch)
{
    const Held held(*core);
    core->undefine(why, position, address, bytes, rows, pitch);
}
void move(Core* core, TPosition dst, const void* to, uint64_t to_pitch, TPosition src, const void* from,
          uint64_t from_pitch, uint64_t bytes, uint32_t rows, bool accumulates)
{
    const Held held(*core);
    core->move(dst, to, to_pitch, src, from, from_pitch, bytes, rows, accumulates);
}
void lanes(Core* core, const Instruction& instruction, const Operand<uint8_t>* operands, uint32_t repeats,
           uint32_t count)
{
    const Held held(*core);
    core->lanes(instruction, operands, repeats, count);
}
void masked_lanes(Core* core, const Instruction& instruction, const Operand<uint8_t>* operands,
                  uint32_t repeats, uint64_t low, uint64_t high)
{
    const Held held(*core);
    core->masked_lanes(instruction, operands, repeats, low, high);
}
Origin origin(Core* core, TPosition position, const void* address, uint64_t bytes)
{
    const Held held(*core);
    return core->origin(position, address, bytes);
}
void assign(Core* core, TPosition position, const void* address, uint64_t bytes, Origin origin)
{
    const Held held(*core);
    core->assign(position, address, bytes, origin);
}
uint8_t defined_bits(Core* core, TPosition position, const void* address)
{
    const Held held(*core);
    return core->defined_bits(position, address);
}
void assign_bits(Core* core, TPosition position, const void* address, uint8_t bits, Origin origin)
{
    const Held held(*core);
    core->assign_bits(position, address, bits, origin);
}
bool use(Core* core, const char* rule, const char* what, TPosition position, const void* address, uint64_t bytes)
{
    const Held held(*core);
    return core->use(rule, what, position, address, bytes);
}
bool use_origin(Core* core, const char* rule, const char* what, Origin origin)
{
    const Held held(*core);
    return core->use_origin(rule, what, origin);
}

namespace {

/* Arguments that share memory, together: [begin, end) of the caller's memory and its copy. */
struct Copy {
    uint64_t begin, end;
    uint8_t* data;
};

/* Memory that the copies of a thread's next launch use again: new pages cost more than copying. */
struct Spare {
    std::unique_ptr<uint8_t[]> bytes;
    uint64_t size = 0;
};
thread_local std::vector<Spare> spares;

std::vector<Copy> merged(const Argument* arguments, uint32_t count)
{
    std::vector<Copy> copies;
    for (uint32_t i = 0; i < count; ++i) {
        const uint64_t begin = reinterpret_cast<uint64_t>(*arguments[i].pointer);
        copies.push_back(Copy{begin, begin + arguments[i].bytes, nullptr});
    }
    std::sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) { return a.begin < b.begin; });
    size_t kept = 0;
    for (size_t i = 1; i < copies.size(); ++i) {
        if (copies[i].begin < copies[kept].end || copies[i].begin == copies[kept].begin) {
            copies[kept].end = std::max(copies[kept].end, copies[i].end);
        } else {
            copies[++kept] = copies[i];
        }
    }
    copies.resize(count == 0 ? 0 : kept + 1);
    return copies;
}

/* Fills the copy, as far from a multiple of 512 bytes as the original. */
void fill(Copy& copy, Spare& spare)
{
    const uint64_t length = copy.end - copy.begin, needed = length + 2 * kBand + 512;
    if (spare.size < needed) {
        spare = Spare{std::unique_ptr<uint8_t[]>(new uint8_t[needed]), needed};
    }
    const uint64_t start = reinterpret_cast<uint64_t>(spare.bytes.get()) + kBand;
    copy.data = reinterpret_cast<uint8_t*>(start + (copy.begin - start) % 512);
    if (length != 0) { /* an empty tensor may have no memory */
        memcpy(copy.data, reinterpret_cast<const void*>(copy.begin), length);
    }
}

}  // namespace

int32_t launch(const PyptoRuntime* runtime, const PyptoLaunch* launch, const Argument* arguments,
               uint32_t count)
{
    Launch checked;
    std::vector<Copy> copies = merged(arguments, count);
    if (spares.size() < copies.size()) {
        spares.resize(copies.size());
    }
    for (size_t i = 0; i < copies.size(); ++i) {
        fill(copies[i], spares[i]);
    }
    for (uint32_t i = 0; i < count; ++i) {
        const Argument& argument = arguments[i];
        const uint64_t begin = reinterpret_cast<uint64_t>(*argument.pointer);
        for (Copy& copy : copies) {
            if (begin >= copy.begin && begin + argument.bytes <= copy.end) {
                *argument.pointer = copy.data + (begin - copy.begin);
                break;
            }
        }
        const uint64_t at = reinterpret_cast<uint64_t>(*argument.pointer);
        Region region{at, at + argument.bytes, argument.name, argument.element, nullptr};
        if (argument.workspace) {
            region.values = std::make_unique<Defined>(argument.bytes);
            region.values->undefine(0, argument.bytes, checked.origins.of(Cause{Undefined::workspace, kNoSite}));
        }
        checked.regions.push_back(std::move(region));
    }
    checked.kind = launch->kind;
    const Frame frame{launch->stream, launch->frame};
    PyptoLaunch inner = *launch;
    inner.stream = run_stream;
    inner.frame = &frame;
    inner.stuck = stuck_stream;
    inner.fault = faulty_stream;
    running = &checked;
    runtime->launch(&inner);
    for (const Copy& copy : copies) {
        if (copy.begin != copy.end) {
            memcpy(reinterpret_cast<void*>(copy.begin), copy.data, copy.end - copy.begin);
        }
    }
    publish(checked);
    return checked.report.empty() ? PYPTO_OK : PYPTO_UNLAWFUL;
}

}  // namespace check
}  // namespace pypto_twin

/* Takes what was found since the last call: a text that the next call overwrites. */
extern "C" __attribute__((visibility("default"))) const char* pypto_check_report(void)
{
    static thread_local std::string taken;
    taken.swap(pypto_twin::check::last_report);
    pypto_twin::check::last_report.clear();
    return taken.c_str();
}

#endif
