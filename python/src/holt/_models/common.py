"""Parts that several answers share."""

from __future__ import annotations

from dataclasses import dataclass

from .._model import Model


@dataclass(kw_only=True, repr=False)
class StateReason(Model):
    """The reason for a state."""

    code: str
    message: str


@dataclass(kw_only=True, repr=False)
class TemplateRef(Model):
    """A template, by id and name."""

    template_id: str
    name: str
