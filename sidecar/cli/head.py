"""`sidecar head check`: does a model directory serve as the local head, and how fast is it here."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click
import orjson

from sidecar.nli import Head, HeadQuestion, hypothesis, load_head

SAMPLES = (
    ("My parcel has not arrived and the courier lost it.", "shipping"),
    ("I was charged twice, please send a correct invoice.", "billing"),
    ("The app crashes with an error whenever I open it.", "shipping"),
)
"""Two claims that hold and one that does not: shown for a person to judge, never a test that a model must pass."""

TIMED_LABELS = 64
MIN_TIMED_S = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One scored pair."""

    premise: str
    hypothesis: str
    entailment: float


@click.group()
def head() -> None:
    """Look at the local model."""


@head.command()
@click.argument("directory", type=click.Path())
@click.option("--threads", type=click.IntRange(min=1), help="Threads of one pass; without it the library's default.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(directory: str, threads: int | None, device: str, as_json: bool) -> None:
    """Load the model in DIRECTORY, score three samples, measure throughput and memory."""
    began = time.perf_counter()
    loaded = load_head(directory, threads=threads, device=device)
    load_s = time.perf_counter() - began
    samples = _score_samples(loaded)
    pairs_per_s = _throughput(loaded)
    memory_mib = _peak_memory_mib()
    if as_json:
        report = asdict(loaded.facts) | {
            "samples": [asdict(sample) for sample in samples],
            "load_s": round(load_s, 3),
            "pairs_per_s": round(pairs_per_s, 1),
            "peak_memory_mib": memory_mib,
        }
        sys.stdout.write(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode() + "\n")
        return
    _print(loaded, samples)
    click.echo(f"load        {load_s:.1f} s")
    click.echo(f"throughput  {pairs_per_s:.0f} pairs a second ({TIMED_LABELS} labels on a text of one sentence)")
    click.echo("memory      " + ("unknown on this system" if memory_mib is None else f"{memory_mib} MiB at most"))


def _print(loaded: Head, samples: Sequence[Sample]) -> None:
    facts = loaded.facts
    rows = ", ".join(f"{row} {label}" for row, label in enumerate(facts.labels))
    click.echo(f"model       {facts.architecture}, {facts.parameters:,} parameters, float32")
    click.echo(f"classes     {rows}; entailment is row {facts.entailment_row}")
    click.echo(f"limit       {facts.limit_tokens} tokens of text and hypothesis together")
    click.echo(f"runs on     {facts.device}, threads {facts.threads}")
    for sample in samples:
        click.echo(f"  {sample.entailment:.3f}  {sample.premise}  →  {sample.hypothesis}")


def _score_samples(loaded: Head) -> list[Sample]:
    answers = loaded.score([HeadQuestion(premise, premise, (label,)) for premise, label in SAMPLES])
    return [
        Sample(premise, hypothesis(label), round(answer.entailment[0], 6))
        for (premise, label), answer in zip(SAMPLES, answers, strict=True)
    ]


def _throughput(loaded: Head) -> float:
    labels = tuple(f"about topic {number}" for number in range(TIMED_LABELS))
    question = HeadQuestion("timing", SAMPLES[0][0], labels)
    loaded.score([question])  # the first pass pays for what the library sets up
    passes, began = 0, time.perf_counter()
    while (spent_s := time.perf_counter() - began) < MIN_TIMED_S:
        loaded.score([question])
        passes += 1
    return passes * TIMED_LABELS / spent_s


def _peak_memory_mib() -> int | None:
    """The process's peak of resident memory; None where the system does not say."""
    try:
        resource = importlib.import_module("resource")
    except ImportError:  # Windows
        return None
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (2**20 if sys.platform == "darwin" else 2**10)
