"""Reading files of decided cases: CSV, TSV and JSON lines, plain or gzip."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from sidecar.errors import ImportFileError
from sidecar.node import Case, Stored

FORMATS = ("csv", "tsv", "jsonl")
_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
MAX_FIELD_CHARS = 10_000_000
MAX_ID_BYTES = 512  # of every Elasticsearch and OpenSearch


class CaseFile:
    """A file of decided cases. Iterating gives the cases; rows without a text or label are kept in `rejected`."""

    def __init__(self, path: Path, *, kind: str | None, text: str, label: str, id_column: str | None) -> None:
        self.path = path
        self.rejected: list[Stored] = []
        self._columns = (text, label, id_column)
        self._is_packed = path.suffix.lower() == ".gz"
        plain = path.with_suffix("") if self._is_packed else path
        self._kind = kind or _SUFFIXES.get(plain.suffix.lower(), "")
        if self._kind not in FORMATS:
            raise ImportFileError(f"{path}: unknown format; name it .csv, .tsv or .jsonl, or give --format")
        try:
            self._raw: BinaryIO = path.open("rb")
        except OSError as error:
            raise ImportFileError(f"{path} cannot be read: {error.strerror}") from error
        self.size_bytes = path.stat().st_size

    @property
    def position_bytes(self) -> int:
        """How far the file is read, in its own (packed) bytes."""
        return self.size_bytes if self._raw.closed else self._raw.tell()

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()

    def __iter__(self) -> Iterator[Case]:
        try:
            rows = self._json_rows() if self._kind == "jsonl" else self._table_rows()
            for line, row in rows:
                case = self._case(line, row)
                if case is not None:
                    yield case
        except UnicodeDecodeError as error:
            raise ImportFileError(f"{self.path} is not UTF-8 in line {self._bad_line()}; convert it first") from error
        except (OSError, EOFError, zlib.error) as error:
            raise ImportFileError(f"{self.path} cannot be read: {error}") from error
        except csv.Error as error:
            raise ImportFileError(f"{self.path} is not valid {self._kind}: {error}") from error

    def _lines(self) -> Iterator[str]:
        with self._unpacked(self._raw) as binary, io.TextIOWrapper(binary, encoding="utf-8-sig", newline="") as text:
            yield from text

    def _unpacked(self, raw: BinaryIO) -> BinaryIO:
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if self._is_packed else raw

    def _bad_line(self) -> int:
        """The first line that is not UTF-8; a decoder says only where in its buffer it stopped."""
        with self.path.open("rb") as raw, self._unpacked(raw) as binary:
            for number, line in enumerate(binary, start=1):
                try:
                    line.decode()
                except UnicodeDecodeError:
                    return number
        return 0

    def _table_rows(self) -> Iterator[tuple[int, dict[str, object]]]:
        csv.field_size_limit(MAX_FIELD_CHARS)
        delimiter = "\t" if self._kind == "tsv" else ","
        reader = csv.DictReader(self._lines(), delimiter=delimiter, strict=True)
        columns = reader.fieldnames or []
        missing = [name for name in self._columns if name is not None and name not in columns]
        if missing:
            raise ImportFileError(
                f"{self.path} has no column {', '.join(missing)}; its columns are {', '.join(columns) or 'none'}; "
                "name yours with --text and --label"
            )
        for row in reader:
            yield reader.line_num, dict(row)

    def _json_rows(self) -> Iterator[tuple[int, dict[str, object]]]:
        for number, line in enumerate(self._lines(), start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                self.rejected.append(Stored(number, "rejected", "not valid JSON"))
                continue
            if isinstance(row, dict):
                yield number, row
            else:
                self.rejected.append(Stored(number, "rejected", "not a JSON object"))

    def _case(self, line: int, row: dict[str, object]) -> Case | None:
        text, label, id_column = self._columns
        if isinstance(row.get(label), bool | int):
            row[label] = str(row[label]).lower()
        for name in filter(None, self._columns):
            fault = _fault(row.get(name), is_id=name == id_column)
            if fault is not None:
                self.rejected.append(Stored(line, "rejected", f"{fault} {name}"))
                return None
        return Case(line, str(row[text]), str(row[label]), None if id_column is None else str(row[id_column]))


def _fault(value: object, *, is_id: bool) -> str | None:
    """What is wrong with a value, None where it can be stored."""
    if is_id and isinstance(value, int) and not isinstance(value, bool):
        return None
    if not isinstance(value, str) or not value.strip():
        return "no"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "no valid Unicode in"
    # One id that is too long makes the node refuse the whole batch.
    return f"more than {MAX_ID_BYTES} bytes in" if is_id and size > MAX_ID_BYTES else None
