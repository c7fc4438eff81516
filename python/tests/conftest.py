"""The service under test, its classes of isolation, and the backends of the asynchronous client."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

root = Path(__file__).parent.parent
sys.path[:0] = [str(root), str(root / "tests")]

import hatch_build  # noqa: E402

# The tests of the synchronous client are made of those of the asynchronous one, as it is itself.
hatch_build.generate(root, "tests/service", "tests/_sync")

CLASSES = [name for name in os.environ.get("HOLT_TEST_CLASSES", "").split(",") if name]


def pytest_configure(config: pytest.Config) -> None:
    """Refuses to run without a service: a suite that skips its tests says nothing."""
    if not os.environ.get("HOLT_URL"):
        raise pytest.UsageError("FIX: run scripts/test-python.sh, or set HOLT_URL, HOLT_API_KEY and HOLT_TEST_CLASSES")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The backend of the asynchronous tests."""
    return "asyncio"


@pytest.fixture(scope="session", params=CLASSES or ["none"])
def isolation(request: pytest.FixtureRequest) -> str:
    """Each class of isolation that the service has."""
    return request.param
