"""obstore's store of a location."""

from __future__ import annotations

from typing import Any

from obstore.store import HTTPStore, S3Store

from benches.cloud.readers.location import ACCESS_KEY, REGION, SECRET_KEY, Location


def bucket_store(location: Location) -> Any:
    """Return the store of all that is in a location's bucket."""
    client_options: Any = {"allow_http": True}
    if location.scheme == "s3":
        return S3Store(
            location.bucket,
            endpoint=location.endpoint,
            region=REGION,
            access_key_id=ACCESS_KEY,
            secret_access_key=SECRET_KEY,
            virtual_hosted_style_request=False,
            client_options=client_options,
        )
    return HTTPStore.from_url(f"{location.endpoint}/{location.bucket}", client_options=client_options)
