"""The contract's entries: the header that has each, the tests of it, or why the twin lacks it.

Names are those of the instruction table (``data/instructions.json``); entries that are no
instructions, such as the methods of tensors and queues, follow. ``mark`` is the word that header
and test must contain: the name itself, unless several entries share it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that the twin has."""

    name: str
    header: str
    test: str
    mark: str


@dataclass(frozen=True, slots=True)
class Lacking:
    """An entry that the twin does not have."""

    name: str
    reason: str


def plain(name: str) -> str:
    """The callable behind a name: ``TPipe.InitBuffer`` is InitBuffer, ``SyncAll<true>`` SyncAll."""
    return re.split(r"[(<]", name)[0].rsplit(".", 1)[-1]


def _rows(header: str, test: str, names: str) -> tuple[Entry, ...]:
    return tuple(Entry(name, header, test, plain(name)) for name in names.split())


def _lacking(reason: str, *names: str) -> tuple[Lacking, ...]:
    return tuple(Lacking(name, reason) for name in names)


ENTRIES: tuple[Entry, ...] = (
    # elementwise
    *_rows(
        "vector.h",
        "test_vector_elementwise",
        "Add Sub Mul Max Min Div AddRelu SubRelu And Or Not Relu Abs Sqrt Rsqrt Reciprocal Adds "
        "Muls Maxs Mins LeakyRelu ShiftLeft ShiftRight",
    ),
    *_rows("vector.h", "test_vector_math", "Exp Ln FusedMulAdd MulAddRelu MulAddDst"),
    *_rows("vector.h", "test_vector_types", "Axpy"),
    *_rows("vector.h", "test_vector_rest", "FusedMulAddRelu"),
    *_rows("fused_cast.h", "test_vector_fused_cast", "AddReluCast SubReluCast MulCast AddDeqRelu"),
    *_rows("cast.h", "test_vector_cast", "Cast"),
    *_rows("core.h", "test_vector_cast", "SetDeqScale"),
    # fill, compare, select, gather
    *_rows("fill.h", "test_vector_select", "Duplicate Brcb CreateVecIndex Arange"),
    *_rows("fill.h", "test_vector_rest", "ArithProgression"),
    *_rows("fill.h", "test_core_rest", "Fill(GM) InitOutput InitGlobalMemory"),
    *_rows("copy.h", "test_core_copy", "Copy"),
    *_rows(
        "compare.h",
        "test_vector_select",
        "Compare Compare(register) Compares CompareScalar GetCmpMask SetCmpMask",
    ),
    *_rows(
        "select.h",
        "test_vector_select",
        "Select(tensor,tensor) Select(tensor,scalar) Select(register)",
    ),
    *_rows("gather.h", "test_vector_select", "Gather Gatherb GatherMask(pattern) GatherMask(bits)"),
    # transposing and sorting
    *_rows("transpose.h", "test_vector_sort", "Transpose TransDataTo5HD"),
    *_rows("sort.h", "test_vector_sort", "Sort32 MrgSort Concat Sort Extract"),
    *_rows("sort.h", "test_vector_sort", "GetSortLen GetSortOffset GetMrgSortResult"),
    # reductions
    *_rows("reduce_count.h", "test_vector_reduce", "ReduceMax ReduceMin ReduceSum"),
    *_rows(
        "reduce.h",
        "test_vector_reduce",
        "WholeReduceMax WholeReduceMin WholeReduceSum BlockReduceMax BlockReduceMin BlockReduceSum "
        "PairReduceSum RepeatReduceSum ReduceRepeat<SUM> ReduceDataBlock<SUM> ReduceRepeat<MAX> "
        "ReduceDataBlock<MAX> ReduceRepeat<MIN> ReduceDataBlock<MIN> ReducePairElem<SUM>",
    ),
    *_rows("scalar.h", "test_vector_rest", "GetReduceRepeatSumSpr GetReduceRepeatMaxMinSpr"),
    # movement
    Entry("DataCopy(GM->UB)", "move.h", "test_core_copy", "DataCopyParams"),
    Entry("DataCopy(UB->GM)", "move.h", "test_core_copy", "DataCopyParams"),
    Entry("DataCopy(UB->UB)", "move.h", "test_core_copy", "DataCopyParams"),
    Entry("DataCopyPad(GM->UB)", "move.h", "test_core_copy", "DataCopyPadExtParams"),
    Entry("DataCopyPad(UB->GM)", "move.h", "test_core_copy", "DataCopyExtParams"),
    *_rows("move.h", "test_core_copy", "SetPadValue"),
    *_rows("atomic.h", "test_core_copy", "SetAtomicAdd SetAtomicMax SetAtomicMin SetAtomicNone"),
    *_rows("atomic.h", "test_core_scalar", "AtomicAdd(scalar)"),
    # the cube unit
    Entry("DataCopy(GM->L1)", "move.h", "test_cube_load", "DataCopy"),
    Entry("DataCopy(L1->GM)", "move.h", "test_cube_load", "DataCopy"),
    Entry("DataCopy(L1->C2)", "move.h", "test_cube_load", "DataCopyParams"),
    Entry("DataCopy(L1->C2PIPE2GM)", "move.h", "test_cube_load", "DataCopyParams"),
    Entry("DataCopy(L1->C2 convert)", "cube_load.h", "test_cube_load", "DataCopyParams"),
    Entry("DataCopy(nd2nz GM->L1)", "cube_load.h", "test_cube_load", "Nd2NzParams"),
    Entry("DataCopy(nz2nd UB->GM)", "cube_load.h", "test_cube_load", "Nz2NdParamsFull"),
    Entry("LoadData2D(L1->L0)", "cube_load.h", "test_cube_load", "LoadData2DParams"),
    Entry("LoadData2D(GM->L1)", "cube_load.h", "test_cube_load", "LoadData2DParams"),
    Entry("LoadData3DV2(L1->L0)", "cube_load.h", "test_cube_load", "LoadData3DParamsV2"),
    Entry("LoadDataRepeat", "cube_load.h", "test_cube_load", "SetLoadDataRepeat"),
    *_rows(
        "cube_load.h",
        "test_cube_load",
        "LoadDataWithTranspose Fill(L1/L0) SetLoadDataBoundary SetLoadDataPaddingValue SetFmatrix",
    ),
    *_rows("cube_mmad.h", "test_cube_mmad", "Mmad Mmad(bias) SetHF32Mode SetHF32TransMode"),
    Entry("Fixpipe(L0C->GM)", "cube_fixpipe.h", "test_cube_fixpipe", "Fixpipe"),
    Entry("Fixpipe(L0C->GM,vector quant)", "cube_fixpipe.h", "test_cube_fixpipe", "Fixpipe"),
    Entry("Fixpipe(L0C->L1)", "cube_fixpipe.h", "test_cube_fixpipe", "Fixpipe"),
    # adv_api
    *_rows(
        "adv_math.h",
        "test_vector_math",
        "Tanh Sinh Atanh Cosh Asin Acos Asinh Acosh Atan Sin Cos Tan Erf Erfc Log2 Floor Ceil "
        "Trunc Round Frac Sign Exp(adv) Log Log10 ClampMax ClampMin Power(tensor,tensor) "
        "Power(tensor,scalar) Power(scalar,tensor)",
    ),
    *_rows("adv_math.h", "test_vector_rest", "Fmod Xor CumSum"),
    *_rows("activation.h", "test_vector_math", "Sigmoid Gelu Silu"),
    *_rows("activation.h", "test_vector_rest", "FasterGelu Swish GeGLU SwiGLU ReGlu"),
    # the scalar unit
    *_rows("sync.h", "test_core_interface", "DataCacheCleanAndInvalid DataSyncBarrier TQueSync"),
    *_rows("scalar.h", "test_core_scalar", "ReadGmByPassDCache WriteGmByPassDCache"),
    *_rows(
        "tensor.h", "test_core_interface", "GetValue(UB) SetValue(UB) GetValue(GM) SetValue(GM)"
    ),
    *_rows("core.h", "test_core_copy", "SetMaskCount SetMaskNorm ResetMask SetVectorMask"),
    # order
    *_rows("sync.h", "test_core_interface", "SetFlag WaitFlag SyncAll(soft)"),
    *_rows("sync.h", "test_core_kernels", "PipeBarrier"),
    *_rows(
        "sync.h",
        "test_core_sync",
        "SyncAll<true> SyncAll<false> CrossCoreSetFlag CrossCoreWaitFlag",
    ),
    *_rows(
        "pipe.h",
        "test_core_kernels",
        "TPipe.AllocEventID TPipe.ReleaseEventID TPipe.FetchEventID TPipe.InitBuffer "
        "TQue.AllocTensor TQue.EnQue TQue.DeQue TQue.FreeTensor TBuf.Get",
    ),
    *_rows("core.h", "test_core_kernels", "InitSocState"),
    # what is no instruction: the file and the core
    *_rows("core.h", "test_core_sync", "GetBlockNum GetBlockIdx GetSubBlockIdx GetSubBlockNum"),
    *_rows("core.h", "test_core_sync", "ASCEND_IS_AIV ASCEND_IS_AIC block_idx"),
    *_rows("core.h", "test_core_interface", "GetTaskRatio block_num sub_block_idx"),
    *_rows("core.h", "test_core_rest", "GetTaskRation"),
    *_rows("types.h", "test_core_interface", "KERNEL_TASK_TYPE_DEFAULT __schedmode__"),
    *_rows("types.h", "test_core_scalar", "GetDataBlockSizeInBytes CeilDivision"),
    *_rows("scalar.h", "test_core_interface", "GetSystemCycle printf DumpTensor ascendc_assert"),
    # tensors, queues, buffers
    *_rows(
        "tensor.h",
        "test_core_interface",
        "GlobalTensor.SetGlobalBuffer LocalTensor.GetSize LocalTensor.GetPhyAddr SetL2CacheHint "
        "GlobalTensor.SetShapeInfo LocalTensor.GetPosition LocalTensor.ReinterpretCast",
    ),
    *_rows(
        "tensor.h",
        "test_core_rest",
        "GlobalTensor.GetShapeInfo LocalTensor.SetSize LocalTensor.SetBufferLen",
    ),
    *_rows(
        "pipe.h",
        "test_core_interface",
        "TQueBind VacantInQue HasTensorInQue GetTensorCountInQue HasIdleBuffer FreeAllEvent "
        "TBuf.GetWithOffset",
    ),
    *_rows("pipe.h", "test_core_kernels", "LocalMemAllocator TPipe.Reset"),
    *_rows("pipe.h", "test_core_rest", "TPipe.Init TPipe.Destroy GetCurAddr"),
    *_rows("atomic.h", "test_core_scalar", "AtomicMax"),
    *_rows("atomic.h", "test_core_rest", "DisableDmaAtomic AtomicMin AtomicCas AtomicExch"),
    *_rows("cube_load.h", "test_cube_load", "InitConstValue"),
    # scalars
    *_rows("scalar.h", "test_core_scalar", "ScalarCast GetBitCount CountLeadingZero GetSFFValue"),
    *_rows("scalar.h", "test_core_rest", "ToBfloat16 ToFloat"),
    Entry("Std::min", "scalar.h", "test_core_rest", "Std"),
    Entry("Std::max", "scalar.h", "test_core_rest", "Std"),
)

_TILED = "the package writes it in basic instructions; needs a tiling struct from the host"
_NORM = "the contract names it and gives neither signature nor tiling struct"
_UNIT = "belongs to DataCopy with DataCopyCO12DstParams, of which the contract gives no fields"
_WRITTEN = "the package writes it in basic instructions"

LACKING: tuple[Lacking, ...] = (
    *_lacking(_TILED, "SoftMax", "SoftMax(no sum/max)", "LayerNorm", "RmsNorm", "TopK"),
    *_lacking(
        _NORM,
        *"SimpleSoftMax LogSoftMax BatchNorm DeepNorm GroupNorm Normalize LayerNormGrad".split(),
        *"LayerNormGradBeta WelfordUpdate WelfordFinalize SoftmaxFlashV2 SoftmaxFlashV3".split(),
        *"SoftmaxGrad SoftmaxGradFront AdjustSoftMaxRes Pad UnPad Transpose(tiling)".split(),
        *"TransData DropOut SelectWithBytesMask AscendAntiQuant ReduceXorSum".split(),
    ),
    *_lacking(_UNIT, "SetFixpipeNz2ndFlag", "SetFixpipePreQuantFlag", "SetFixPipeConfig"),
    *_lacking(
        _WRITTEN,
        *"ReduceMax(2d) ReduceMin(2d) ReduceSum(2d) ReduceMean(2d) ReduceProd(2d)".split(),
        *"ReduceAny(2d) ReduceAll(2d) Sum Mean Broadcast(axis0) Broadcast(axis1)".split(),
        *"AscendQuant AscendDequant(tensor) AscendDequant(scalar) Axpy(adv)".split(),
    ),
    Lacking("FasterGeluV2", "the contract says that it is another approximation, not which"),
    *_lacking("no operation of the package needs it", "Lgamma", "Digamma", "CastDequant"),
    Lacking("DataCopy(UB->L1)", "no path of the hardware: a message to a Matmul object"),
    Lacking("Matmul object", "a library of its own; the package writes the cube's instructions"),
    # what is no instruction
    *_lacking("exists in the custom-operator build only", "GET_TILING_DATA", "TILING_KEY_IS"),
    *_lacking(
        "needed by the Matmul object only", "GetSysWorkSpacePtr", "SetSysWorkSpace"
    ),
    *_lacking("the contract says that they are not needed", "IBSet", "IBWait"),
    Lacking("DataCopyEnhancedParams", "paths of other chips"),
    *_lacking("the contract gives no fields", "DataCopyCO12DstParams", "SliceInfo"),
    Lacking("operator forms", "dst = a + b on whole tensors: the contract says not to need them"),
)  # fmt: skip
