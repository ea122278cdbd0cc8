"""Opens S3-compatible stores."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from shop.base.config.buckets import Bucket
from shop.base.lazy_modules import LazyModule

if TYPE_CHECKING:
    from obstore import store
else:
    store = LazyModule("obstore.store")


def open_bucket(bucket: Bucket, *, seconds: int, retries: int) -> "store.S3Store":
    """Returns the store; `seconds` limits each request, and all of its retries together."""
    return store.S3Store(
        bucket.name,
        prefix=bucket.prefix or None,
        endpoint=bucket.endpoint,
        region=bucket.region,
        # Explicit credentials, so that AWS credentials of the host are not used.
        credential_provider=lambda: _credential(bucket),
        virtual_hosted_style_request=False,
        # Not every S3-compatible store supports bulk deletion.
        disable_bulk_delete=True,
        client_options={
            "allow_http": bucket.endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=3),
            "timeout": timedelta(seconds=seconds),
        },
        retry_config={"max_retries": retries, "retry_timeout": timedelta(seconds=seconds)},
    )


def _credential(bucket: Bucket) -> Any:
    return {
        "access_key_id": bucket.key_id,
        "secret_access_key": bucket.secret,
        "token": None,
        "expires_at": None,
    }
