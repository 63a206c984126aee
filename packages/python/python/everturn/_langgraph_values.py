"""Values of LangGraph as JSON that people can read, and back without loss.

Texts, numbers, booleans, `None`, lists and dicts with text keys are stored as they are. Messages of LangChain are objects
with a `type`, a `content` and their other fields. Everything else is passed to the serializer of the saver and stored as
`{"$type": ..., "$data": ...}`, with the bytes in base64.
"""

from __future__ import annotations

import base64
from typing import Any, cast

from langchain_core import messages
from langgraph.checkpoint.serde.base import SerializerProtocol

# The classes whose fields are stored. Only these are created when a log is read.
_MESSAGES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        messages.AIMessage,
        messages.HumanMessage,
        messages.SystemMessage,
        messages.ToolMessage,
        messages.ChatMessage,
        messages.FunctionMessage,
    )
}

_CLASS = "$message"
_MAX_DEPTH = 200


class Opaque(Exception):
    """The value has a part that JSON cannot hold."""


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON, if it has only plain parts."""
    kind = cast("Any", type(value))
    if value is None or kind is bool or kind is int:
        return value
    if kind is str:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Opaque from error
        return value
    if kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise Opaque
        return value
    if depth > _MAX_DEPTH:
        raise Opaque
    if kind is list:
        return [_plain(element, depth + 1) for element in value]
    if kind is dict:
        for key in value:
            if type(key) is not str or key.startswith("$"):
                raise Opaque
        return {key: _plain(element, depth + 1) for key, element in value.items()}
    if _MESSAGES.get(kind.__name__) is kind:
        fields = _plain(value.model_dump(), depth + 1)
        return {"type": fields.pop("type", None), _CLASS: kind.__name__, **fields}
    raise Opaque


def encode(value: Any, serde: SerializerProtocol, readable: bool) -> Any:
    """The JSON of a value. The elements of a list are encoded one by one, so that a log stores only new ones."""
    if readable:
        try:
            return _plain(value)
        except Opaque:
            kind = cast("Any", type(value))
            if kind is list:
                return [encode(element, serde, readable) for element in value]
            if kind is dict and all(type(key) is str and not key.startswith("$") for key in value):
                return {key: encode(element, serde, readable) for key, element in value.items()}
    name, data = serde.dumps_typed(value)
    return {"$type": name, "$data": base64.b64encode(data).decode()}


def decode(value: Any, serde: SerializerProtocol) -> Any:
    """The value of its JSON."""
    if isinstance(value, list):
        return [decode(element, serde) for element in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if "$type" in fields:
            return serde.loads_typed((fields["$type"], base64.b64decode(fields["$data"])))
        decoded = {key: decode(element, serde) for key, element in fields.items()}
        name = decoded.pop(_CLASS, None)
        if name is not None:
            if name not in _MESSAGES:
                raise ValueError(f"a message of the unknown class {name!r}")
            return _MESSAGES[name].model_construct(**decoded)
        return decoded
    return value
