"""The description of a template, and its build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._callbacks import tell
from .._io.async_parts import in_thread
from .._options import Seconds
from .._template.description import TemplateDescription
from .build import AsyncBuild
from .wait_for_build import OnLog, OnStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._models.template import DockerfileCheck
    from .client import AsyncHolt
    from .._tree.transfer import OnTransfer

    OnSkipped = Callable[[str, str], object]
    """A callback for the path of an entry that cannot be sent, with the reason."""


class AsyncTemplate(TemplateDescription):
    """Describes a template step by step, and builds it.

    Begin with `from_image`, `from_dockerfile`, `from_template` or `from_snapshot`. Each call
    returns a new description, so that one can be the base of several.

        template = AsyncTemplate.from_image("python:3.12-slim").run("pip install flask")
        build = await template.build_and_wait()
    """

    async def build(
        self,
        *,
        client: AsyncHolt | None = None,
        on_upload: OnTransfer | None = None,
        on_skipped: OnSkipped | None = None,
    ) -> AsyncBuild:
        """Sends the context, if there is one, starts the build and returns at once.

        Args:
            client: The client. Default: one that finds the service as `AsyncHolt()` does.
            on_upload: Called with the progress of the context's upload.
            on_skipped: Called for paths of the context that cannot be sent, such as sockets.
        """
        body, context = await in_thread(self._request)
        builds = _client_or_default(client).builds
        if context is not None:
            sent = await builds.upload_context(
                context.directory, dockerfile=context.dockerfile, only=context.only, on_progress=on_upload
            )
            body["context_id"] = sent.context_id
            if on_skipped is not None:
                for one in sent.skipped:
                    tell(on_skipped, one.path, one.reason)
        return await builds.create(body)

    async def build_and_wait(
        self,
        *,
        client: AsyncHolt | None = None,
        timeout_secs: Seconds | None = None,
        on_log: OnLog | None = None,
        on_status: OnStatus | None = None,
        on_upload: OnTransfer | None = None,
        on_skipped: OnSkipped | None = None,
    ) -> AsyncBuild:
        """Builds, and waits until the template is ready.

        A build that fails or is cancelled is a `BuildFailed`, with its step and its last output.

        Args:
            client: The client. Default: one that finds the service as `AsyncHolt()` does.
            timeout_secs: The time limit of the wait, after the context was sent. After it the
                error is a `Timeout`, and the build continues. Default: no limit.
            on_log: Called for each line of the log, from the first. `print` prints the lines.
            on_status: Called with the build at first, and whenever its status or a step changes.
            on_upload: Called with the progress of the context's upload.
            on_skipped: Called for paths of the context that cannot be sent, such as sockets.
        """
        build = await self.build(client=client, on_upload=on_upload, on_skipped=on_skipped)
        return await build.wait(timeout_secs=timeout_secs, on_log=on_log, on_status=on_status)

    async def check(self, *, client: AsyncHolt | None = None) -> DockerfileCheck:
        """Returns for each line of the Dockerfile if a build follows, ignores or refuses it.

        Builds nothing.
        """
        file = await in_thread(self._dockerfile)
        fields = self._spec.fields
        templates = _client_or_default(client).templates
        return await templates.check(file.text, build_args=fields.get("build_args"), target=fields.get("target"))


def _client_or_default(given: object) -> AsyncHolt:
    from .client import AsyncHolt

    if given is None:
        client = AsyncHolt()
        client._transport.keep_no_connections()
        return client
    if not isinstance(given, AsyncHolt):
        raise TypeError(f"client must be of the class AsyncHolt, not {type(given).__name__}")
    return given
