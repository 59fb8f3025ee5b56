"""Compiled templates in the cache: a new process that compiles a kernel does not parse them."""

from __future__ import annotations

import base64
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2
    from jinja2.bccache import Bucket

    from pypto.build.memo import Memo

__all__ = ["kept_templates"]


def kept_templates(memo: Memo) -> jinja2.BytecodeCache:
    """A store for Jinja's compiled templates in ``memo``.

    A record is named by the template's place and text, the versions of Python and Jinja; the memo
    has a checksum for each, so a damaged one is compiled again. Imports Jinja.
    """
    import jinja2

    versions = f"{sys.implementation.cache_tag} {sys.hexversion:x} {jinja2.__version__}"

    class KeptTemplates(jinja2.BytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            text = memo.get(_topic(bucket), ())
            if text is not None:
                bucket.bytecode_from_string(base64.b64decode(text))

        def dump_bytecode(self, bucket: Bucket) -> None:
            memo.put(_topic(bucket), (), base64.b64encode(bucket.bytecode_to_string()).decode())

    def _topic(bucket: Bucket) -> str:
        return f"template\0{versions}\0{bucket.key}\0{bucket.checksum}"

    return KeptTemplates()
