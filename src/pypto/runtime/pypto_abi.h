/* The binary interface between a compiled kernel, the CPU runtime library and the launcher.
 *
 * Plain C, no includes beyond stdint: kernels include it through the twin, the launcher and the
 * runtime library directly. Change PYPTO_ABI_VERSION with any change of layout or meaning.
 */
#ifndef PYPTO_ABI_H
#define PYPTO_ABI_H

#include <stdint.h>

#define PYPTO_ABI_VERSION 5u

#ifdef __cplusplus
extern "C" {
#endif

/* Kernel kinds, by the core streams that one launched block consists of. */
enum PyptoKind {
    PYPTO_VECTOR = 0,  /* __vector__: one AIV stream a block, no synchronisation between blocks */
    PYPTO_CUBE = 1,    /* __cube__: one AIC stream a block */
    PYPTO_MIX_0_1 = 2, /* __mix__(0,1): one AIV stream a block, SyncAll allowed */
    PYPTO_MIX_1_0 = 3,
    PYPTO_MIX_1_1 = 4,
    PYPTO_MIX_1_2 = 5 /* one AIC and two AIV streams a block */
};

enum { PYPTO_COUNTERS = 16 };

/* Indices of PyptoCore.counters, kept by the counting build of the twin only. */
enum PyptoCounter {
    PYPTO_COUNT_GM_TO_UB = 0, /* bytes */
    PYPTO_COUNT_UB_TO_GM = 1, /* bytes */
    PYPTO_COUNT_VECTOR = 2,   /* vector instructions issued */
    PYPTO_COUNT_COPY = 3,     /* copy instructions issued */
    PYPTO_COUNT_BARRIER = 4,  /* PipeBarrier */
    PYPTO_COUNT_SYNC_ALL = 5,
    PYPTO_COUNT_UB_PEAK = 6 /* highest UB byte handed out by a TPipe, a maximum over streams */
};

/* One stream (an AIV or AIC core of the launch) as the twin sees it. */
typedef struct PyptoCore PyptoCore;
struct PyptoCore {
    uint8_t* ub;           /* on-chip memory of this stream alone, 4096-byte aligned: the UB of an
                              AIV (196608 bytes), L1, L0A, L0B, L0C, ... of an AIC (1 MiB) */
    int64_t block_idx;     /* what GetBlockIdx() returns */
    int64_t block_num;     /* what GetBlockNum() returns */
    int64_t sub_block_idx; /* 0 or 1 */
    int64_t sub_block_num; /* AIVs per group as GetSubBlockNum() returns it */
    int32_t is_cube;       /* 1 on an AIC stream */
    uint32_t flags;        /* PyptoLaunchFlags of the launch */
    void (*sync_all)(PyptoCore*, int32_t aiv_only); /* returns when every stream has called it */
    void* owner;           /* the runtime's own */
    uint64_t counters[PYPTO_COUNTERS];
    void (*cross_set)(PyptoCore*, int32_t mode, int32_t flag); /* CrossCoreSetFlag */
    void (*cross_wait)(PyptoCore*, int32_t flag);              /* CrossCoreWaitFlag */
    void (*stop)(PyptoCore*); /* ends the stream where it stands and does not return; only in
                                 launches with `stuck` */
    uint32_t held;    /* in launches with `stuck`: not 0 while the stream must not be left where it
                         stands, as it holds what others need */
    uint32_t expired; /* set by the runtime: the stream has used up its time and is to stop itself */
};

enum PyptoLaunchFlags {
    PYPTO_STREAM_STORES = 1u /* traffic exceeds the caches: write GM past them */
};

enum { PYPTO_FAULT_DEPTH = 6 };

/* Why a stream of a launch with `stuck` could not go on. */
enum PyptoFaultKind {
    PYPTO_FAULT_DIVISION = 1, /* of integers: by zero, or without a result */
    PYPTO_FAULT_MEMORY = 2,   /* there is none at `address` */
    PYPTO_FAULT_STACK = 3,    /* more of it than a stream has */
    PYPTO_FAULT_TRAP = 4,     /* an instruction that is none */
    PYPTO_FAULT_TIME = 5      /* PYPTO_TWIN_TIMEOUT */
};

typedef struct PyptoFault {
    uint32_t kind;       /* enum PyptoFaultKind */
    const void* address; /* all bits set where it is not known */
    const void* stack[PYPTO_FAULT_DEPTH]; /* return addresses, innermost first; then null */
} PyptoFault;

typedef struct PyptoLaunch {
    void (*stream)(PyptoCore* core, const void* frame); /* runs one stream from start to end */
    const void* frame; /* pointers and arguments, as the kernel's wrapper laid them out */
    uint32_t blocks;   /* >= 1 */
    uint32_t kind;     /* enum PyptoKind */
    uint32_t flags;    /* PyptoLaunchFlags */
    /* Null, or: the streams run on the calling thread alone, in their order, each until it waits,
     * whatever the kind says of synchronisation. When those that are left wait for ever, this is
     * called for each, which then ends there. */
    void (*stuck)(PyptoCore* core);
    /* Called in a launch with `stuck` when a stream has ended by a fault, outside of the stream. */
    void (*fault)(PyptoCore* core, const PyptoFault* fault);
} PyptoLaunch;

/* Services of the CPU runtime library. One static table per process. */
typedef struct PyptoRuntime {
    uint32_t abi_version;
    uint32_t workers;  /* threads a launch may use, the caller included; >= 1 */
    uint64_t l1_bytes; /* data cache of one core */
    uint64_t l2_bytes; /* second level cache of one core */
    uint64_t llc_bytes;
    void (*launch)(const PyptoLaunch* launch); /* returns when all streams are done */
    void* (*workspace)(uint64_t bytes);        /* growing arena of the calling thread, 512-byte
                                                  aligned; valid until its next call */
    uint32_t (*blocks)(double work);           /* how many blocks a launch of so many nanoseconds
                                                  of one core is best cut into */
} PyptoRuntime;

/* One call of a kernel, filled by the launcher. */
typedef struct PyptoCall {
    void* const* tensors; /* data pointers of the tensor parameters, in order */
    const int64_t* ints;  /* sizes and int arguments, in the order of the entry's metadata */
    const double* floats; /* float arguments, likewise */
} PyptoCall;

/* Result of PyptoKernel.run: PYPTO_OK, or PYPTO_PRECONDITION + index of the failed condition.
 * PYPTO_UNLAWFUL: it ran, and the checked twin has found rules of the device broken. */
enum { PYPTO_OK = 0, PYPTO_OVERFLOW = 1, PYPTO_DIVISION = 2, PYPTO_UNLAWFUL = 3, PYPTO_PRECONDITION = 16 };

/* Exported by a kernel's binary under the symbol that its metadata names. */
typedef struct PyptoKernel {
    uint32_t abi_version;
    int32_t (*run)(const PyptoRuntime* runtime, const PyptoCall* call);
} PyptoKernel;

#ifdef __cplusplus
}
#endif

#endif
