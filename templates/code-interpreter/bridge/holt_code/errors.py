"""The errors that the bridge answers."""


class Refused(Exception):
    """A request that is refused, with its HTTP status and a code for programs."""

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status = status
        self.code = code


class KernelNotStarted(Exception):
    """A kernel that ended or did not answer while it was started."""
