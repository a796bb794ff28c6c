"""From a name to an unpacked distribution in the cache: find or download the zip, verify it, unpack it once."""

from __future__ import annotations

import base64
import errno
import hashlib
import http.client
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

from sidecar.engine.distribution import Distribution
from sidecar.engine.places import cache_folder, check_space, exclusive, open_to_others
from sidecar.errors import EngineError
from sidecar.settings import Engine

OnProgress = Callable[[int, int], None]
"""Told (bytes received, bytes in all) during a download."""

_CHUNK_BYTES = 256 * 1024
_SILENCE_S = 60.0  # longest wait for a connection or for the next bytes
_ATTEMPTS = 3
_LOCAL_REPOSITORY = Path("~/.m2/repository")


def fetch(entry: Distribution, settings: Engine, on_progress: OnProgress | None = None) -> Path:
    """The unpacked distribution, fetched first if the cache lacks it.

    Safe to call from several processes at once: one downloads, the others wait for it.
    Looks at a zip in the cache folder, then in the local Maven repository, then downloads.
    Raises EngineError when the space, the network or the checksum is not as it should be; nothing is kept then.
    """
    cache = cache_folder(settings)
    home = cache / entry.folder
    if home.is_dir():
        return home
    try:
        with exclusive(cache / f"{entry.folder}.lock"):
            if not home.is_dir():
                _fetch_into(home, entry, settings, on_progress)
    except OSError as error:
        raise EngineError(_explain_disk(error, cache)) from error
    return home


def _fetch_into(home: Path, entry: Distribution, settings: Engine, on_progress: OnProgress | None) -> None:
    given = _find_zip(home.parent, entry)
    needed = entry.unpacked_bytes + (0 if given else entry.download_bytes)
    check_space(home.parent, needed, entry.title)
    part = home.with_name(f"{entry.folder}.part")
    try:
        if given is None:
            _download(download_address(settings.mirror, entry), part, entry, on_progress)
        _unpack(given or part, home)
    finally:
        part.unlink(missing_ok=True)


def _find_zip(cache: Path, entry: Distribution) -> Path | None:
    name = f"{entry.folder}.zip"
    for path in (cache / name, _LOCAL_REPOSITORY.expanduser() / entry.path):
        if path.is_file() and sha256_of(path) == entry.sha256:
            return path
    return None


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download_address(mirror: str, entry: Distribution) -> str:
    """Address of the zip below the mirror's base address, in Maven Central's layout."""
    return f"{mirror.rstrip('/')}/{entry.path}"


def check_sum(path: Path, entry: Distribution, source: str) -> None:
    """EngineError when the file is not the pinned one."""
    actual = sha256_of(path)
    if actual != entry.sha256:
        raise EngineError(
            f"{entry.title} from {source} has a wrong checksum: SHA-256 {actual}, expected {entry.sha256}; "
            "nothing was kept. The mirror or a proxy on the way changed the file: try again, or set "
            "engine.mirror (SIDECAR_ENGINE__MIRROR) to another mirror of Maven Central"
        )


def _download(address: str, part: Path, entry: Distribution, on_progress: OnProgress | None) -> None:
    request, shown = build_request(address)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _receive(request, part, on_progress)
            break
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500 or attempt == _ATTEMPTS:
                raise EngineError(_explain_refusal(shown, f"{error.code} {error.reason}", part)) from error
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
            if attempt == _ATTEMPTS:
                reason = getattr(error, "reason", None) or error
                raise EngineError(_explain_refusal(shown, str(reason), part)) from error
        time.sleep(attempt)  # a second, then two: enough for a mirror that restarts
    check_sum(part, entry, shown)


def build_request(address: str) -> tuple[urllib.request.Request, str]:
    """A request and its address as it may be shown; a user in the address becomes Basic credentials, never shown."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in ("http", "https"):
        raise EngineError(f"engine.mirror must be an http or https address, got {address!r}")
    user, at, place = parts.netloc.rpartition("@")
    shown = urllib.parse.urlunsplit(parts._replace(netloc=place))
    request = urllib.request.Request(shown, headers={"User-Agent": "decide-sidecar"})
    if at:
        token = base64.b64encode(urllib.parse.unquote(user).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")
    return request, shown


def _receive(request: urllib.request.Request, part: Path, on_progress: OnProgress | None) -> None:
    with urllib.request.urlopen(request, timeout=_SILENCE_S) as response, part.open("wb") as file:
        total = int(response.headers.get("Content-Length") or 0)
        received = 0
        while chunk := response.read(_CHUNK_BYTES):
            file.write(chunk)
            received += len(chunk)
            if on_progress is not None:
                on_progress(received, total)
        if received < total:
            raise ConnectionError(f"the connection ended after {received} of {total} bytes")


def _explain_refusal(shown: str, reason: str, part: Path) -> str:
    return (
        f"the download of {shown} was refused: {reason}. Behind a proxy set HTTPS_PROXY (and SSL_CERT_FILE for its "
        "certificate); for a mirror of Maven Central set engine.mirror (SIDECAR_ENGINE__MIRROR); or put the file "
        f"by hand into {part.parent}"
    )


def _unpack(archive: Path, home: Path) -> None:
    """Unpack beside the goal and rename, so that a half unpacked distribution is never used."""
    work = home.with_name(f"{home.name}.unpacking")
    shutil.rmtree(work, ignore_errors=True)  # left by a process that died; we hold the lock
    try:
        with zipfile.ZipFile(archive) as file:
            file.extractall(work)
        open_to_others(work)
        (work / home.name).rename(home)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _explain_disk(error: OSError, cache: Path) -> str:
    if error.errno == errno.ENOSPC:
        return (
            f"the disk of {cache} is full; free some space or set engine.cache_dir (SIDECAR_ENGINE__CACHE_DIR) "
            "to another disk"
        )
    return (
        f"the cache folder {cache} cannot be used: {error}; "
        "set engine.cache_dir (SIDECAR_ENGINE__CACHE_DIR) to a folder you can write to"
    )
