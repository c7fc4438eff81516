"""The base of all answers: from JSON to dataclasses, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime, timedelta, timezone
from os import PathLike
from pathlib import PurePath
from typing import Any, Callable, ClassVar, Literal, TypeVar, Union, cast, get_args, get_origin

_T = TypeVar("_T")
_Decoder = Callable[[Any], Any]
_longest_text = 200


class Model:
    """An answer of the service. Its fields have the names of the wire."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    confidential_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that `repr` does not show, because notebooks and logs keep what it shows."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the object as the service sends it."""
        return {
            wire_name(field.name): to_wire(getattr(self, field.name))
            for field in fields(self)
            if not _is_absent(field, getattr(self, field.name))
        }

    def __repr__(self) -> str:
        """Returns the fields that have a value. Long texts are cut."""
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self._shown())
        return f"{type(self).__name__}({shown})"

    def _repr_html_(self) -> str:
        """Returns a table for notebooks."""
        from html import escape

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'><pre style='margin:0'>{escape(_cell(value))}</pre></td></tr>"
            for name, value in self._shown()
        )
        return f"<b>{escape(type(self).__name__)}</b><table>{rows}</table>"

    def _shown(self) -> list[tuple[str, Any]]:
        values = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [
            (name, _Hidden() if name in self.confidential_fields else value)
            for name, value in values
            if value is not None and value not in ([], {})
        ]


class _Hidden:
    """The place of a confidential value."""

    def __repr__(self) -> str:
        return "..."


def wire_name(name: str) -> str:
    """Returns the name on the wire. A Python keyword has `_` at its end here."""
    return name[:-1] if name.endswith("_") else name


def decode(type_: type[_T], data: Any) -> _T:
    """Returns an answer as an object. Fields that this version does not know are left out."""
    decoder = _decoder_of(type_)
    return data if decoder is None else decoder(data)


def decode_item(union: Any, data: Any) -> Any:
    """Returns an item of a stream, or None for a type that this version does not know."""
    decoder = _decoder_of(union)
    item = data if decoder is None else decoder(data)
    return item if isinstance(item, Model) else None


def to_wire(value: Any) -> Any:
    """Returns a value as JSON has it: times in RFC 3339, durations in seconds, paths as text."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Model):
        return value.to_dict()
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, PurePath):
        return value.as_posix()
    if isinstance(value, PathLike):
        return cast("PathLike[str]", value).__fspath__()
    if isinstance(value, Mapping):
        return {key: to_wire(inner) for key, inner in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (Sequence, set, frozenset)) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [to_wire(inner) for inner in cast("Sequence[Any]", value)]
    name = type(cast(object, value)).__name__
    raise TypeError(f"A value of the type {name} cannot be sent as JSON")


def time_text(value: datetime) -> str:
    """Returns a moment in RFC 3339. A time without a zone is in the zone of this machine."""
    text = value.astimezone(timezone.utc).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def parse_time(text: str) -> datetime:
    """Returns the moment of a text in RFC 3339."""
    return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)


_decoders: dict[Any, _Decoder | None] = {}


def _decoder_of(type_: Any) -> _Decoder | None:
    """Returns the decoder of a type, or None if the JSON value is used as it is."""
    try:
        return _decoders[type_]
    except KeyError:
        decoder = _decoders[type_] = _make_decoder(type_)
        return decoder


def _make_decoder(type_: Any) -> _Decoder | None:
    origin, arguments = get_origin(type_), get_args(type_)
    if type_ is datetime:
        return parse_time
    if is_dataclass(type_):
        return _object_decoder(cast("type[Model]", type_))
    if origin is list:
        inner = _decoder_of(arguments[0])
        return None if inner is None else lambda data: [inner(one) for one in data]
    if origin is dict:
        inner = _decoder_of(arguments[1])
        return None if inner is None else lambda data: {key: inner(one) for key, one in data.items()}
    if _is_union(type_):
        return _union_decoder([one for one in arguments if one is not type(None)])
    return None


def _union_decoder(types: list[Any]) -> _Decoder | None:
    if len(types) > 1 and all(is_dataclass(one) for one in types):
        return _tagged_decoder(types)
    decoders = [decoder for decoder in map(_decoder_of, types) if decoder is not None]
    if not decoders:
        return None
    decoder = decoders[0]
    return lambda data: None if data is None else decoder(data)


def _tagged_decoder(types: list[Any]) -> _Decoder:
    by_tag: dict[str, _Decoder] = {}
    other: _Decoder | None = None
    for one in types:
        decoder = cast(_Decoder, _decoder_of(one))
        tags = get_args(_hints_of(one).get("type"))
        if not tags:
            other = decoder
        for tag in tags:
            by_tag[tag] = decoder

    def decode_tagged(data: Any) -> Any:
        decoder = None if data is None else by_tag.get(data.get("type"), other)
        return data if decoder is None else decoder(data)

    return decode_tagged


def _object_decoder(type_: type[Model]) -> _Decoder:
    plain: list[str] = []
    decoded: list[tuple[str, str, _Decoder]] = []
    renamed: list[tuple[str, str]] = []
    defaults: dict[str, Any] = {}
    hints = _hints_of(type_)
    for field in fields(type_):
        defaults[field.name] = None if field.default is MISSING else field.default
        decoder, wire = _decoder_of(hints[field.name]), wire_name(field.name)
        if decoder is not None:
            decoded.append((field.name, wire, decoder))
        elif wire == field.name:
            plain.append(wire)
        else:
            renamed.append((field.name, wire))

    def decode_object(data: Any) -> Any:
        values = dict(defaults)
        for name in plain:
            if name in data:
                values[name] = data[name]
        for name, wire in renamed:
            if wire in data:
                values[name] = data[wire]
        for name, wire, decoder in decoded:
            if data.get(wire) is not None:
                values[name] = decoder(data[wire])
        made = object.__new__(type_)
        made.__dict__.update(values)
        return made

    return decode_object


def _hints_of(type_: Any) -> dict[str, Any]:
    from typing import get_type_hints

    return get_type_hints(type_)


def _is_union(type_: Any) -> bool:
    # `X | None` has a type of its own, which `typing.Union` is not.
    return get_origin(type_) is Union or type(type_).__name__ == "UnionType"


def _is_absent(field: Field[Any], value: Any) -> bool:
    return value is None and field.default is None


def _short(value: Any) -> str:
    if isinstance(value, str) and len(value) > _longest_text:
        return f"{value[:_longest_text]!r}..."
    if isinstance(value, datetime):
        # Without quotes: the value is not a text.
        return time_text(value)
    return repr(value)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else _short(value)


JsonObject = Mapping[str, Any]
"""An object of JSON."""

Encoding = Literal["utf-8", "base64"]
"""The encodings of bytes in JSON."""
