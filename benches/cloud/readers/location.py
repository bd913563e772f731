"""Where a reader reads, as the runner writes it into the variant of its command line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

type Scheme = Literal["web", "s3", "file"]

# The server checks no signature; a client with these signs all the same, as it would elsewhere.
ACCESS_KEY = "cloud-bench"
SECRET_KEY = "cloud-bench-secret"
REGION = "us-east-1"


@dataclass(frozen=True)
class Location:
    """An object or the root of an array on a server; ``connections`` is 0 for a reader's own default."""

    scheme: Scheme
    endpoint: str
    bucket: str
    key: str
    connections: int = 0
    # What only one reader knows: a pipeline, a folder of a cache.
    more: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def parse(variant: str) -> Location:
        """Read what ``text`` wrote."""
        return Location(**json.loads(variant))

    def text(self) -> str:
        """Return the location for a command line."""
        return json.dumps(asdict(self))

    @property
    def web_url(self) -> str:
        """The URL on the web server, without a slash at its end."""
        return f"{self.endpoint}/{self.bucket}/{self.key}".rstrip("/")

    @property
    def url(self) -> str:
        """The URL that swath opens."""
        if self.scheme == "file":
            return self.endpoint
        return self.web_url if self.scheme == "web" else f"s3://{self.bucket}/{self.key}".rstrip("/")

    def storage_options(self) -> dict[str, str]:
        """Return swath's options."""
        options = {}
        if self.scheme == "s3":
            options = {
                "endpoint": self.endpoint,
                "region": REGION,
                "access_key_id": ACCESS_KEY,
                "secret_access_key": SECRET_KEY,
            }
        if self.scheme != "file":
            options["allow_http"] = "true"
        if self.connections:
            options |= dict.fromkeys(("concurrency", "connections_max"), str(self.connections))
        return options
