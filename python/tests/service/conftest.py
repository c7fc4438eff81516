"""A client, and a runtime that the tests of one class of isolation share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from holt import AsyncHolt, AsyncRuntime


@pytest.fixture(scope="session")
async def holt(anyio_backend: str) -> AsyncIterator[AsyncHolt]:
    """The client of the service under test."""
    async with AsyncHolt() as client:
        yield client


@pytest.fixture(scope="session")
async def runtime(holt: AsyncHolt, isolation: str) -> AsyncIterator[AsyncRuntime]:
    """A runtime of each class. Tests use directories of their own."""
    async with await holt.runtimes.create(isolation=isolation, env={"CI": "1"}) as made:  # type: ignore[arg-type]
        yield made
