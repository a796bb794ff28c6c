"""The flywheel: local answers become history, behind the response and never in its way."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sidecar.decide.sources import LabelSource
from sidecar.errors import SidecarError
from sidecar.node import CachedAnswer, Identity, Outcome
from sidecar.terms import IndexName, Scope

QUEUE_ENTRIES = 1000
BATCH_ENTRIES = 100
FLUSH_S = 10.0
OVERFLOW, UNFLUSHED, FAILED = "overflow", "unflushed", "failed"
log = logging.getLogger("sidecar.flywheel")


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer on its way.

    negative_of  the positive label that a noul denied: the label to store is found when it is written, so that no
                 request waits for it; None where `answer.label` is the label
    create       a missing index may be created
    """

    scope: Scope
    answer: CachedAnswer
    identity: Identity
    create: bool
    negative_of: str | None = None

    @property
    def index(self) -> IndexName:
        """Where it is written."""
        return self.scope.index


class Writer(Protocol):
    """Stores answers; what became of each comes back, in order."""

    async def write(
        self, index: IndexName, answers: Sequence[CachedAnswer], identity: Identity, *, create: bool
    ) -> list[Outcome]:
        """Store the answers of one index under one identity."""
        ...


class Flywheel:
    """A bounded queue and the one task that empties it. `start`, `offer` from anywhere, `stop` flushes."""

    def __init__(self, writer: Writer, labels: LabelSource, on_outcome: Callable[[str, int], None]) -> None:
        self._writer = writer
        self._labels = labels
        self._on_outcome = on_outcome
        self._queue: asyncio.Queue[Entry] = asyncio.Queue(QUEUE_ENTRIES)
        self._task: asyncio.Task[None] | None = None
        self._in_hand = 0
        self._told: set[str] = set()
        self.counts: dict[str, int] = {}

    @property
    def waiting(self) -> int:
        """Answers not yet written."""
        return self._queue.qsize() + self._in_hand

    def start(self) -> None:
        """Begin writing."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Write what is waiting, for at most `FLUSH_S` seconds; what is left then is dropped and counted."""
        if self._task is None:
            return
        try:
            async with asyncio.timeout(FLUSH_S):
                await self._queue.join()
        except TimeoutError:
            self._count(UNFLUSHED, self.waiting)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def offer(self, entries: Sequence[Entry]) -> None:
        """Queue answers without waiting; what does not fit is dropped and counted."""
        for entry in entries:
            try:
                self._queue.put_nowait(entry)
            except asyncio.QueueFull:
                self._count(OVERFLOW, 1)

    async def _run(self) -> None:
        while True:
            batch = [await self._queue.get()]
            while len(batch) < BATCH_ENTRIES and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            self._in_hand = len(batch)
            try:
                for group in _groups(batch):
                    await self._try(group)
            finally:
                self._in_hand = 0
                for _ in batch:
                    self._queue.task_done()

    async def _try(self, entries: Sequence[Entry]) -> None:
        """Write one group and count; the task lives on whatever happens."""
        try:
            outcomes = await self._write(entries)
        except Exception as error:
            self._count(FAILED, len(entries), error)
            return
        for outcome, n in Counter(outcomes).items():
            self._count(outcome.value, n)

    async def _write(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Write answers of one index and identity; of several with one id the last is written and stands for all."""
        answers = [await self._labelled(entry) for entry in entries]
        distinct = {answer.id: answer for answer in answers}
        first = entries[0]
        outcomes = await self._writer.write(first.index, list(distinct.values()), first.identity, create=first.create)
        of_id = dict(zip(distinct, outcomes, strict=True))
        return [of_id[answer.id] for answer in answers]

    async def _labelled(self, entry: Entry) -> CachedAnswer:
        if entry.negative_of is None:
            return entry.answer
        label = await negative_label(self._labels, entry.scope, entry.negative_of, entry.identity)
        return replace(entry.answer, label=label)

    def _count(self, outcome: str, n: int, error: Exception | None = None) -> None:
        """Count what became of `n` answers; a cause of drops is told once."""
        self.counts[outcome] = self.counts.get(outcome, 0) + n
        self._on_outcome(outcome, n)
        cause = outcome if error is None else f"{outcome} ({type(error).__name__})"
        if outcome != Outcome.WRITTEN and cause not in self._told:
            self._told.add(cause)
            # An exception's own words may quote a document: only its type is told.
            log.warning("a local answer was not written back; more of the same are only counted: %s", cause)


def _groups(batch: Sequence[Entry]) -> list[list[Entry]]:
    """The entries that one call may write: of one index, one identity and one right to create the index."""
    groups: dict[tuple[IndexName, str | None, bool], list[Entry]] = {}
    for entry in batch:
        groups.setdefault((entry.index, entry.identity.authorization, entry.create), []).append(entry)
    return [*groups.values()]


async def negative_label(labels: LabelSource, scope: Scope, positive: str, identity: Identity) -> str:
    """The label of a negative noul: the other one of a history with two labels, else `not {positive}`.

    Labels are counted over the documents without `source`; where they cannot be, it is `not {positive}` too.
    """
    try:
        seeded = await labels.seeded_labels(scope, identity)
    except SidecarError:
        seeded = None
    if seeded is not None and len(seeded) == 2 and positive in seeded:
        return next(label for label in seeded if label != positive)
    return f"not {positive}"
