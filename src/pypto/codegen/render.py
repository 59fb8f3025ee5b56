"""Views to text: the Jinja environment. Nothing is decided in a template."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pypto.codegen.views import KernelView, WrapperView

if TYPE_CHECKING:
    import jinja2

__all__ = ["keep_templates", "render_cpu_wrapper", "render_kernel", "template_directory"]


def template_directory() -> Path:
    """Where the templates are installed."""
    return Path(__file__).parent.parent / "templates"


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_directory()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        autoescape=False,
        auto_reload=False,
    )
    return environment


def keep_templates(store: jinja2.BytecodeCache) -> None:
    """Take compiled templates from ``store``, and put there what had to be compiled.

    Compiling them takes longer than the rest of the code generation.
    """
    _environment().bytecode_cache = store


def render_kernel(view: KernelView) -> str:
    """The Ascend C text of a kernel."""
    return _tidy(_environment().get_template("kernel.cpp.j2").render(kernel=view))


def render_cpu_wrapper(views: tuple[WrapperView, ...]) -> str:
    """The launch code of one binary that holds the kernels of ``views``."""
    return _tidy(_environment().get_template("wrapper_cpu.cpp.j2").render(kernels=views))


def _tidy(text: str) -> str:
    """Drop trailing blanks, runs of blank lines and blank lines around braces."""
    out: list[str] = []
    for line in (raw.rstrip() for raw in text.split("\n")):
        opens = not out or (
            out[-1].endswith(("{", "public:", "private:")) and "namespace" not in out[-1]
        )
        if not line and (opens or not out[-1]):
            continue
        if line.strip().startswith("}") and out and not out[-1] and "namespace" not in line:
            out.pop()
        out.append(line)
    while out and not out[-1]:
        out.pop()
    return "\n".join(out) + "\n"
