"""The description of a template, step by step."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .._bodies import Size, WantedPolicy
from .._options import Seconds, given, nullable, seconds, text_of
from ..errors import InvalidRequest
from .context_tree import WantedContext
from .dockerfile import Dockerfile, LocalPath, is_dockerfile_text, read_dockerfile, reads_context

if TYPE_CHECKING:
    from typing_extensions import Self

SourceField = Literal["from_image", "from_template", "from_snapshot", "dockerfile"]
"""The field that names the base of a template."""

_not_in_name = ("build_secrets", "registry_auth", "no_cache", "timeout_secs", "ready_timeout_secs", "tag")
"""The fields that do not change the default name."""


@dataclass(frozen=True)
class Spec:
    """The description of a template so far."""

    source: SourceField
    base: LocalPath
    """The reference of the base, or the text or path of a Dockerfile."""
    context: LocalPath | None = None
    steps: tuple[dict[str, Any], ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])


class TemplateDescription:
    """Describes a template step by step.

    Each call returns a new description, so that one can be the base of several.
    """

    def __init__(self, spec: Spec | None = None) -> None:
        """Refuses a description without a base. Begin with `from_image` or one of its siblings."""
        if not isinstance(spec, Spec):
            name = type(self).__name__
            raise TypeError(f"Begin with a base, such as {name}.from_image(...) or {name}.from_template(...)")
        self._spec = spec

    @classmethod
    def from_image(cls, reference: str) -> Self:
        """Begins with a container image, such as `python:3.12-slim`."""
        return cls(Spec("from_image", reference))

    @classmethod
    def from_template(cls, reference: str) -> Self:
        """Begins with a template, by name, `name:tag` or id."""
        return cls(Spec("from_template", reference))

    @classmethod
    def from_snapshot(cls, reference: str) -> Self:
        """Begins with the files and template settings of a filesystem snapshot, by name or id."""
        return cls(Spec("from_snapshot", reference))

    @classmethod
    def from_dockerfile(
        cls, text_or_path: LocalPath, *, context: LocalPath | None = None, target: str | None = None
    ) -> Self:
        """Follows a Dockerfile, given as its text or its path.

        Args:
            text_or_path: A text has several lines or begins with FROM, ARG or a comment.
            context: The directory that COPY and ADD read. Default: the directory of the
                Dockerfile. A text has no default.
            target: The last stage to build. Default: the last stage of the file.
        """
        return cls(Spec("dockerfile", text_or_path, context, fields=given(target=target)))

    def name(self, name: str) -> Self:
        """Sets the name, or `name:tag`.

        Default: a name from a hash of the description. The same description replaces its template.
        """
        bare, *tags = name.split(":")
        if len(tags) > 1:
            raise InvalidRequest(f"{name} is not a name or name:tag", hint="Leave out all but one colon.")
        return self._set(name=bare, tag=tags[0] if tags else None)

    def tag(self, tag: str) -> Self:
        """Sets the tag. Default: `latest`."""
        return self._set(tag=tag)

    def context(self, directory: LocalPath) -> Self:
        """Sets the local directory that `copy`, or COPY of a Dockerfile, reads.

        Default: the current one, and for a Dockerfile its own.
        """
        return self._with(context=directory)

    def run(self, *commands: str) -> Self:
        """Runs a command with the shell. Several commands are joined by `&&`."""
        return self._step(run=" && ".join(text_of(command, "The command of run") for command in commands))

    def copy(
        self,
        source: LocalPath | Sequence[LocalPath],
        destination: str,
        *,
        chown: str | None = None,
        chmod: str | None = None,
    ) -> Self:
        """Copies files and the content of directories of the context, as COPY does.

        Args:
            source: One or more paths below the context. Patterns with `*` are allowed.
            destination: The path in the image. With several sources it ends with `/`.
            chown: The owner: a user, or `user:group`. Default: root.
            chmod: The mode, such as `755` or `u+rwX,g=r`. Default: that of the source.
        """
        paths = (
            _source_text(source)
            if isinstance(source, (str, os.PathLike))
            else [_source_text(one) for one in source]
        )
        return self._step(copy=given(source=paths, destination=destination, chown=chown, chmod=chmod))

    def env(self, variables: Mapping[str, str] | None = None, /, **more: str) -> Self:
        r"""Sets variables for later steps and for runtimes: `.env(DEBUG="1")`.

        Values may use earlier ones, as in `/opt/bin:$PATH`; `\$` is a dollar. Without a Dockerfile,
        PATH, HOME, HOSTNAME, SHELL, USER and LOGNAME apply to the steps only.
        """
        return self._step(env={**(variables or {}), **more})

    def runtime_env(self, variables: Mapping[str, str] | None = None, /, **more: str) -> Self:
        """Sets variables of runtimes, over the image's.

        Values are literal, and no step sees them.
        """
        return self._merge("env", {**(variables or {}), **more})

    def workdir(self, path: str) -> Self:
        """Sets the directory of later steps and of runtimes. A missing directory is made."""
        return self._step(workdir=path)

    def user(self, user: str) -> Self:
        """Sets the user of later steps and of runtimes."""
        return self._step(user=user)

    def start_cmd(self, command: str) -> Self:
        """Sets the command that is started in the finished image. It runs when a runtime begins."""
        return self._set(start_cmd=command)

    def ready_cmd(self, command: str, *, timeout_secs: Seconds | None = None) -> Self:
        """Sets a command that is repeated until it exits 0. Then the start command is ready.

        `timeout_secs` is the most time for that. Default: 600.
        """
        limit = None if timeout_secs is None else seconds(timeout_secs)
        return self._set(ready_cmd=command, ready_timeout_secs=limit)

    def on_restore(self, command: str) -> Self:
        """Sets a command that runs in each new runtime before it is handed over."""
        return self._set(on_restore=command)

    def disk(self, size: Size) -> Self:
        """Sets the disk of runtimes: GiB, or text such as `8GiB`. The image must fit."""
        return self._set(disk=size)

    def cpu(self, vcpus: float) -> Self:
        """Sets the vCPUs of runtimes."""
        return self._set(cpu=vcpus)

    def memory(self, size: Size) -> Self:
        """Sets the memory of runtimes: GiB, or text such as `512MiB`."""
        return self._set(memory=size)

    def network_policy(self, policy: WantedPolicy) -> Self:
        """Sets the destinations of the build's own steps. Default: the public Internet.

        A stored policy by name or id, one written out, or None for none.
        """
        return self._with(fields={**self._spec.fields, **nullable(network_policy=policy)})

    def build_arg(self, name: str, value: str) -> Self:
        """Sets the value of an ARG."""
        return self._merge("build_args", {name: value})

    def build_secret(self, id: str, value: str) -> Self:
        """Sets the value for a `RUN --mount=type=secret,id=ID`. No result contains it."""
        return self._merge("build_secrets", {id: value})

    def registry_auth(self, username: str, password: str, *, registry: str | None = None) -> Self:
        """Sets the login for a registry. Default: the registry of the base image."""
        return self._set(registry_auth=given(username=username, password=password, registry=registry))

    def timeout(self, timeout_secs: Seconds) -> Self:
        """Sets the time limit of the build. Default: an hour."""
        return self._set(timeout_secs=seconds(timeout_secs))

    def no_cache(self) -> Self:
        """Ignores the results of earlier builds."""
        return self._set(no_cache=True)

    def __repr__(self) -> str:
        """Returns the calls that make the description. Settings besides the name are left out."""
        base = "..." if is_dockerfile_text(self._spec.base) else repr(str(self._spec.base))
        begin = "from_dockerfile" if self._spec.source == "dockerfile" else self._spec.source
        steps = "".join(_call_text(name, value) for step in self._spec.steps for name, value in step.items())
        name = self._spec.fields.get("name")
        return f"{type(self).__name__}.{begin}({base}){steps}{'' if name is None else f'.name({name!r})'}"

    def _request(self) -> tuple[dict[str, Any], WantedContext | None]:
        """Returns the body of the build, and the directory that it reads; None if it reads none."""
        if self._spec.source == "dockerfile":
            body, context = self._dockerfile_request()
        else:
            body, context = self._steps_request()
        body.setdefault("name", _default_name(body))
        return body, context

    def _dockerfile_request(self) -> tuple[dict[str, Any], WantedContext | None]:
        file = self._dockerfile()
        body = {**self._spec.fields, **self._settings(), "dockerfile": file.text}
        if file.context is None or not reads_context(file.text):
            return body, None
        return body, WantedContext(file.context.absolute(), file.path)

    def _dockerfile(self) -> Dockerfile:
        spec = self._spec
        if spec.source != "dockerfile":
            raise InvalidRequest("The template has no Dockerfile", hint="Begin with from_dockerfile(...).")
        return read_dockerfile(spec.base, spec.context)

    def _steps_request(self) -> tuple[dict[str, Any], WantedContext | None]:
        spec = self._spec
        body = {**spec.fields, spec.source: spec.base, **({"steps": list(spec.steps)} if spec.steps else {})}
        read: list[str] = []
        for step in spec.steps:
            source: Any = step.get("copy", {}).get("source", [])
            read.extend([source] if isinstance(source, str) else source)
        context = WantedContext(Path(spec.context or ".").absolute(), only=read) if read else None
        return body, context

    def _settings(self) -> dict[str, Any]:
        """Returns the settings beside a Dockerfile. They apply to runtimes only."""
        settings: dict[str, Any] = {}
        env = dict(self._spec.fields.get("env", {}))
        for step in self._spec.steps:
            if "run" in step or "copy" in step:
                hint = "Write run and copy as RUN and COPY in the Dockerfile."
                raise InvalidRequest("The template has steps beside its Dockerfile", hint=hint)
            env.update(step.get("env", {}))
            settings.update(step)
        return {**settings, **({"env": env} if env else {})}

    def _set(self, **fields: Any) -> Self:
        return self._with(fields={**self._spec.fields, **given(**fields)})

    def _merge(self, name: str, values: Mapping[str, str]) -> Self:
        return self._set(**{name: {**self._spec.fields.get(name, {}), **values}})

    def _step(self, **step: Any) -> Self:
        return self._with(steps=(*self._spec.steps, step))

    def _with(self, **change: Any) -> Self:
        return type(self)(replace(self._spec, **change))


def _call_text(name: str, value: Any) -> str:
    """Returns a step as its call."""
    if name != "copy":
        return f".{name}({value!r})"
    options = "".join(f", {key}={value[key]!r}" for key in ("chown", "chmod") if key in value)
    return f".copy({value['source']!r}, {value['destination']!r}{options})"


def _source_text(source: LocalPath) -> str:
    return source.as_posix() if isinstance(source, Path) else os.fspath(source)


def _default_name(body: Mapping[str, Any]) -> str:
    """Returns a name that equal descriptions share.

    It does not depend on the files of the context.
    """
    described = {name: value for name, value in body.items() if name not in _not_in_name}
    text = json.dumps(described, sort_keys=True, separators=(",", ":"))
    return f"template-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
