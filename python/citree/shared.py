"""A bundle that many processes open: by a path that all have, by an address that each host downloads once, or sent by Spark.

Each process opens it once and compares its fingerprint with that of the process that planned the work.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from ._native import BundleError
from .pipeline import Pipeline, load

CACHE = "CITREE_SHARED_BUNDLES"
"""The environment variable that names the folder of downloaded bundles, one for each host."""

_opening = Lock()


@dataclass(frozen=True)
class SharedBundle:
    """Where a bundle is for every process, and what it has to be."""

    location: str
    by: Literal["path", "address", "spark"]
    fingerprint: str

    def open(self, **settings: Any) -> Pipeline:
        """The bundle on this host, opened once in a process for the same settings."""
        with _opening:
            return _open(self, json.dumps(settings))

    def __str__(self) -> str:
        return self.location


def share(bundle: str | PathLike[str] | SharedBundle) -> SharedBundle:
    """A bundle by its path, which every host has to have, or by an address such as `s3://…`, which fsspec can read.

    >>> share("demo.citree").by
    'path'
    """
    if isinstance(bundle, SharedBundle):
        return bundle
    location = fspath(bundle)
    if "://" in location:
        return SharedBundle(location, "address", _download(location, None)[1])
    return SharedBundle(os.path.abspath(location), "path", fingerprint(load(location)))


def fingerprint(nlp: Pipeline) -> str:
    """A hash of all that decides: the model, its calibration, and this state of the evidence.

    >>> len(fingerprint(nlp))
    64
    """
    facts = nlp.info()
    facts["model"] = facts["model"]["fingerprint"]
    (facts["index"] or {}).pop("bytes", None)
    decides = {name: facts[name] for name in ("model", "rules", "index")}
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=4)
def _open(bundle: SharedBundle, settings: str) -> Pipeline:
    folder = _folder(bundle)
    if not os.path.isdir(folder):
        raise BundleError(
            f"no bundle {folder} on {socket.gethostname()}; put it on storage that all hosts have, give its address, or send it "
            "by citree.spark.ship"
        )
    nlp = load(folder, **json.loads(settings))
    found = fingerprint(nlp)
    if found != bundle.fingerprint:
        raise BundleError(
            f"the bundle {folder} on {socket.gethostname()} is another than the one the work was planned with: fingerprint "
            f"{found[:12]} instead of {bundle.fingerprint[:12]}; copy it there again, or start the work anew if it was changed"
        )
    return nlp


def _folder(bundle: SharedBundle) -> str:
    if bundle.by == "address":
        return _download(bundle.location, bundle.fingerprint)[0]
    if bundle.by == "spark":
        from pyspark import SparkFiles  # pyright: ignore[reportMissingImports]

        return str(SparkFiles.get(bundle.location))
    return bundle.location


def _download(address: str, expected: str | None) -> tuple[str, str]:
    """The folder and the fingerprint of a bundle at an address. One process of a host downloads, the others wait for it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(f"to read {address}, install fsspec, and the package of this kind of address") from None
    cache = _cache()
    if expected is not None and (cache / expected).is_dir():
        return str(cache / expected), expected
    with _locked(cache / "LOCK"):
        if expected is not None and (cache / expected).is_dir():
            return str(cache / expected), expected
        new = Path(tempfile.mkdtemp(prefix="new-", dir=cache))
        try:
            files, path = url_to_fs(address)
            if not files.isdir(path):
                raise BundleError(f"no bundle at {address}; it is a folder, as `citree train` made it")
            files.get(path.rstrip("/") + "/", str(new / "bundle") + "/", recursive=True)
            found = fingerprint(load(new / "bundle"))
            if not (cache / found).is_dir():
                os.rename(new / "bundle", cache / found)
            return str(cache / found), found
        finally:
            shutil.rmtree(new, ignore_errors=True)


def _cache() -> Path:
    """The folder of downloaded bundles. What another user could have put there is not opened."""
    named = os.environ.get(CACHE)
    user = os.getuid() if hasattr(os, "getuid") else 0
    cache = Path(named or os.path.join(tempfile.gettempdir(), f"citree-bundles-{user}"))
    cache.mkdir(mode=0o700, parents=bool(named), exist_ok=True)
    facts = os.lstat(cache)
    if not named and hasattr(os, "getuid") and (facts.st_uid != user or not stat.S_ISDIR(facts.st_mode)):
        raise PermissionError(f"{cache} belongs to another user; name another folder by {CACHE}")
    return cache


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds a lock that ends with the process."""
    try:
        import fcntl
    except ImportError:
        # Windows: two processes may both download, and the first to finish wins.
        yield
        return
    with open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for left in path.parent.glob("new-*"):
            # Of a process that was killed.
            shutil.rmtree(left, ignore_errors=True)
        yield
