"""Prints the public methods and functions of the installed packages of E2B as JSON, by package.

A class counts if its package exports it, or if a public method or property of one that counts
returns it. A method is listed with the class that defines it. If only a base that does not count
defines it, it is listed with each class that inherits it.
"""

import inspect
import json
import typing
from typing import Any

import e2b
import e2b_code_interpreter

# Classes whose name stands for one of the sync client and one of the async client.
AMBIGUOUS = {"Commands", "Filesystem", "Git", "Pty"}


def exported(module: Any) -> dict[str, Any]:
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return {name: getattr(module, name) for name in names if hasattr(module, name)}


def is_ours(value: Any, package: str) -> bool:
    return getattr(value, "__module__", "").split(".")[0] == package


def public(cls: type, package: str) -> list[tuple[type, str, Any]]:
    """Returns the holder, the name and the static value of each public attribute of a class."""
    found: dict[str, tuple[type, str, Any]] = {}
    for holder in reversed(cls.__mro__):
        if is_ours(holder, package):
            found.update({name: (holder, name, value) for name, value in vars(holder).items() if name[0] != "_"})
    return list(found.values())


def function_of(value: Any) -> Any:
    """Returns the function behind an attribute: a property, a class method, or another descriptor."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, (classmethod, staticmethod)):
        return value.__func__
    if inspect.isfunction(value):
        return value
    return getattr(value, "func", None) or getattr(value, "method", None)


def classes_in(hint: Any, package: str) -> set[type]:
    if inspect.isclass(hint):
        return {hint} if is_ours(hint, package) else set()
    return {one for part in typing.get_args(hint) for one in classes_in(part, package)}


def returned(function: Any, package: str) -> set[type]:
    try:
        return classes_in(typing.get_type_hints(function).get("return"), package)
    except Exception:
        return set()  # Some annotations name what exists only for type checkers.


def counted(module: Any, package: str) -> list[type]:
    waiting = [value for value in exported(module).values() if inspect.isclass(value) and is_ours(value, package)]
    seen: list[type] = []
    while waiting:
        cls = waiting.pop()
        if cls in seen:
            continue
        seen.append(cls)
        for _, _, value in public(cls, package):
            waiting += returned(function_of(value), package)
    return seen


def name_of(cls: type) -> str:
    prefix = "Async" if cls.__name__ in AMBIGUOUS and "async" in cls.__module__ else ""
    return prefix + cls.__name__


def methods(module: Any) -> list[str]:
    package = module.__name__
    classes = counted(module, package)
    found: set[str] = set()
    for cls in classes:
        if issubclass(cls, BaseException):
            continue
        for holder, name, value in public(cls, package):
            if isinstance(value, property) or not (callable(value) or hasattr(value, "__get__")):
                continue
            if inspect.isclass(value) or inspect.ismemberdescriptor(value) or inspect.isgetsetdescriptor(value):
                continue
            found.add(f"{name_of(holder if holder in classes else cls)}.{name}")
    for name, value in exported(module).items():
        if inspect.isfunction(value) and is_ours(value, package):
            found.add(name)
    return sorted(found)


if __name__ == "__main__":
    print(json.dumps({module.__name__: methods(module) for module in (e2b, e2b_code_interpreter)}))
