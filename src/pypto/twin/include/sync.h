/* CPU twin: order inside a core and between cores.
 *
 * The instructions of one stream run in program order, so events and pipe barriers have nothing to
 * do here but report to the hooks. Between streams, SyncAll and the cross-core flags really wait:
 * the runtime library lets other streams of the same thread run meanwhile.
 */
#ifndef PYPTO_TWIN_SYNC_H
#define PYPTO_TWIN_SYNC_H

#include "tensor.h"

namespace pypto_twin {

/* Other streams may run on this thread during the call: the registers are kept on this stack. */
PYPTO_SHARED void sync_all(bool aiv_only);

PYPTO_SHARED void cross_wait(uint16_t flag);

}  // namespace pypto_twin

namespace AscendC {

template <HardEvent event>
PYPTO_INLINE void SetFlag(int32_t id)
{
    pypto_twin::on_set_flag(event, id);
}

template <HardEvent event>
PYPTO_INLINE void WaitFlag(int32_t id)
{
    pypto_twin::on_wait_flag(event, id);
}

template <pipe_t pipe>
PYPTO_INLINE void PipeBarrier()
{
    static_assert(pipe != PIPE_S, "PipeBarrier: the scalar pipe is ordered by itself");
    pypto_twin::on_barrier(pipe);
}

/* The event `src`_`dst` by its pipes. */
template <pipe_t src, pipe_t dst>
class TQueSync {
public:
    PYPTO_INLINE void SetFlag(TEventID id) { pypto_twin::on_set_flag(kEvent, id); }
    PYPTO_INLINE void WaitFlag(TEventID id) { pypto_twin::on_wait_flag(kEvent, id); }

private:
    static constexpr HardEvent Event()
    {
#define PYPTO_EVENT(a, b)                            \
    if (src == PIPE_##a && dst == PIPE_##b) {        \
        return HardEvent::a##_##b;                   \
    }
        PYPTO_EVENT(MTE2, V) PYPTO_EVENT(V, MTE2) PYPTO_EVENT(MTE3, V) PYPTO_EVENT(V, MTE3)
        PYPTO_EVENT(V, V) PYPTO_EVENT(MTE3, MTE2) PYPTO_EVENT(MTE2, MTE3) PYPTO_EVENT(S, V)
        PYPTO_EVENT(V, S) PYPTO_EVENT(S, MTE2) PYPTO_EVENT(MTE2, S) PYPTO_EVENT(S, MTE3)
        PYPTO_EVENT(MTE3, S) PYPTO_EVENT(MTE2, MTE1) PYPTO_EVENT(MTE1, MTE2) PYPTO_EVENT(MTE1, M)
        PYPTO_EVENT(M, MTE1) PYPTO_EVENT(MTE3, MTE1) PYPTO_EVENT(MTE1, MTE3) PYPTO_EVENT(MTE2, M)
        PYPTO_EVENT(M, MTE2) PYPTO_EVENT(M, FIX) PYPTO_EVENT(FIX, M) PYPTO_EVENT(MTE2, FIX)
        PYPTO_EVENT(FIX, MTE2) PYPTO_EVENT(FIX, S) PYPTO_EVENT(M, S) PYPTO_EVENT(FIX, MTE3)
        PYPTO_EVENT(MTE1, FIX) PYPTO_EVENT(FIX, MTE1) PYPTO_EVENT(FIX, FIX)
#undef PYPTO_EVENT
        return HardEvent::MAX;
    }
    static constexpr HardEvent kEvent = Event();
    static_assert(kEvent != HardEvent::MAX, "TQueSync: no event exists between these pipes");
};

template <MemDsbT memory>
PYPTO_INLINE void DataSyncBarrier()
{
}

/* The caches of a CPU are coherent. */
template <typename T, CacheLine line, DcciDst destination = DcciDst::CACHELINE_ALL>
PYPTO_INLINE void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor)
{
    pypto_twin::on_clean(tensor.GetPhyAddr(), line == CacheLine::ENTIRE_DATA_CACHE,
                         destination != DcciDst::CACHELINE_UB);
}
template <typename T, CacheLine line, DcciDst destination = DcciDst::CACHELINE_ALL>
PYPTO_INLINE void DataCacheCleanAndInvalid(const LocalTensor<T>&)
{
}

/* Returns when every AIV (isAIVOnly) or every core of the launch has called it. */
template <bool isAIVOnly = true>
PYPTO_INLINE void SyncAll()
{
    if (pypto_twin::on_sync_all(isAIVOnly)) {
        pypto_twin::sync_all(isAIVOnly);
        pypto_twin::after_sync_all(isAIVOnly);
    }
}

/* The software form: gm and ub are 32 bytes a core. All cores must take part here. */
template <bool isAIVOnly = true>
PYPTO_INLINE void SyncAll(const GlobalTensor<int32_t>& gm, const LocalTensor<int32_t>& ub,
                          int32_t usedCores = 0)
{
    static_assert(isAIVOnly, "SyncAll: the software form is for vector cores");
    const int64_t cores = pypto_twin::state().core->block_num * pypto_twin::state().core->sub_block_num;
    if (__builtin_expect(usedCores != 0 && usedCores != cores, 0)) {
        pypto_twin::fail("SyncAll: the twin synchronises all cores of a launch, not a part of them");
    }
    pypto_twin::on_soft_sync(gm.GetPhyAddr(), gm.GetSize() * 4, uint64_t{ub.GetSize()} * 4);
    SyncAll<isAIVOnly>();
}

/* mode 0: all cores of this kind, 1: the AIVs of a group, 2: AIC and AIVs of a group. */
template <uint8_t mode, pipe_t pipe>
PYPTO_INLINE void CrossCoreSetFlag(uint16_t flag)
{
    static_assert(mode <= 2, "CrossCoreSetFlag: the modes are 0, 1 and 2");
    static_assert(pipe != PIPE_S && pipe != PIPE_ALL, "CrossCoreSetFlag: not after this pipe");
    if (pypto_twin::on_cross_set(mode, pipe, flag)) {
        pypto_twin::state().core->cross_set(pypto_twin::state().core, mode, flag);
    }
}

/* The template arguments have no effect on this target: it blocks the whole core. */
template <uint8_t mode = 0, pipe_t pipe = PIPE_S>
PYPTO_INLINE void CrossCoreWaitFlag(uint16_t flag)
{
    if (pypto_twin::on_cross_wait(flag)) {
        pypto_twin::cross_wait(flag);
        pypto_twin::after_cross_wait(flag);
    }
}

}  // namespace AscendC

#endif
