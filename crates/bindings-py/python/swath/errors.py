"""The exceptions of swath: all are ``SwathError``, and those with a natural builtin are that too."""

from __future__ import annotations

import pickle
from typing import Any, override


class SwathError(Exception):
    """Base of every error that swath raises by itself.

    Attributes
    ----------
    object : str or None
        The name of what the error is about: an array, a chunk, a metadata document.
    retryable : bool
        Whether the same call may succeed when it is made again later.
    """

    object: str | None
    retryable: bool

    def __init__(self, message: str = "", *, object: str | None = None, retryable: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.object = object
        self.retryable = retryable

    @override
    def __str__(self) -> str:
        # KeyError would quote the message, and OSError put a number before it.
        return self.message

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.message, _packed(self.__cause__), self.__dict__)


def _packed(cause: BaseException | None) -> tuple[bytes, str] | None:
    """Pickle a cause, which exceptions leave out, and say what it is: some cannot be unpickled."""
    if cause is None:
        return None
    try:
        pickled = pickle.dumps(cause)
    except Exception:
        pickled = b""
    return pickled, f"{type(cause).__name__}: {cause}"


def _again(
    error: type[SwathError], message: str, cause: tuple[bytes, str] | None, attributes: dict[str, Any]
) -> SwathError:
    """Make an error as it was before it was pickled, with a note for a cause that cannot be had."""
    made = error(message)
    made.__dict__.update(attributes)
    if cause is not None:
        pickled, text = cause
        try:
            made.__cause__ = pickle.loads(pickled)
        except Exception:
            made.__notes__ = [*getattr(made, "__notes__", ()), f"Caused by {text}"]
    return made


class NotFoundError(SwathError, FileNotFoundError):
    """There is no array, group or store at a path."""


class MemberNotFoundError(NotFoundError, KeyError):
    """A group has no such member."""


class OutOfBoundsError(SwathError, IndexError):
    """A selection does not fit the array: an index outside its axis, or more indices than axes."""


class InvalidError(SwathError, ValueError):
    """Metadata breaks the Zarr specification, or an argument makes no sense."""


class UnsupportedError(SwathError, NotImplementedError):
    """Something valid that swath cannot do: a codec, a data type, a way of storage; the message names it."""


class UnsupportedSelectionError(UnsupportedError, IndexError):
    """A selection by anything but integers, slices and an ellipsis."""


class CorruptError(SwathError, ValueError):
    """Stored bytes contradict the metadata or their own checksum."""


class StorageError(SwathError, OSError):
    """The storage failed; ``retryable`` says whether trying again can help."""


class CancelledError(SwathError):
    """The read was cancelled."""


class DeadlineExceededError(SwathError, TimeoutError):
    """The deadline of a read passed."""


class InternalError(SwathError, RuntimeError):
    """A defect in swath itself."""


class SwathWarning(UserWarning):
    """Something was left out, such as a member of a group that swath cannot open."""
