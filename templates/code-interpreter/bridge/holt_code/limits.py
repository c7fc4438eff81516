"""The limits of the bridge, with their reasons."""

MIB = 1024 * 1024

PORT = 49999
"""The port of E2B's code interpreter, so that one server serves both."""

BACKLOG = 128
"""Connections that wait to be accepted."""

MAX_REQUEST_BYTES = 16 * MIB
MAX_CONTEXTS = 64
MAX_WAITING_RUNS = 100
"""Runs of one context that wait for their turn."""

MAX_MESSAGE_BYTES = 32 * MIB
"""
Bytes of one message of a kernel. A kernel that sends a longer one is killed. The bridge needs up to
ten times as much while it reads a message, and reads one at a time.
"""

MAX_MESSAGE_FRAMES = 1000
"""Frames of one message. Each has an overhead, however short it is."""

MAX_UNREAD_BYTES = 32 * MIB
"""Messages of one kernel that wait in the bridge. It reads no more from the kernel meanwhile."""

MAX_PARSED_BYTES = 256 * MIB
"""Memory of the values in one part of a message. Parts with more are not parsed."""

MAX_TEXT_CHARS = 64 * 1024
"""Characters in one stdout or stderr line. A longer text becomes several lines."""

MAX_LINE_BYTES = 8 * MIB
"""Bytes of one line. Larger values of a display are left out, and its metadata names them."""

MAX_METADATA_BYTES = 64 * 1024
"""Bytes of the metadata of a display. Larger ones are left out."""

MAX_VALUES = 200_000
"""Numbers, texts and other values in the JSON of one line. A chart as data has one for each point."""

MAX_DEPTH = 48
"""Levels of the JSON of one value."""

MAX_FORMS = 64
"""Forms of one display, each with its own MIME type."""

MAX_NAME_CHARS = 256
"""Characters of a MIME type and of a display id."""

MAX_FRAMES = 1000
"""Frames of a traceback."""

MAX_ERROR_CHARS = 256 * 1024
"""Characters of an error's value, and of its traceback."""

MAX_RUN_BYTES = 16 * MIB
"""Kept output of one run. The oldest lines are dropped."""

MAX_KEPT_BYTES = 64 * MIB
"""Kept output of all runs together."""

MAX_KEPT_RUNS = 100
KEEP_RUN_SECS = 600.0
"""Ended runs are kept for this time, so that a reader can come back."""

BRAKE_BYTES = 4 * MIB
"""A kernel waits while the reader that started its run is this far behind."""

BRAKE_SECS = 30.0
"""A reader that takes nothing for this time no longer makes the kernel wait."""

GATHER_SECS = 0.02
"""A short run is answered with one write. Longer ones begin to stream after this time."""

BATCH_BYTES = 256 * 1024
"""Bytes that a reader is sent at once."""

START_SECS = 90.0
"""A kernel has to answer within this time. A busy machine needs seconds."""

GRACE_SECS = 5.0
"""A kernel may take this long to stop after an interrupt. Then it is killed."""

OOM_SCORE = 300
"""The oom_score_adj of kernels, so that they are killed before the bridge and other programs."""
