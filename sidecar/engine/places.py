"""Folders: where the cache is, who the node runs as, and whether that user can reach a folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sidecar.errors import EngineError
from sidecar.settings import Engine

NOBODY = 65534
"""User and group of a node that root starts: `nobody` on Linux; every distribution refuses to run as root."""


def node_user() -> int | None:
    """User id that the node gets, None when it keeps the caller's."""
    return NOBODY if os.geteuid() == 0 else None


def default_cache(environ: Mapping[str, str], platform: str, root: bool, home: Path) -> Path:
    """The cache folder when no setting names one.

    Root's is outside its home, which is often closed (mode 0700) to the user that the node runs as.
    """
    if root:
        return Path("/var/cache/decide-sidecar")
    if platform == "darwin":
        return home / "Library" / "Caches" / "decide-sidecar"
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "decide-sidecar"


def cache_folder(settings: Engine) -> Path:
    """The cache folder, made if missing; EngineError when it cannot be made or the node could not reach it."""
    if settings.cache_dir:
        folder = Path(settings.cache_dir).expanduser().absolute()
    else:
        folder = default_cache(os.environ, sys.platform, os.geteuid() == 0, Path.home())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(
            f"the cache folder {folder} cannot be made: {error.strerror}; "
            "set engine.cache_dir (SIDECAR_ENGINE__CACHE_DIR) to a folder you can write to"
        ) from error
    closed = closed_folder(folder, node_user())
    if closed is not None:
        raise EngineError(
            f"the cache folder {folder} cannot be reached by user {NOBODY}, as which root starts the node, because "
            f"{closed} is closed to others; set engine.cache_dir (SIDECAR_ENGINE__CACHE_DIR) to an open folder"
        )
    return folder


def closed_folder(folder: Path, user: int | None) -> Path | None:
    """The topmost folder on the way to `folder`, itself included, that `user` may not pass; None when all are open."""
    if user is None:
        return None
    folder = folder.resolve()
    for step in (*reversed(folder.parents), folder):
        status = step.stat()
        needed = stat.S_IXUSR if status.st_uid == user else stat.S_IXOTH
        if status.st_gid == user and status.st_uid != user:
            needed = stat.S_IXGRP
        if not status.st_mode & needed:
            return step
    return None


def check_space(folder: Path, needed_bytes: int, what: str) -> None:
    """EngineError when the file system of `folder` has less than `needed_bytes` free."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise EngineError(
            f"{what} needs {needed_bytes // 2**20} MiB in {folder}, {free // 2**20} MiB are free; "
            "free some space or set engine.cache_dir (SIDECAR_ENGINE__CACHE_DIR) to another disk"
        )


def open_to_others(folder: Path) -> None:
    """Make everything in `folder` readable by the node's user, whatever the caller's umask was."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            runs = path.is_dir() or mode & stat.S_IXUSR
            path.chmod(mode | (0o755 if runs else 0o644))


def give_to(folder: Path, user: int | None) -> None:
    """Make `user` the owner of `folder` and everything in it."""
    if user is None:
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold the file lock `lock` among processes.

    Waits without a deadline: the holder's own steps all have one, and the system frees the lock when it dies.
    """
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
