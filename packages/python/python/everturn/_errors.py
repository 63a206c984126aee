"""Exceptions, by what a caller can do about them."""

from __future__ import annotations


class EverturnError(Exception):
    """Why something could not be done. After an error nothing has changed, unless it is `Reopen`.

    >>> try:
    ...     raise NotFound("no session 'x'", "not_found", None, None)
    ... except EverturnError as error:
    ...     print(error.code, error)
    not_found no session 'x'
    """

    code: str
    """The stable code of docs/protocol.md, such as `busy` or `bad_request`."""
    path: str | None
    """The file, field or path in the state that it is about."""
    hint: str | None
    """What to do next."""

    def __init__(self, message: str, code: str, path: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.path = path
        self.hint = hint

    def __reduce__(self) -> tuple[type[EverturnError], tuple[str, str, str | None, str | None]]:
        return type(self), (str(self), self.code, self.path, self.hint)


class Busy(EverturnError):
    """Another process writes to the session: try again later."""


class NotFound(EverturnError):
    """There is no such session, turn or value."""


class BadRequest(EverturnError):
    """The request itself is wrong, or the format does not support it."""


class Conflict(EverturnError):
    """The request contradicts what is stored, or the ID is taken."""


class Damaged(EverturnError):
    """Stored data are damaged: run `everturn check` and `everturn repair`."""


class Reopen(EverturnError):
    """A flush has failed, and the outcome is unknown: open the root again."""


class IoFailed(EverturnError):
    """The disk failed, or is full."""
