/* What the kernels of a checked launch do to their process: faults, and loops without end. */
#ifndef PYPTO_RUNTIME_GUARD_H
#define PYPTO_RUNTIME_GUARD_H

#include "common.h"

namespace pypto_runtime_library {

struct Stream;
struct Watch;

/* While it lives, a fault of the streams that this thread runs ends the stream and not the process,
 * and so does PYPTO_TWIN_TIMEOUT. The handlers of signals that were there before get what is not of
 * such a stream, and are there again when the last guard of the process goes. */
class Guard {
public:
    explicit Guard(const PyptoLaunch& launch);
    ~Guard();
    Guard(const Guard&) = delete;

    void enter(Stream& stream); /* about to be resumed, on this thread */
    void leave();               /* it has yielded */

private:
    Watch& watch_;
};

}  // namespace pypto_runtime_library

#endif
