"""Prints the reference of the client as Markdown, from its signatures and docstrings.

The documentation site has it as a page. It needs no installed package:
`python3 python/reference.py`.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path

from hatch_build import sync_source

SOURCE = Path(__file__).parent / "src/holt"
WIDTH = 100
INTRODUCTION = """# The Python client

For people who write programs with the Python client. This page lists its classes and their calls;
[the guide](../python.md) shows how to use them. It describes `Holt`, the synchronous client.
`AsyncHolt` has the same calls with `await`, `async with` and `async for`, and its classes have the
same names with `Async` before them.

Options have the names of the wire, and are keywords. The fields of the answers are those of the
[schemas](schemas.md).
"""
MODULES = {
    "The client": ["_async/client.py"],
    "Runtimes": ["_async/runtimes.py", "_async/runtime.py", "_async/fork.py", "_async/snapshots.py"],
    "Commands": [
        "_async/commands.py",
        "_async/command.py",
        "_async/command_stream.py",
        "_async/session.py",
        "_async/terminal.py",
    ],
    "Code": ["_async/code.py", "_async/code_stream.py"],
    "Files": ["_async/files.py", "_async/trees.py"],
    "Git": ["_async/git.py", "_git/results.py"],
    "Ports and network": ["_async/ports.py", "_async/tcp.py", "_async/network.py", "_async/policies.py"],
    "Secrets": ["_async/secrets.py"],
    "Templates": [
        "_template/description.py",
        "_async/template.py",
        "_async/build.py",
        "_async/builds.py",
        "_async/templates.py",
    ],
    "The service": [
        "_async/keys.py",
        "_async/projects.py",
        "_async/hosts.py",
        "_async/events.py",
        "_async/audit.py",
        "_async/webhooks.py",
        "_webhook_verifier.py",
    ],
    "Lists and streams": ["_async/pages.py", "_async/items.py"],
    "Errors": ["errors.py"],
    "Python's subprocess": ["compat/subprocess.py"],
}
"""The sections of the page, and the modules that each describes."""


def page() -> str:
    """Returns the page."""
    return INTRODUCTION + "".join(
        f"\n## {title}\n" + "".join(map(module_text, modules)) for title, modules in MODULES.items()
    )


def module_text(name: str) -> str:
    """Returns the public classes and functions of a module."""
    source = (SOURCE / name).read_text("utf-8")
    tree = ast.parse(sync_source(source) if name.startswith("_async/") else source)
    parts: list[str] = []
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
            # The many classes of codes repeat their code, which the page of the errors explains.
            is_code = isinstance(node, ast.ClassDef) and doc_of(node).startswith("The error `")
            if not is_code:
                parts.append(class_text(node) if isinstance(node, ast.ClassDef) else call_text(node, "###"))
    return "".join(parts)


def class_text(node: ast.ClassDef) -> str:
    """Returns a class with its calls."""
    text = f"\n### {node.name}\n\n{prose(doc_of(node))}"
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and (one.name == "__init__" or not one.name.startswith("_")):
            text += call_text(one, "####", node.name)
    return text


def call_text(node: ast.FunctionDef, level: str, owner: str = "") -> str:
    """Returns the signature of a call, and its docstring."""
    decorators = {name for one in node.decorator_list for name in re.findall(r"\w+", ast.unparse(one))}
    is_attribute = bool(decorators & {"property", "cached_property"})
    if node.name == "__init__" and not doc_of(node):
        return ""
    title = owner if node.name == "__init__" else node.name
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None and node.name != "__init__" else ""
    arguments = "" if is_attribute else f"({arguments_of(node)})"
    colon = f"{title}: {returns.removeprefix(' -> ')}" if is_attribute else f"{title}{arguments}{returns}"
    heading = title if level == "###" else f"{owner}.{node.name}" if node.name != "__init__" else f"{owner}()"
    return f"\n{level} {heading}\n\n```python\n{colon}\n```\n\n{prose(doc_of(node))}"


def arguments_of(node: ast.FunctionDef) -> str:
    """Returns the arguments, on one line or, if that is long, on several."""
    arguments = node.args
    for some in (arguments.posonlyargs, arguments.args):
        if some and some[0].arg in ("self", "cls"):
            del some[0]
    line = ast.unparse(arguments)
    if len(line) + len(node.name) <= WIDTH - 20:
        return line
    tree = ast.parse(f"def f({line}): ...").body[0]
    assert isinstance(tree, ast.FunctionDef)
    plain = [ast.unparse(ast.arguments([], [one], None, [], [], None, [])) for one in tree.args.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(tree.args.defaults)) + list(tree.args.defaults)
    parts = [with_default(text, default) for text, default in zip(plain, defaults)]
    if tree.args.kwonlyargs:
        parts.append("*")
    keywords = zip(tree.args.kwonlyargs, tree.args.kw_defaults)
    parts.extend(with_default(ast.unparse(one), default) for one, default in keywords)
    if tree.args.kwarg is not None:
        parts.append(f"**{ast.unparse(tree.args.kwarg)}")
    return "\n" + "".join(f"    {part},\n" for part in parts)


def with_default(text: str, default: ast.expr | None) -> str:
    """Returns an argument with its default."""
    return text if default is None else f"{text} = {ast.unparse(default)}"


def doc_of(node: ast.ClassDef | ast.FunctionDef) -> str:
    """Returns the docstring."""
    return inspect.cleandoc(ast.get_docstring(node) or "")


def prose(doc: str) -> str:
    """Returns a docstring as Markdown: arguments become a list, and examples stay code."""
    body, _, arguments = doc.partition("\nArgs:\n")
    listed = re.sub(r"\n {4,}", " ", textwrap.dedent(arguments))
    items = [f"* `{name}`: {text}" for name, text in re.findall(r"^(\w+): (.+)$", listed, re.M)]
    text = escaped(body.strip()) + ("\n\n" + "\n".join(map(escaped, items)) if items else "")
    return f"{text}\n" if text else ""


def escaped(text: str) -> str:
    """Returns text without characters that the site would take for its own markup."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;").replace("{{", "{ {") for part in parts)


if __name__ == "__main__":
    sys.stdout.write(page())
