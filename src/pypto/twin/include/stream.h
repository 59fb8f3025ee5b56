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

PYPTO_INLINE Track& track_of(Tracker& tracker, const uint8_t* dst)
{
    for (Track& track : tracker.tracks) {
        if (track.dst == dst) {
            return track;
        }
    }
    Track& track = tracker.tracks[tracker.oldest];
    tracker.oldest = (tracker.oldest + 1) % kTracks;
    track = Track{dst, nullptr, 0, 0, false};
    return track;
}

inline __attribute__((noinline)) void load_rows(Tracker& tracker, const Rows& rows)
{
    const Rows r = merged(rows);
    Track& track = track_of(tracker, r.dst);
    const int64_t moved =
        reinterpret_cast<intptr_t>(r.src) - reinterpret_cast<intptr_t>(track.src);
    tracker.last = &track;
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

inline __attribute__((noinline)) void store_rows(Tracker& tracker, const Rows& rows)
{
    const Rows r = merged(rows);
    if (r.bytes < kStreamBytes) {
        return copy_rows(r);
    }
    Track& track = *tracker.last;
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
