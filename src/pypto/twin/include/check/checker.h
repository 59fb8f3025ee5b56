/* Checked twin: part of the object file that kernels of this build are linked with. */
#ifndef PYPTO_TWIN_CHECK_CHECKER_H
#define PYPTO_TWIN_CHECK_CHECKER_H

#include <cstdio>
#include <cstring>
#include <memory>

#include "buffers.h"
#include "rules.h"

namespace pypto_twin {
namespace check {

namespace {

/* A launch as its streams see it: the kernel's own, and what checks it. */
struct Frame {
    void (*stream)(PyptoCore*, const void*);
    const void* frame;
    Launch* launch;
};

/* The launch whose stream this thread is about to begin. */
thread_local Launch* beginning = nullptr;

void run_stream(PyptoCore* core, const void* frame)
{
    const Frame& checked = *static_cast<const Frame*>(frame);
    beginning = checked.launch;
    checked.stream(core, checked.frame);
}

std::mutex last_mutex;
std::string last_report; /* of the launch that ended last, a finding a line */

void append_stack(std::string& text, const Sites& sites, Site site)
{
    if (site != kNoSite) {
        for (const void* const address : sites.stack(site)) {
            char buffer[24];
            snprintf(buffer, sizeof buffer, "%s%p", text.back() == '\t' ? "" : " ", address);
            text += address != nullptr ? buffer : "";
        }
    }
}

void publish(const Launch& launch)
{
    std::string text;
    for (const Finding& finding : launch.report.findings()) {
        text += finding.rule;
        text += "\t" + std::to_string(finding.core) + "\t" + finding.text + "\t";
        append_stack(text, launch.sites, finding.site);
        text += "\t";
        append_stack(text, launch.sites, finding.other);
        text += "\n";
    }
    const std::lock_guard<std::mutex> lock(last_mutex);
    last_report += text;
}

}  // namespace

Core* begin(PyptoCore* core) { return new Core(*beginning, *core); }
void end(Core* core)
{
    core->finish();
    delete core;
}

void instruction(Core* core, pipe_t pipe) { core->instruction(pipe); }
void access(Core* core, bool write, TPosition position, const void* address, uint64_t bytes, pipe_t pipe,
            uint32_t rows, uint64_t pitch)
{
    core->access(write, position, address, bytes, pipe, rows, pitch);
}
bool obeys(Core* core, const Call& call) { return core->obeys(call); }
void ordered(Core* core, pipe_t earlier, pipe_t later) { core->ordered(earlier, later); }
void barrier(Core* core, pipe_t pipe) { core->barrier(pipe); }
void set_flag(Core* core, HardEvent event, int32_t id) { core->set_flag(event, id); }
void wait_flag(Core* core, HardEvent event, int32_t id) { core->wait_flag(event, id); }
void arrive(Core* core) { core->arrive(); }
void leave(Core* core) { core->leave(); }
void reset_buffers(Core* core) { core->reset_buffers(); }
void add_buffer(Core* core, TPosition position, const void* address, uint64_t bytes, bool queue,
                TPosition target)
{
    core->add_buffer(position, address, bytes, queue, target);
}
void queue_event(Core* core, QueueEvent what, TPosition position, const void* address)
{
    core->queue_event(what, position, address);
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

constexpr uint64_t kBand = 65536; /* bytes that belong to nobody, before and after each copy */

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
    memcpy(copy.data, reinterpret_cast<const void*>(copy.begin), length);
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
        checked.regions.push_back(Region{at, at + argument.bytes, argument.name});
    }
    checked.kind = launch->kind;
    const Frame frame{launch->stream, launch->frame, &checked};
    PyptoLaunch inner = *launch;
    inner.stream = run_stream;
    inner.frame = &frame;
    runtime->launch(&inner);
    for (const Copy& copy : copies) {
        memcpy(reinterpret_cast<void*>(copy.begin), copy.data, copy.end - copy.begin);
    }
    publish(checked);
    return checked.report.findings().empty() ? PYPTO_OK : PYPTO_UNLAWFUL;
}

}  // namespace check
}  // namespace pypto_twin

/* Takes what was found since the last call: a text that the next call overwrites. */
extern "C" __attribute__((visibility("default"))) const char* pypto_check_report(void)
{
    static thread_local std::string taken;
    const std::lock_guard<std::mutex> lock(pypto_twin::check::last_mutex);
    taken.swap(pypto_twin::check::last_report);
    pypto_twin::check::last_report.clear();
    return taken.c_str();
}

#endif
