"""A context that was sent."""

from __future__ import annotations

from dataclasses import dataclass

from .._models.template import BuildContext
from .._tree.local_tree import Skipped


@dataclass(kw_only=True, repr=False)
class UploadedContext(BuildContext):
    """A context that was sent. `skipped` has the paths that were left out without a rule."""

    skipped: list[Skipped]
