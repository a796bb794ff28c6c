"""Everything that can go wrong and that somebody is told about.

Each class says whose fault it is; `sidecar.api.errors` alone turns them into a status and a body.
Messages name the thing, the value, what is allowed and what to do; never credentials or a document's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class SidecarError(Exception):
    """Base of every error with a message meant for a person."""


class SettingsError(SidecarError):
    """A setting is unknown or impossible; the start is refused."""


class EngineError(SidecarError):
    """A node could not be fetched, started or stopped; the message says what to do."""


class ImportFileError(SidecarError):
    """A file of decided cases cannot be read or loaded."""


class CorrectionError(SidecarError):
    """A correction cannot be stored, or is stored and does not vote."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One violation of a request's schema, in the wire's list form (`loc`, `msg`, `type`)."""

    loc: tuple[str | int, ...]
    msg: str
    type: str


class SchemaViolation(SidecarError):
    """The caller's JSON does not have the documented shape."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            "; ".join(f"{'.'.join(str(part) for part in problem.loc)}: {problem.msg}" for problem in problems)
        )


class IllegalArgument(SidecarError):
    """The caller's request is well formed but cannot be meant (a broken reference, a bad index name)."""


class TooLong(SidecarError):
    """The request is above a size limit. `setting` is the setting that raises the limit."""

    def __init__(self, message: str, *, limit: int, actual: int, setting: str, questions: Sequence[str] = ()) -> None:
        self.limit = limit
        self.actual = actual
        self.setting = setting
        self.questions = tuple(questions)
        super().__init__(f"{message}; limit {limit} ({setting}), got {actual}")


class NoSupport(SidecarError):
    """History is silent on some questions and no other tier may answer. Names all of them."""

    def __init__(self, message: str, *, questions: Sequence[str]) -> None:
        self.questions = tuple(questions)
        super().__init__(message)


class HistoryIndexError(SidecarError):
    """The history index is missing or its fields cannot vote."""


class IndexMissing(HistoryIndexError):
    """The history index does not exist: the one index error that the local tier may answer instead."""


class NotConfigured(SidecarError):
    """No history is configured and no local model is armed."""


class LocalUnavailable(SidecarError):
    """The local model cannot load or score."""


class HistoryUnavailable(SidecarError):
    """The node is unreachable or answered in part; `deadline` when the time ran out instead."""

    def __init__(self, message: str, *, deadline: bool = False) -> None:
        self.deadline = deadline
        super().__init__(message)


class UpstreamOverloaded(SidecarError):
    """The node refused work (429); passed on, never retried into a storm."""


class NotAllowedByNode(SidecarError):
    """The node refused the credentials with 401 or 403; `challenges` are its WWW-Authenticate lines."""

    def __init__(self, message: str, *, status: int, challenges: Sequence[str] = ()) -> None:
        self.status = status
        self.challenges = tuple(challenges)
        super().__init__(message)


class KeyRefused(SidecarError):
    """The sidecar key is missing or wrong, or not meant for this history (`forbidden`)."""

    def __init__(self, message: str, *, forbidden: bool = False) -> None:
        self.forbidden = forbidden
        super().__init__(message)


class TooManyRequests(SidecarError):
    """The sidecar's own concurrency limit is reached."""


class UnknownPath(SidecarError):
    """Nothing is served under this path."""


class MethodNotAllowed(SidecarError):
    """The path is ours but not with this method; `allowed` lists those that are."""

    def __init__(self, message: str, *, allowed: Sequence[str]) -> None:
        self.allowed = tuple(allowed)
        super().__init__(message)


class UnsupportedMedia(SidecarError):
    """A media type or content coding that the decision surfaces do not read."""
