"""Fixtures of the mutation check."""

from tests.twin.conftest import twin

__all__ = ["twin"]
