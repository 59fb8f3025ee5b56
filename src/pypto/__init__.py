"""pypto: Ascend NPU kernels in Python."""
