"""The errors of the client: one base, and a class for each code of the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ._translate_messages import translate_hint, translate_message

if TYPE_CHECKING:
    from ._models.template import BuildData

ConnectionFailure = Literal["refused", "lost", "timeout"]
"""The reasons for a missing answer: nothing was sent, the answer was lost, or it took too long."""


class HoltError(Exception):
    """The base of all errors of the service and of the connection to it.

    `code` is for programs. `message` and `hint` are for people: the event, and the remedy.
    """

    default_code: ClassVar[str] = "invalid_request"
    default_hint: ClassVar[str] = "Correct what the message names."

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        """The event, in a sentence."""
        self.code = self.default_code if code is None else code
        """The code for programs."""
        self.hint = translate_hint(self.default_hint) if hint is None else hint
        """The remedy, in a sentence."""
        self.details: Mapping[str, Any] = {} if details is None else details
        """The facts for programs, such as `issues` with the wrong fields."""
        self.request_id = request_id
        """The id of the request, which the operator can look up; None for a local check."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns the parts for `pickle`: a worker process passes its errors to its pool."""
        return _made_again, (type(self), self.args), self.__dict__

    def __str__(self) -> str:
        """Returns the message, the hint, and the ids that help to report the error."""
        facts = self.code if self.request_id is None else f"{self.code}, request {self.request_id}"
        return f"{self.message} ({facts}). {self.hint}"


def _made_again(type_: type[HoltError], args: tuple[Any, ...]) -> HoltError:
    """Returns an error without a call of its constructor, whose arguments each class chooses."""
    return type_.__new__(type_, *args)


class HoltConnectionError(HoltError):
    """The service cannot be reached, or its answer is missing.

    With the reason `refused` the service has certainly done nothing.
    """

    def __init__(self, reason: ConnectionFailure, message: str) -> None:
        super().__init__(message, code=f"connection_{reason}", hint=_connection_hints[reason])
        self.reason: ConnectionFailure = reason
        """The end of `code`: `refused`, `lost` or `timeout`."""


_connection_hints: dict[ConnectionFailure, str] = {
    "refused": "Start the service (holt up), or correct url or HOLT_URL.",
    "lost": "The service may have done what was asked: read the current state, and try again.",
    "timeout": "The service may still do it: read the current state, or allow more time.",
}


class BuildFailed(HoltError):
    """A build that failed or was cancelled."""

    default_code = "build_failed"

    def __init__(self, build: BuildData) -> None:
        failure = build.reason
        self.reason = "cancelled" if failure is None else failure.code
        """The reason: a code of the service's own, or `cancelled`."""
        self.step = None if failure is None else failure.step
        """The number of the step that failed, from 1; None if no step failed."""
        texts = [one.text for one in build.steps if one.step == self.step]
        self.step_text = texts[0] if texts else None
        """The step that failed, such as `RUN pip install flask`; None if no step failed."""
        details = {} if failure is None else failure.details
        self.output = str(details.get("output", ""))
        """The end of the output of the step or the command that failed."""
        self.build = build
        """The build at its end."""
        hint = None if failure is None else failure.hint
        super().__init__(
            f"The build {build.build_id} of {build.name}:{build.tag} was cancelled" if failure is None else failure.message,
            hint=translate_hint(_build_hints.get(self.reason, _build_hints["internal"]) if hint is None else hint),
            details=details,
        )


_build_hints = {
    "image_not_found": "Check the name of the image.",
    "image_pull_failed": "Check that the service reaches the registry, and try again.",
    "image_unsupported": "Choose an image for this platform.",
    "dockerfile_invalid": "Correct the line that the message names.",
    "unsupported_setting": "Leave the setting out, or use a value the message names.",
    "step_failed": "Correct the step: `output` has the end of its output.",
    "disk_too_small": "Ask for a larger disk.",
    "start_cmd_failed": "Correct start_cmd: `output` has the end of its output.",
    "ready_cmd_failed": "Correct ready_cmd: the message says why it cannot be run.",
    "ready_timeout": "Correct start_cmd or ready_cmd, or allow it more time.",
    "build_timeout": "Allow the build more time.",
    "quota_exceeded": "Delete what is not needed, or have the operator raise the quota.",
    "internal": "Try again. If it fails again, the log of the service has the reason.",
    "cancelled": "Start it again: the steps that ended are in the cache.",
}
"""The remedies for builds without a hint of the service."""


GitFailureReason = Literal[
    "network",
    "credentials",
    "rejected",
    "not_a_repository",
    "nothing_to_commit",
    "no_identity",
    "no_git",
    "timed_out",
    "other",
]
"""The reasons for a failure of git.

`network`: the host could not be reached. `credentials`: the host asks for credentials, or refuses
them. `rejected`: the remote has commits that a push would lose. `other`: the message has the words
of git.
"""


class GitFailed(HoltError):
    """A git command that failed in a runtime, or that could not work there."""

    default_code = "git_failed"
    default_hint = "Correct the fault that the message names, and try again."

    def __init__(
        self,
        message: str,
        *,
        reason: GitFailureReason,
        hint: str,
        exit_code: int | None = None,
        stderr: str = "",
    ) -> None:
        details = {"reason": reason, "exit_code": exit_code, "stderr": stderr}
        super().__init__(message, hint=hint, details=details)
        self.reason: GitFailureReason = reason
        """The reason, for programs."""
        self.exit_code = exit_code
        """The exit code of git; None if it did not run, or did not end by itself."""
        self.stderr = stderr
        """The words of git on stderr."""


class ApiError(HoltError):
    """An error that the service returned, or that a local check found in its place.

    `details` are the service's own. `message` and `hint` name options and calls of this client in
    place of fields and requests.
    """

    default_status: ClassVar[int] = 400

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        http_status: int | None = None,
        wire_code: str | None = None,
        retry_after_secs: float | None = None,
        sent: Mapping[str, Any] | None = None,
    ) -> None:
        self.wire_message = message
        """The message as it was sent."""
        self.wire_hint = self.default_hint if hint is None else hint
        """The hint as it was sent."""
        super().__init__(
            translate_message(message, details or {}, sent or {}),
            code=code,
            hint=translate_hint(self.wire_hint),
            details=details,
            request_id=request_id,
        )
        self.http_status = self.default_status if http_status is None else http_status
        """The status of the answer."""
        self.wire_code = self.code if wire_code is None else wire_code
        """The code as it was sent. It differs from `code` if this client does not know it."""
        self.retry_after_secs = retry_after_secs
        """The time that the service asks to wait before the next try, in seconds."""


class InvalidRequest(ApiError):
    """The error `invalid_request`."""

    default_code = "invalid_request"
    default_status = 400
    default_hint = "Correct the fields named in details.issues and send the request again."


class InvalidPath(ApiError):
    """The error `invalid_path`."""

    default_code = "invalid_path"
    default_status = 400
    default_hint = "Use an absolute path without NUL, `.` or `..`, of at most 4096 bytes."


class InvalidArchive(ApiError):
    """The error `invalid_archive`."""

    default_code = "invalid_archive"
    default_status = 400
    default_hint = "Correct the entry that the message names, and make the archive again."


class IsDirectory(ApiError):
    """The error `is_directory`."""

    default_code = "is_directory"
    default_status = 400
    default_hint = "Give the path of a file, or set recursive."


class NotADirectory(ApiError):
    """The error `not_a_directory`."""

    default_code = "not_a_directory"
    default_status = 400
    default_hint = "Give the path of a directory."


class NotAFile(ApiError):
    """The error `not_a_file`."""

    default_code = "not_a_file"
    default_status = 400
    default_hint = "Give the path of a regular file. FIFOs, sockets and devices cannot be opened."


class SymlinkLoop(ApiError):
    """The error `symlink_loop`."""

    default_code = "symlink_loop"
    default_status = 400
    default_hint = "Find the loop with stat on each link, and remove one of the links."


class UnsupportedSetting(ApiError):
    """The error `unsupported_setting`."""

    default_code = "unsupported_setting"
    default_status = 400
    default_hint = "Remove the setting, or use a value that the message names."


class Unauthenticated(ApiError):
    """The error `unauthenticated`."""

    default_code = "unauthenticated"
    default_status = 401
    default_hint = "Send a valid key as Authorization: Bearer KEY."


class Forbidden(ApiError):
    """The error `forbidden`."""

    default_code = "forbidden"
    default_status = 403
    default_hint = "Use a key with the scope in details.scope."


class PathPermissionDenied(ApiError):
    """The error `path_permission_denied`."""

    default_code = "path_permission_denied"
    default_status = 403
    default_hint = (
        "Check whether the path is on a read-only mount or is an immutable file."
    )


class RuntimeNotFound(ApiError):
    """The error `runtime_not_found`."""

    default_code = "runtime_not_found"
    default_status = 404
    default_hint = "List the runtimes: GET /v1/agents/runtime."


class TemplateNotFound(ApiError):
    """The error `template_not_found`."""

    default_code = "template_not_found"
    default_status = 404
    default_hint = "List the templates: GET /v1/agents/template."


class BuildNotFound(ApiError):
    """The error `build_not_found`."""

    default_code = "build_not_found"
    default_status = 404
    default_hint = "List the builds: GET /v1/agents/template/build."


class ContextNotFound(ApiError):
    """The error `context_not_found`."""

    default_code = "context_not_found"
    default_status = 404
    default_hint = "Upload the context: POST /v1/agents/template/context."


class CommandNotFound(ApiError):
    """The error `command_not_found`."""

    default_code = "command_not_found"
    default_status = 404
    default_hint = "List the commands of the runtime."


class SessionNotFound(ApiError):
    """The error `session_not_found`."""

    default_code = "session_not_found"
    default_status = 404
    default_hint = "List the sessions of the runtime."


class CodeContextNotFound(ApiError):
    """The error `code_context_not_found`."""

    default_code = "code_context_not_found"
    default_status = 404
    default_hint = "List the code contexts of the runtime."


class CodeRunNotFound(ApiError):
    """The error `code_run_not_found`."""

    default_code = "code_run_not_found"
    default_status = 404
    default_hint = "Run the code again. The interpreter keeps only the newest runs."


class LanguageNotFound(ApiError):
    """The error `language_not_found`."""

    default_code = "language_not_found"
    default_status = 404
    default_hint = "Use one of the languages that the message names."


class SnapshotNotFound(ApiError):
    """The error `snapshot_not_found`."""

    default_code = "snapshot_not_found"
    default_status = 404
    default_hint = "List the snapshots: GET /v1/agents/snapshot."


class PolicyNotFound(ApiError):
    """The error `policy_not_found`."""

    default_code = "policy_not_found"
    default_status = 404
    default_hint = "List the network policies: GET /v1/agents/network-policy."


class SecretNotFound(ApiError):
    """The error `secret_not_found`."""

    default_code = "secret_not_found"
    default_status = 404
    default_hint = "List the secrets: GET /v1/agents/secret."


class ProviderNotFound(ApiError):
    """The error `provider_not_found`."""

    default_code = "provider_not_found"
    default_status = 404
    default_hint = "List the identity providers: GET /v1/agents/identity-provider."


class KeyNotFound(ApiError):
    """The error `key_not_found`."""

    default_code = "key_not_found"
    default_status = 404
    default_hint = "List the keys: GET /v1/agents/key."


class WebhookNotFound(ApiError):
    """The error `webhook_not_found`."""

    default_code = "webhook_not_found"
    default_status = 404
    default_hint = "List the webhooks: GET /v1/agents/webhook."


class DeliveryNotFound(ApiError):
    """The error `delivery_not_found`."""

    default_code = "delivery_not_found"
    default_status = 404
    default_hint = "List the deliveries of the webhook."


class ProjectNotFound(ApiError):
    """The error `project_not_found`."""

    default_code = "project_not_found"
    default_status = 404
    default_hint = "List the projects: GET /v1/agents/project."


class HostNotFound(ApiError):
    """The error `host_not_found`."""

    default_code = "host_not_found"
    default_status = 404
    default_hint = "List the hosts: GET /v1/agents/host."


class JoinTokenNotFound(ApiError):
    """The error `join_token_not_found`."""

    default_code = "join_token_not_found"
    default_status = 404
    default_hint = "List the tokens: GET /v1/agents/join-token."


class PathNotFound(ApiError):
    """The error `path_not_found`."""

    default_code = "path_not_found"
    default_status = 404
    default_hint = "Check the path: list its parent directory."


class RouteNotFound(ApiError):
    """The error `route_not_found`."""

    default_code = "route_not_found"
    default_status = 404
    default_hint = "See /docs or /openapi.json for every route."


class MethodNotAllowed(ApiError):
    """The error `method_not_allowed`."""

    default_code = "method_not_allowed"
    default_status = 405
    default_hint = "Use a method named in the Allow header."


class AlreadyExists(ApiError):
    """The error `already_exists`."""

    default_code = "already_exists"
    default_status = 409
    default_hint = "Set overwrite, or choose another destination."


class DirectoryNotEmpty(ApiError):
    """The error `directory_not_empty`."""

    default_code = "directory_not_empty"
    default_status = 409
    default_hint = "Set recursive to remove the directory with its entries."


class RuntimePaused(ApiError):
    """The error `runtime_paused`."""

    default_code = "runtime_paused"
    default_status = 409
    default_hint = "Resume the runtime: POST .../resume. With auto_resume, any request resumes it."


class RuntimeNotRunning(ApiError):
    """The error `runtime_not_running`."""

    default_code = "runtime_not_running"
    default_status = 409
    default_hint = "Read the runtime: state and state_reason give the cause."


class NameTaken(ApiError):
    """The error `name_taken`."""

    default_code = "name_taken"
    default_status = 409
    default_hint = "Choose another name, or delete the object that has this name."


class InUse(ApiError):
    """The error `in_use`."""

    default_code = "in_use"
    default_status = 409
    default_hint = "First remove the objects that use it."


class Conflict(ApiError):
    """The error `conflict`."""

    default_code = "conflict"
    default_status = 409
    default_hint = "Read the current state and try again."


class CodeInterpreterMissing(ApiError):
    """The error `code_interpreter_missing`."""

    default_code = "code_interpreter_missing"
    default_status = 409
    default_hint = (
        "Create a runtime from the template code-interpreter, or from a template that starts its interpreter."
    )


class IdempotencyInProgress(ApiError):
    """The error `idempotency_in_progress`."""

    default_code = "idempotency_in_progress"
    default_status = 409
    default_hint = "Wait until the first request with this key has ended, then send the request again."


class RuntimeTerminated(ApiError):
    """The error `runtime_terminated`."""

    default_code = "runtime_terminated"
    default_status = 410
    default_hint = "Create a new runtime."


class CursorExpired(ApiError):
    """The error `cursor_expired`."""

    default_code = "cursor_expired"
    default_status = 410
    default_hint = "Leave the cursor out to begin with the oldest entry that is kept."


class PreconditionFailed(ApiError):
    """The error `precondition_failed`."""

    default_code = "precondition_failed"
    default_status = 412
    default_hint = "Read it again, and make the change to its present version."


class TooLarge(ApiError):
    """The error `too_large`."""

    default_code = "too_large"
    default_status = 413
    default_hint = "Send less. The message states the limit."


class UnsupportedMediaType(ApiError):
    """The error `unsupported_media_type`."""

    default_code = "unsupported_media_type"
    default_status = 415
    default_hint = "Send application/json, or bytes where the route takes a file."


class RangeNotSatisfiable(ApiError):
    """The error `range_not_satisfiable`."""

    default_code = "range_not_satisfiable"
    default_status = 416
    default_hint = "Request a range inside the file. stat returns its size."


class DigestMismatch(ApiError):
    """The error `digest_mismatch`."""

    default_code = "digest_mismatch"
    default_status = 422
    default_hint = (
        "Compute the digest again, and send the bytes again: one of both is wrong."
    )


class UpgradeRequired(ApiError):
    """The error `upgrade_required`."""

    default_code = "upgrade_required"
    default_status = 426
    default_hint = "Open this route as a WebSocket (RFC 6455)."


class IdempotencyMismatch(ApiError):
    """The error `idempotency_mismatch`."""

    default_code = "idempotency_mismatch"
    default_status = 422
    default_hint = "Use a new Idempotency-Key for another request."


class DiskTooSmall(ApiError):
    """The error `disk_too_small`."""

    default_code = "disk_too_small"
    default_status = 422
    default_hint = "Request a larger disk."


class StartCmdFailed(ApiError):
    """The error `start_cmd_failed`."""

    default_code = "start_cmd_failed"
    default_status = 422
    default_hint = "Correct the template's start_cmd. The message has the end of its output."


class ReadyCmdFailed(ApiError):
    """The error `ready_cmd_failed`."""

    default_code = "ready_cmd_failed"
    default_status = 422
    default_hint = "Correct the template's ready_cmd. The message says why it cannot run."


class ReadyTimeout(ApiError):
    """The error `ready_timeout`."""

    default_code = "ready_timeout"
    default_status = 422
    default_hint = "Correct the template's start_cmd or ready_cmd, or raise ready_timeout_secs."


class OnRestoreFailed(ApiError):
    """The error `on_restore_failed`."""

    default_code = "on_restore_failed"
    default_status = 422
    default_hint = "Correct the template's on_restore. The message has the end of its output."


class SnapshotIncompatible(ApiError):
    """The error `snapshot_incompatible`."""

    default_code = "snapshot_incompatible"
    default_status = 422
    default_hint = (
        "Use a filesystem snapshot, which boots everywhere. A memory snapshot needs "
        "the engine and the CPU of its creation."
    )


class SnapshotDamaged(ApiError):
    """The error `snapshot_damaged`."""

    default_code = "snapshot_damaged"
    default_status = 422
    default_hint = "Delete the snapshot and check the disk: its files have changed since they were written."


class RateLimited(ApiError):
    """The error `rate_limited`."""

    default_code = "rate_limited"
    default_status = 429
    default_hint = "Wait for the seconds in Retry-After, then try again."


class QuotaExceeded(ApiError):
    """The error `quota_exceeded`."""

    default_code = "quota_exceeded"
    default_status = 429
    default_hint = (
        "Delete unused objects, or ask the operator to raise the quota in "
        "details.quota."
    )


class Internal(ApiError):
    """The error `internal`."""

    default_code = "internal"
    default_status = 500
    default_hint = "Try again. If the error repeats, give the operator the request_id."


class NotSupportedHere(ApiError):
    """The error `not_supported_here`."""

    default_code = "not_supported_here"
    default_status = 501
    default_hint = "Run `holt doctor` on the host. It lists missing parts and how to install them."


class PortNotListening(ApiError):
    """The error `port_not_listening`."""

    default_code = "port_not_listening"
    default_status = 502
    default_hint = (
        "Start the server inside the runtime. GET .../ports/{port}?wait_secs= "
        "waits for it."
    )


class PortFailed(ApiError):
    """The error `port_failed`."""

    default_code = "port_failed"
    default_status = 502
    default_hint = "Check the program's output. The program closed the connection, or does not speak HTTP."


class CodeInterpreterFailed(ApiError):
    """The error `code_interpreter_failed`."""

    default_code = "code_interpreter_failed"
    default_status = 502
    default_hint = "Create a new runtime: a program inside may have ended or replaced the interpreter."


class Unavailable(ApiError):
    """The error `unavailable`."""

    default_code = "unavailable"
    default_status = 503
    default_hint = "Try again shortly."


class CapacityExhausted(ApiError):
    """The error `capacity_exhausted`."""

    default_code = "capacity_exhausted"
    default_status = 503
    default_hint = "Try again after a runtime has ended, or add capacity."


class Timeout(ApiError):
    """The error `timeout`."""

    default_code = "timeout"
    default_status = 504
    default_hint = "Try again, or request less at once."


class DiskFull(ApiError):
    """The error `disk_full`."""

    default_code = "disk_full"
    default_status = 507
    default_hint = "Free space on the disk named in the message."


error_classes: dict[str, type[ApiError]] = {one.default_code: one for one in ApiError.__subclasses__()}
"""The class of each code of the service."""

_code_by_status = {
    401: "unauthenticated",
    403: "forbidden",
    404: "route_not_found",
    405: "method_not_allowed",
    409: "conflict",
    410: "runtime_terminated",
    412: "precondition_failed",
    413: "too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
    501: "not_supported_here",
    502: "unavailable",
    503: "unavailable",
    504: "timeout",
    507: "disk_full",
}


def error_class(code: object, status: int) -> type[ApiError]:
    """Returns the class of a code; of a code that this client does not know, that of its status."""
    known = error_classes.get(code) if isinstance(code, str) else None
    if known is not None:
        return known
    return error_classes[_code_by_status.get(status, "internal" if status >= 500 else "invalid_request")]
