"""Where header files are, and how one of them is replaced only if it is still the one that was read."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Any, Optional, Protocol

#: No header file is larger (Spec, HDR-9). A larger object is not read.
MOST = 1 << 20


class Missing(Exception):
    """There is no such object."""


class Conflict(Exception):
    """The object is not the one that was read: someone else has written it."""


class TooLarge(Exception):
    """The object is larger than a header file can be."""


@dataclass
class Usage:
    """What the work on one object has cost: requests, with those that the client repeats, and bytes of header files."""

    requests: int = 0
    bytes_read: int = 0
    bytes_written: int = 0


class Store(Protocol):
    """Where header files are. A store of your own has these two methods, and can be pickled."""

    def read(self, name: str, usage: Usage) -> tuple[bytes, Any]:
        """The header file, and what tells it from every other version. Raises Missing or TooLarge."""

    def replace(self, name: str, header: bytes, version: Any, usage: Usage) -> None:
        """Replaces the header file as a whole, or raises Conflict if it has another version now."""


#: What a PUT would drop of an object: it is given again. Tags and permissions of single objects are not kept.
_KEPT = (
    "CacheControl", "ContentDisposition", "ContentEncoding", "ContentLanguage", "ContentType", "Metadata",
    "StorageClass", "ServerSideEncryption", "SSEKMSKeyId", "BucketKeyEnabled")
#: 412: the condition did not hold. 409: another conditional write of this object was under way. 404: it is gone.
_CONFLICTS = (404, 409, 412)


def _code(error: Any) -> int:
    status: int = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status


@dataclass(frozen=True)
class S3Headers:
    """Header files in a bucket, by boto3. Names are keys of objects. A PUT has If-Match with the ETag of the GET.

    `client` are arguments of ``boto3.client("s3", …)``, such as `endpoint_url` or `region_name`. Each process makes its
    own client, with the credentials that it finds; leave them out of `client`, which is pickled.
    """

    bucket: str
    client: dict[str, Any] = field(default_factory=dict)
    #: How often the client repeats a request after throttling (503) or a failure of the network.
    attempts: int = 5

    def read(self, name: str, usage: Usage) -> tuple[bytes, Any]:
        from botocore.exceptions import ClientError  # type: ignore[import-untyped, unused-ignore]

        made = self._made(usage)
        try:
            answer = made.get_object(Bucket=self.bucket, Key=name)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in ("NoSuchKey", "404"):
                raise Missing() from None
            raise
        with answer["Body"] as body:
            if answer["ContentLength"] > MOST:
                raise TooLarge()
            header: bytes = body.read()
        usage.bytes_read += len(header)
        return header, {"IfMatch": answer["ETag"], **{key: answer[key] for key in _KEPT if answer.get(key)}}

    def replace(self, name: str, header: bytes, version: Any, usage: Usage) -> None:
        from botocore.exceptions import ClientError

        usage.bytes_written += len(header)
        try:
            self._made(usage).put_object(Bucket=self.bucket, Key=name, Body=header, **version)
        except ClientError as error:
            if _code(error) in _CONFLICTS:
                raise Conflict() from None
            raise

    def _made(self, usage: Usage) -> Any:
        """The client of this process. Its requests of this thread count as `usage`."""
        _counted.usage = usage
        key = (os.getpid(), self.attempts, repr(sorted(self.client.items())))
        with _lock:
            if key not in _clients:
                import boto3  # type: ignore[import-untyped, unused-ignore]
                from botocore.config import Config  # type: ignore[import-untyped, unused-ignore]

                settings = Config(retries={"mode": "standard", "total_max_attempts": self.attempts})
                arguments = dict(self.client)
                if "config" in arguments:
                    settings = settings.merge(arguments.pop("config"))
                made = boto3.session.Session().client("s3", config=settings, **arguments)
                made.meta.events.register("before-send.s3", _count)
                _clients[key] = made
            return _clients[key]


_clients: dict[Any, Any] = {}
_lock = threading.Lock()
_counted = threading.local()


def _count(**_: Any) -> None:
    usage: Optional[Usage] = getattr(_counted, "usage", None)
    if usage is not None:
        usage.requests += 1


def _knows_if_match() -> bool:
    import botocore.session  # type: ignore[import-untyped]

    model = botocore.session.get_session().get_service_model("s3")
    return "IfMatch" in model.operation_model("PutObject").input_shape.members


class FsspecHeaders:
    """Header files in a file system of fsspec. Names are its paths, without the protocol.

    fsspec itself has no write that depends on a version, only one that creates. s3fs passes a condition on to the
    store, so with it a lost race never loses the other writer's header file. Every other file system is refused unless
    `sole_writer` says that nobody else writes these objects meanwhile, and that the store replaces an object as a
    whole. The local file system does not: use HeaderFiles.
    """

    def __init__(self, protocol: str, options: Optional[dict[str, Any]] = None, *, sole_writer: bool = False) -> None:
        import fsspec  # type: ignore[import-untyped]
        from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

        self.fs = fsspec.filesystem(protocol, **(options or {}))
        if isinstance(self.fs, LocalFileSystem):
            raise ValueError("an interrupted write of fsspec tears a local file: use HeaderFiles")
        self._conditional = hasattr(self.fs, "call_s3")
        if self._conditional and not sole_writer and not _knows_if_match():
            # s3fs leaves out, without a word, what botocore does not know. The write would have no condition.
            raise ValueError("this botocore does not know If-Match for PUT: install a newer one")
        if not self._conditional and not sole_writer:
            raise ValueError(
                f"{protocol} has no conditional write in fsspec: pass sole_writer=True if nobody else writes these "
                "header files meanwhile and the store replaces an object as a whole")

    def read(self, name: str, usage: Usage) -> tuple[bytes, Any]:
        usage.requests += 1
        version: Any = None
        try:
            if self._conditional:
                header, version = self._read_s3(name)
            else:
                with self.fs.open(name, "rb", cache_type="none") as file:
                    header = file.read(MOST + 1)
        except FileNotFoundError:
            raise Missing() from None
        if len(header) > MOST:
            raise TooLarge()
        usage.bytes_read += len(header)
        return header, version

    def _read_s3(self, name: str) -> tuple[bytes, dict[str, Any]]:
        import fsspec.asyn  # type: ignore[import-untyped]

        bucket, key, _ = self.fs.split_path(name)
        answer = self.fs.call_s3("get_object", Bucket=bucket, Key=key)
        try:
            if answer["ContentLength"] > MOST:
                raise TooLarge()
            header: bytes = fsspec.asyn.sync(self.fs.loop, answer["Body"].read)
        finally:
            answer["Body"].close()
        return header, {"IfMatch": answer["ETag"], **{key: answer[key] for key in _KEPT if answer.get(key)}}

    def replace(self, name: str, header: bytes, version: Any, usage: Usage) -> None:
        usage.requests += 1
        usage.bytes_written += len(header)
        if not self._conditional:
            self.fs.pipe_file(name, header)
            return
        bucket, key, _ = self.fs.split_path(name)
        try:
            self.fs.call_s3("put_object", Bucket=bucket, Key=key, Body=header, **version)
        except FileNotFoundError:
            raise Conflict() from None
        except OSError as error:
            # s3fs makes an OSError of the store's answer, which is its cause.
            answer = error.__cause__ or error.__context__
            if answer is not None and hasattr(answer, "response") and _code(answer) in _CONFLICTS:
                raise Conflict() from None
            raise
        finally:
            self.fs.invalidate_cache(self.fs._parent(name))
