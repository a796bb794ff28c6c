"""Finding, verifying and unpacking; the network is never reached."""

from __future__ import annotations

import errno
import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.engine import download, places
from sidecar.engine.distribution import DISTRIBUTIONS, Distribution
from sidecar.errors import EngineError
from sidecar.settings import Engine


@pytest.fixture(autouse=True)
def _as_ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    # pytest's temporary folders are closed to other users, and root's node would run as another user
    monkeypatch.setattr(places, "node_user", lambda: None)


@pytest.fixture
def entry(tmp_path: Path) -> Distribution:
    """A tiny distribution whose zip lies in the cache folder, where a person may have put it."""
    cache = tmp_path / "cache"
    cache.mkdir()
    archive = cache / "elasticsearch-7.17.28.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("elasticsearch-7.17.28/lib/a.jar", b"a")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return replace(DISTRIBUTIONS["elasticsearch7"], sha256=digest, unpacked_bytes=1, download_bytes=1)


@pytest.fixture
def settings(tmp_path: Path) -> Engine:
    return Engine(cache_dir=str(tmp_path / "cache"), mirror="http://127.0.0.1:1/nowhere")


@pytest.fixture
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidecar.engine.download.time.sleep", lambda _: None)


def test_a_zip_in_the_cache_is_unpacked_once(entry: Distribution, settings: Engine, tmp_path: Path) -> None:
    home = download.fetch(entry, settings)
    assert (home / "lib" / "a.jar").read_bytes() == b"a"
    (tmp_path / "cache" / "elasticsearch-7.17.28.zip").unlink()
    assert download.fetch(entry, settings) == home
    assert sorted(path.name for path in home.parent.iterdir()) == [home.name, f"{home.name}.lock"]


def test_a_half_unpacked_folder_of_a_dead_process_is_replaced(entry: Distribution, settings: Engine) -> None:
    half = Path(settings.cache_dir) / f"{entry.folder}.unpacking" / entry.folder / "half"
    half.mkdir(parents=True)
    home = download.fetch(entry, settings)
    assert [path.name for path in home.iterdir()] == ["lib"]


def test_a_zip_of_the_local_maven_repository_is_used(
    entry: Distribution, settings: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = tmp_path / "m2" / entry.path
    stored.parent.mkdir(parents=True)
    (tmp_path / "cache" / "elasticsearch-7.17.28.zip").rename(stored)
    monkeypatch.setattr(download, "_LOCAL_REPOSITORY", tmp_path / "m2")
    assert (download.fetch(entry, settings) / "lib").is_dir()
    assert stored.exists()


@pytest.mark.usefixtures("_no_waiting")
def test_a_wrong_zip_in_the_cache_is_not_used(entry: Distribution, settings: Engine) -> None:
    with pytest.raises(EngineError, match=r"was refused: .*HTTPS_PROXY.*SIDECAR_ENGINE__MIRROR.*by hand into"):
        download.fetch(replace(entry, sha256="0" * 64), settings)


def test_too_little_space(entry: Distribution, settings: Engine) -> None:
    with pytest.raises(EngineError, match=r"needs \d+ MiB in .* MiB are free; free some space or set engine.cache_dir"):
        download.fetch(replace(entry, unpacked_bytes=10**18), settings)


def test_a_disk_that_fills_up_meanwhile(entry: Distribution, settings: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(archive: Path, home: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "_unpack", full)
    with pytest.raises(EngineError, match="is full; free some space"):
        download.fetch(entry, settings)


def test_a_wrong_checksum_names_both_sums(entry: Distribution, tmp_path: Path) -> None:
    file = tmp_path / "other"
    file.write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    with pytest.raises(EngineError, match=f"from the mirror has a wrong checksum: SHA-256 {empty}, expected"):
        download.check_sum(file, entry, "the mirror")
