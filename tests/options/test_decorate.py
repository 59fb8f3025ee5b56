"""``@pypto.options`` on functions whose body runs in steps, and on what it does not decorate."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest

import pypto
from pypto.error import FeTypeError

STAGE_2: dict[str, Any] = {"host_options": {"compile_stage": 2}}


def _stage() -> int:
    return int(pypto.get_host_options()["compile_stage"])


def test_a_generator_runs_in_the_scope_and_its_caller_does_not() -> None:
    @pypto.options(**STAGE_2)
    def stages() -> Generator[int, int, str]:
        sent = yield _stage()
        assert sent == 5
        pypto.set_host_options(compile_stage=3)
        try:
            yield _stage()
        except ValueError:
            yield _stage() + 10
        return f"left in {_stage()}"

    assert inspect.isgeneratorfunction(stages)
    body = stages()
    outside = pypto._options.epoch()
    assert (next(body), _stage()) == (2, 0)
    with pypto.options(host_options={"compile_stage": 1}):
        assert (body.send(5), _stage()) == (3, 1)
    assert (body.throw(ValueError()), _stage()) == (13, 0)
    with pytest.raises(StopIteration, match="left in 3"):
        next(body)
    assert _stage() == 0 and pypto._options.epoch() == outside


def test_a_generator_that_is_closed_ends_in_the_scope() -> None:
    seen = []

    @pypto.options(**STAGE_2)
    def stages() -> Iterator[int]:
        try:
            yield _stage()
        finally:
            seen.append(_stage())

    body = stages()
    next(body)
    body.close()  # type: ignore[attr-defined]
    assert seen == [2] and _stage() == 0


def test_coroutines_keep_their_own_scopes() -> None:
    async def inner() -> int:
        await asyncio.sleep(0)
        return _stage()

    def made(stage: int) -> Any:
        @pypto.options(host_options={"compile_stage": stage})
        async def outer() -> tuple[int, int]:
            await asyncio.sleep(0)
            return await inner(), _stage()

        return outer

    async def main() -> None:
        one, two = made(1), made(2)
        assert inspect.iscoroutinefunction(one)
        assert await one() == (1, 1)
        assert _stage() == 0
        assert list(await asyncio.gather(one(), two(), one())) == [(1, 1), (2, 2), (1, 1)]

    asyncio.run(main())


def test_asynchronous_generators() -> None:
    seen = []

    @pypto.options(**STAGE_2)
    async def stages() -> AsyncIterator[int]:
        try:
            for extra in (10, 20):
                await asyncio.sleep(0)
                yield _stage() + extra
        finally:
            await asyncio.sleep(0)
            seen.append(_stage())

    async def main() -> None:
        assert inspect.isasyncgenfunction(stages)
        assert [(item, _stage()) async for item in stages()] == [(12, 0), (22, 0)]
        body: Any = stages()
        assert await anext(body) == 12
        await body.aclose()
        body = stages()
        await anext(body)
        with pytest.raises(ValueError, match="thrown"):
            await body.athrow(ValueError("thrown"))
        assert seen == [2, 2, 2] and _stage() == 0

    asyncio.run(main())


def test_objects_that_are_called() -> None:
    class Stages:
        def __call__(self, count: int) -> Iterator[int]:
            for _ in range(count):
                yield _stage()

    decorated: Any = pypto.options(**STAGE_2)(Stages())
    assert list(decorated(2)) == [2, 2]
    assert list(pypto.options(**STAGE_2)(functools.partial(decorated, 1))()) == [2]


def test_classes_are_refused() -> None:
    with pytest.raises(FeTypeError) as caught:

        @pypto.options(**STAGE_2)
        class Model:
            def with_options(self) -> None: ...

    assert str(caught.value).replace(__name__, "M") == (
        "ErrCode: F00001  pypto.options decorates functions and kernels, not classes\n"
        "  expected  function\n"
        "  got       <class 'M.test_classes_are_refused.<locals>.Model'> (type)\n"
        "  help: decorate its methods, or put `with pypto.options(...):` around what calls them"
    )
