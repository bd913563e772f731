"""What credential providers answer: callables as obstore takes them, plain or async."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from typing import Any

from swath.errors import InvalidError
from swath.options import Provider, split


def fetch(provider: Provider) -> tuple[dict[str, str], float | None]:
    """Call a provider: credentials as text by name, and when they expire, in seconds since 1970.

    An error of the provider passes through as it is.
    """
    answer = provider()
    if inspect.isawaitable(answer):
        answer = waited(answer)
    if not isinstance(answer, Mapping):
        kind = type(answer).__qualname__
        raise InvalidError(f"wanted a dict from the credential_provider, found {kind}")
    values = dict(answer)
    expires_at = values.pop("expires_at", None)
    sas_token = values.get("sas_token")
    if isinstance(sas_token, list | tuple):
        values["sas_token"] = "&".join(f"{name}={value}" for name, value in sas_token)
    return split(values)[0], expiry(expires_at)


def expiry(value: Any) -> float | None:
    """Return when credentials expire, in seconds since 1970; None where they do not."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    kind = type(value).__qualname__
    raise InvalidError(f"wanted a datetime or None as expires_at from the credential_provider, found {kind}")


def waited(answer: Awaitable[Any]) -> Any:
    """Wait for an async provider, in a thread of its own: this one may have an event loop already."""
    outcome: list[Any] = []

    async def wait() -> Any:
        return await answer

    def run() -> None:
        try:
            outcome.append((asyncio.run(wait()), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run, name="swath-credentials")
    thread.start()
    thread.join()
    value, error = outcome[0]
    if error is not None:
        raise error
    return value
