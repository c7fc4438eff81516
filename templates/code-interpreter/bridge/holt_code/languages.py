"""The languages of a runtime, from its kernelspecs."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_core.paths import jupyter_path

from .errors import Refused

_ALIASES = {"js": "javascript", "ts": "typescript", "python3": "python", "py": "python", "sh": "bash"}
_NAME = re.compile(r"[a-z][a-z0-9_+.#-]{0,31}")


@dataclass(frozen=True)
class Language:
    """A language with the kernel that runs it."""

    name: str
    display_name: str
    spec: KernelSpec

    @property
    def is_own(self) -> bool:
        """True for the Python kernel of this template, which takes settings with a run."""
        return bool(self.spec.metadata.get("holt"))


class Languages:
    """The languages by name. Kernels that are installed later are found when they are asked for."""

    def __init__(self, directories: list[str]):
        self._manager = KernelSpecManager(ensure_native_kernel=False)
        self._manager.kernel_dirs = directories
        self._languages = self._find()

    def all(self) -> list[Language]:
        return list(self._languages.values())

    def get(self, name: str) -> Language:
        """Returns a language by its name or alias. Raises `Refused` if there is none."""
        name = name.lower()
        name = _ALIASES.get(name, name)
        if name not in self._languages:
            self._languages = self._find()
        language = self._languages.get(name)
        if language is None:
            known = ", ".join(sorted(self._languages))
            raise Refused(400, "language_not_found", f"There is no kernel for {name[:64]!r}. There are: {known}.")
        return language

    def _find(self) -> dict[str, Language]:
        found: dict[str, Language] = {}
        for spec_name, spec in self._specs():
            name = str(spec.language).lower()
            # A kernelspec with the name of its language goes before others of that language.
            if _NAME.fullmatch(name) and (name not in found or spec_name == name):
                found[name] = Language(name, str(spec.display_name), spec)
        return found

    def _specs(self) -> Iterator[tuple[str, KernelSpec]]:
        for spec_name in sorted(self._manager.find_kernel_specs()):
            try:
                yield spec_name, self._manager.get_kernel_spec(spec_name)
            except Exception:  # A kernelspec of the user can be malformed in any way.
                continue


def kernel_directories(own: Path) -> list[str]:
    """Returns the directories of kernelspecs: those of the template, then those of the user."""
    virtual = os.environ.get("VIRTUAL_ENV")
    more = [f"{virtual}/share/jupyter/kernels"] if virtual else []
    return list(dict.fromkeys([str(own), *more, *jupyter_path("kernels")]))
