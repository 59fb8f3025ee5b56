/* CPU twin: copies that know where the next step's copy will be.
 *
 * The device overlaps the copies of the next step with the work on this one. Here instructions run
 * one after another, so memory would idle while a step is computed. Instead, each copy remembers
 * how far its global side moved since the last step, and asks for the lines of the next step while
 * it copies. A launch whose traffic exceeds the caches (PYPTO_STREAM_STORES) writes past them.
 */
#ifndef PYPTO_TWIN_STREAM_H
#define PYPTO_TWIN_STREAM_H

#include "bytes.h"

namespace pypto_twin {

/* Shorter runs are neither tracked nor written past the caches. */
constexpr uint64_t kStreamBytes = 1024;
/* A copy that moved further than this between two steps did not walk: nothing is predicted. */
constexpr int64_t kFarthest = 4194304;

/* How far ahead the next step's global side lies, for the copy that has `local` on its other side. */
PYPTO_INLINE int64_t ahead_of(Tracker& tracker, const uint8_t* local, const uint8_t* global)
{
    for (Track& track : tracker.tracks) {
        if (track.local == local) {
            const int64_t moved =
                reinterpret_cast<intptr_t>(global) - reinterpret_cast<intptr_t>(track.global);
            track.global = global;
            return moved < kFarthest && moved > -kFarthest ? moved : 0;
        }
    }
    tracker.tracks[tracker.oldest] = Track{local, global};
    tracker.oldest = (tracker.oldest + 1) % kTracks;
    return 0;
}

/* Notes where the load of the next step will be. */
PYPTO_INLINE void want_next(Tracker& tracker, const uint8_t* local, const uint8_t* global)
{
    const int64_t ahead = ahead_of(tracker, local, global);
    if (ahead != 0 && tracker.wanted.count < kWanted - 1) {
        tracker.wanted.at[tracker.wanted.count++] = global + ahead;
    }
}

PYPTO_SHARED void load_rows(State& s, const Rows& rows);

PYPTO_SHARED void store_rows(State& s, const Rows& rows);

}  // namespace pypto_twin

#endif
