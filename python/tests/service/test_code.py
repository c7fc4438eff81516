"""Code in a runtime whose template has no interpreter."""

from __future__ import annotations

import pytest
from holt import AsyncRuntime
from holt.errors import CodeInterpreterMissing

pytestmark = pytest.mark.anyio


async def test_a_template_without_an_interpreter_is_told_apart(runtime: AsyncRuntime) -> None:
    with pytest.raises(CodeInterpreterMissing) as raised:
        await runtime.code.run("1")
    assert "code-interpreter" in str(raised.value.hint)
    with pytest.raises(CodeInterpreterMissing):
        await runtime.code.contexts.create()
    with pytest.raises(CodeInterpreterMissing):
        await runtime.code.contexts.get("default-python")
