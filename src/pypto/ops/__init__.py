"""The operations: one :class:`~pypto.ops.spec.OpSpec` each, found through the registry."""
