"""``pypto.distributed``: memory shared by devices, which kernels here do not reach."""

from __future__ import annotations

from pypto.language.elsewhere import (
    create_shmem_signal,
    create_shmem_tensor,
    my_symbolic_pe,
    shmem_barrier_all,
    shmem_clear_data,
    shmem_clear_signal,
    shmem_get,
    shmem_put,
    shmem_signal,
    shmem_view,
    shmem_wait_until,
)

__all__ = [
    "create_shmem_signal",
    "create_shmem_tensor",
    "my_symbolic_pe",
    "shmem_barrier_all",
    "shmem_clear_data",
    "shmem_clear_signal",
    "shmem_get",
    "shmem_put",
    "shmem_signal",
    "shmem_view",
    "shmem_wait_until",
]
