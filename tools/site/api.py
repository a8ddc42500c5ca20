"""A Markdown page for each public package, from signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import olympus

__all__ = ["FOLDER", "index_table", "packages", "page", "public_names"]

#: The folder of the pages, in `docs/`.  They are generated with the site and not committed.
FOLDER = "reference/python"

_SPAN = re.compile(r"(`+[^`]*`+)")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
#: Classes that a page documents without their members: those of Python and of NumPy.
_FOREIGN = ("builtins", "numpy", "ml_dtypes", "jaxlib")


class _Plain(str):
    """An annotation that is shown without quotes."""

    __repr__ = str.__str__


def packages() -> dict[str, str]:
    """The public packages, each with the first line of its docstring."""
    found = pkgutil.walk_packages(olympus.__path__, "olympus.")
    names = ["olympus", *(module.name for module in found if "._" not in module.name)]
    names.append("olympus_runtime")
    return {name: _first_line(importlib.import_module(name)) for name in names}


def index_table() -> str:
    """A row for each public package, with a link to its page."""
    rows = (
        f"| [`{name}`](python/{name}.md) | {_text(line)} |\n" for name, line in packages().items()
    )
    return "| package | contents |\n| --- | --- |\n" + "".join(rows)


def public_names(package: str) -> list[str]:
    """The public names of a package, in alphabetical order, without its modules."""
    module = importlib.import_module(package)
    names = getattr(module, "__all__", None) or dir(module)
    shown = (name for name in names if not name.startswith("_"))
    return sorted(
        (name for name in shown if not inspect.ismodule(getattr(module, name))), key=str.casefold
    )


def page(package: str) -> str:
    """The page of a package."""
    module = importlib.import_module(package)
    parts = [f"# {package}\n", _document(inspect.getdoc(module) or "")]
    parts += [_entry(package, name, getattr(module, name)) for name in public_names(package)]
    return "\n".join(parts)


def _first_line(module: ModuleType) -> str:
    text = (inspect.getdoc(module) or "").partition("\n\n")[0].replace("\n", " ")
    line = text.removeprefix(f"`{module.__name__}`: ")
    return line[:1].upper() + line[1:]


def _entry(package: str, name: str, value: Any) -> str:
    if inspect.isclass(value):
        members = "" if _is_foreign(value) else "".join(_members(name, value))
        return (
            f"## {name}\n\n{_code('class ' + name + _signature(value))}\n{_doc_of(value)}{members}"
        )
    if callable(value):
        return f"## {name}\n\n{_code(name + _signature(value))}\n{_doc_of(value)}"
    return f"## {name}\n\n{_code(f'{name}: {type(value).__name__}')}\n{_value_of(package, value)}"


def _is_foreign(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in _FOREIGN or issubclass(cls, BaseException)


def _members(name: str, cls: type) -> Iterator[str]:
    own = [each for each in cls.__mro__ if each.__module__.startswith("olympus")]
    found = {key: value for each in reversed(own) for key, value in vars(each).items()}
    for key in sorted(found):
        value = found[key]
        if key.startswith("_"):
            continue
        if isinstance(value, property):
            yield f"### {name}.{key}\n\n{_doc_of(value)}"
        elif isinstance(value, classmethod | staticmethod):
            shown = f"{name}.{key}{_signature(getattr(cls, key))}"
            yield f"### {name}.{key}\n\n{_code(shown)}\n{_doc_of(value.__func__)}"
        elif inspect.isfunction(value):
            yield f"### {name}.{key}\n\n{_code(f'{key}{_signature(value)}')}\n{_doc_of(value)}"


def _signature(value: Any) -> str:
    """The signature of a callable as source; empty where it has none."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "" if inspect.isclass(value) else "(...)"
    parameters = [
        each.replace(annotation=_annotation(each.annotation))
        for each in signature.parameters.values()
    ]
    result = _annotation(signature.return_annotation)
    shown = signature.replace(parameters=parameters, return_annotation=result)
    return _ADDRESS.sub("", str(shown))


def _annotation(value: Any) -> Any:
    value = getattr(value, "__forward_arg__", value)
    return _Plain(value) if isinstance(value, str) else value


def _code(text: str) -> str:
    """A signature as a block of Python, one parameter a line where it is long."""
    if len(text) > 88 and "(" in text:
        head, _, rest = text.partition("(")
        inside, _, tail = rest.rpartition(")")
        lines = "".join(f"    {each},\n" for each in _arguments(inside))
        text = f"{head}(\n{lines}){tail}"
    return f"```python\n{text}\n```\n"


def _arguments(text: str) -> list[str]:
    """The parameters of a signature: its text cut at the commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _doc_of(value: Any) -> str:
    return _document(inspect.getdoc(value) or "")


def _value_of(package: str, value: Any) -> str:
    text = repr(value)
    own = type(value).__module__.startswith("olympus") and package != "olympus.typing"
    if own and value.__doc__:
        return _doc_of(value)
    shown = "" if " at 0x" in text or len(text) > 200 else f"`{text}`\n"
    return f"{shown}\n"


def _document(text: str) -> str:
    """A docstring as Markdown: its paragraphs, lists of errors and examples."""
    blocks = [_block(each) for each in re.split(r"\n\s*\n", text.strip("\n")) if each.strip()]
    return "".join(f"{block}\n" for block in blocks)


def _block(text: str) -> str:
    if text.lstrip().startswith(">>> "):
        return f"```pycon\n{textwrap.dedent(text)}\n```\n"
    head, _, rest = text.partition("\n")
    if head in ("Example:", "Examples:") and rest.lstrip().startswith(">>> "):
        return f"```pycon\n{textwrap.dedent(rest)}\n```\n"
    if head in ("Raises:", "Returns:", "Args:") and rest.startswith(" "):
        items = re.split(r"\n(?=\S)", textwrap.dedent(rest))
        return f"{head}\n\n" + "".join(f"- {_text(' '.join(i.split()))}\n" for i in items)
    if text.startswith("    "):
        return f"```text\n{textwrap.dedent(text)}\n```\n"
    before, example, code = text.partition("\n>>> ")
    return f"{_text(before)}\n" + (f"\n```pycon\n{example[1:]}{code}\n```\n" if example else "")


def _text(text: str) -> str:
    """Prose, in which only what is in backquotes has a form."""
    parts = _SPAN.split(text)
    return "".join(p if p.startswith("`") else _escaped(p) for p in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_<>|\[\]#])", r"\\\1", text).replace("\\<", "&lt;").replace("\\>", "&gt;")
