/* CPU twin: copies of a launch whose traffic exceeds the caches (PYPTO_STREAM_STORES).
 *
 * The device overlaps the copies of the next step with the work on this one. Here instructions run
 * one after another, so memory would idle while a step is computed. Instead, each load remembers
 * how far its source moved since the last step and asks for the lines of the next step: while it
 * copies, or, for the last load before a store, while that store writes past the caches.
 */
#ifndef PYPTO_TWIN_STREAM_H
#define PYPTO_TWIN_STREAM_H

#include "bytes.h"

namespace pypto_twin {

/* Runs shorter than this are written through the caches. */
constexpr uint64_t kStreamBytes = 1024;
/* A source that moved further than this between two steps did not walk: nothing is predicted. */
constexpr int64_t kFarthest = 4194304;
constexpr uint32_t kTracks = 4;

/* One load of a kernel's step, known by the on-chip address that it fills. */
struct Track {
    const uint8_t* dst;
    const uint8_t* src;
    int64_t ahead;   /* bytes from this step's source to the next one's; 0: unknown */
    uint64_t bytes;  /* of one dense run, else 0 */
    bool at_store;   /* its lines are asked for by the store that follows */
};

struct Tracker {
    Track tracks[kTracks];
    uint32_t oldest;  /* replaced next */
    uint32_t last;    /* of the latest load */
};

/* Guesses only: wrong ones cost time, never results. So streams of one thread may share them. */
static thread_local Tracker tracker;

PYPTO_INLINE bool streaming() { return (state.core->flags & PYPTO_STREAM_STORES) != 0; }

PYPTO_INLINE Track& track_of(const uint8_t* dst)
{
    Tracker& t = tracker;
    for (uint32_t i = 0; i < kTracks; ++i) {
        if (t.tracks[i].dst == dst) {
            t.last = i;
            return t.tracks[i];
        }
    }
    t.last = t.oldest;
    t.oldest = (t.oldest + 1) % kTracks;
    t.tracks[t.last] = Track{dst, nullptr, 0, 0, false};
    return t.tracks[t.last];
}

inline __attribute__((noinline)) void load_rows(Rows r)
{
    r = merged(r);
    Track& track = track_of(r.dst);
    const int64_t moved =
        reinterpret_cast<intptr_t>(r.src) - reinterpret_cast<intptr_t>(track.src);
    track.ahead = moved < kFarthest && moved > -kFarthest ? moved : 0;
    track.src = r.src;
    track.bytes = r.rows == 1 ? r.bytes : 0;
    if (track.ahead == 0 || (track.at_store && r.rows == 1)) {
        return copy_rows(r);
    }
    for (uint32_t row = 0; row < r.rows; ++row) {
        copy_bytes<true>(r.dst + row * r.dst_pitch, r.src + row * r.src_pitch, r.bytes,
                         track.ahead);
    }
}

inline __attribute__((noinline)) void store_rows(Rows r)
{
    r = merged(r);
    if (r.bytes < kStreamBytes) {
        return copy_rows(r);
    }
    Track& track = tracker.tracks[tracker.last];
    track.at_store = r.rows == 1 && track.bytes == r.bytes;
    if (track.at_store && track.ahead != 0) {
        return stream_bytes<true>(r.dst, r.src, r.bytes, track.src + track.ahead);
    }
    for (uint32_t row = 0; row < r.rows; ++row) {
        stream_bytes<false>(r.dst + row * r.dst_pitch, r.src + row * r.src_pitch, r.bytes, nullptr);
    }
}

}  // namespace pypto_twin

#endif
