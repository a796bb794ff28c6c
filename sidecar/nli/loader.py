"""The one door to disk: a model directory becomes a `Head`.

torch and transformers are imported here, inside functions, and by name: they are an extra of the package and take
seconds, so that only a process that arms the head pays for them. Nothing is downloaded and no code of a model runs.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import LocalUnavailable
from sidecar.nli.head import MAX_LENGTH, Head, HeadFacts
from sidecar.nli.labels import entailment_row
from sidecar.nli.pairs import Frame, Tokens, find_frame

FILES = ("config.json", "tokenizer.json", "model.safetensors")
VARIABLE = "SIDECAR_LOCAL__MODEL_DIR (or XERJ_DECIDE_MODEL_DIR)"

BATCH_TOKENS = {"cpu": 4_096, "cuda": 65_536}
"""Tokens of one batch: large enough to fill the cores, small enough for the activations to stay in their caches."""

PROBES = (("A parcel is late.", "It is about shipping."), ("x", "y z"), ("", "Nothing."), ("many words " * 400, "End."))


def check_model_dir(path: str | Path) -> Path:
    """The directory, if it holds the three files.

    Raises  LocalUnavailable naming cause, directory, missing files and variable
    """
    directory = Path(path)
    if not str(path).strip():
        raise _unavailable("no model directory is set", directory)
    try:
        if not directory.is_dir():
            raise _unavailable("it is no directory" if directory.exists() else "it does not exist", directory)
        missing = [name for name in FILES if not (directory / name).is_file()]
    except (OSError, ValueError) as error:  # no permission, NUL in the path
        raise _unavailable(str(error), directory) from error
    if missing:
        raise _unavailable(f"missing: {', '.join(missing)}", directory)
    return directory


def load_head(model_dir: str | Path, *, threads: int | None = None, device: str = "auto") -> Head:
    """Load the directory's model in float32; blocks for as long as that takes, so call it off the event loop.

    threads  of one forward pass on the CPU; None leaves the library's default (the physical cores)
    device   `cpu`, `cuda` or `auto`: CUDA where there is one
    Raises   LocalUnavailable; a model that loads is also one that scored a probe
    """
    directory = check_model_dir(model_dir)
    torch, transformers = _libraries(directory)
    try:
        return _load(torch, transformers, directory, threads, device)
    except LocalUnavailable as error:
        raise _unavailable(str(error), directory) from error
    except Exception as error:  # whatever the libraries raise: broken JSON, weights that do not fit, no memory
        raise _unavailable(_first_line(error), directory) from error


def _load(torch: Any, transformers: Any, directory: Path, threads: int | None, device: str) -> Head:
    offline = {"local_files_only": True, "trust_remote_code": False}
    config = transformers.AutoConfig.from_pretrained(directory, **offline)
    row = entailment_row(config.id2label)
    if len(config.id2label) < 2:
        raise LocalUnavailable("a model with one class cannot tell what is entailed from what is not")
    if hasattr(config, "reference_compile"):
        config.reference_compile = False  # older ModernBERT code would call a C compiler at run time
    texts = _Texts.of(importlib.import_module("tokenizers").Tokenizer.from_file(str(directory / "tokenizer.json")))
    habits = _tokenizer_config(directory)
    model, info = transformers.AutoModelForSequenceClassification.from_pretrained(
        directory, config=config, use_safetensors=True, output_loading_info=True, torch_dtype=torch.float32, **offline
    )
    _check_weights(info)
    where = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    model = model.to(where).float().eval()
    forward = _forward(torch, model, where, threads, takes_types=_takes_types(model, texts.frame, habits))
    if forward(*texts.probe()).shape != (1, len(config.id2label)):
        raise LocalUnavailable(
            f"the model's output does not have the {len(config.id2label)} classes of its config.json"
        )
    facts = HeadFacts(
        directory=str(directory),
        architecture=type(model).__name__,
        labels=tuple(str(label) for _, label in sorted(config.id2label.items())),
        entailment_row=row,
        limit_tokens=_limit(torch, model, habits),
        parameters=sum(weights.numel() for weights in model.parameters()),
        device=where,
        threads=torch.get_num_threads(),
    )
    return Head(facts, texts.encode, texts.frame, forward, batch_tokens=BATCH_TOKENS[torch.device(where).type])


def _libraries(directory: Path) -> tuple[Any, Any]:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # one thread count, the one of `threads`
    try:
        torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
        importlib.import_module("safetensors")
    except ImportError as error:
        raise _unavailable(f"{error}; run pip install 'decide-sidecar[local]'", directory) from error
    logging = importlib.import_module("transformers.utils.logging")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return torch, transformers


@dataclass(frozen=True, slots=True)
class _Texts:
    """The model's tokenizer, text by text, and the frame it puts around pairs.

    tokenizer.json says all of it. The library's tokenizer classes may rebuild parts of it by architecture, and where
    tokenizer_config.json is absent they rebuild wrongly (seen in transformers 5.24: BERT and DeBERTa).
    """

    backend: Any
    frame: Frame

    @classmethod
    def of(cls, backend: Any) -> _Texts:
        """Read the frame off a probe, and make sure that it gives what the tokenizer itself gives for other pairs."""
        backend.no_truncation()
        backend.no_padding()
        encoded = backend.encode(*PROBES[0])
        frame = find_frame(encoded.ids, encoded.type_ids, encoded.sequence_ids)
        if frame is None:
            raise LocalUnavailable("its tokenizer joins two texts in an unknown way")
        texts = cls(backend, frame)
        for premise, claim in PROBES:
            whole = backend.encode(premise, claim)
            first, second = texts.encode([premise, claim])
            joined = (frame.join(first, second), frame.join_types(len(first), len(second)))
            if (tuple(whole.ids), tuple(whole.type_ids)) != joined:
                raise LocalUnavailable("its tokenizer joins two texts in a way that depends on the texts")
        return texts

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Token ids of each text, without special tokens."""
        return [tuple(encoded.ids) for encoded in self.backend.encode_batch(list(texts), add_special_tokens=False)]

    def probe(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """One short pair as the model takes it."""
        first, second = self.encode(PROBES[0])
        ids, types = self.frame.join(first, second), self.frame.join_types(len(first), len(second))
        return np.array([ids], dtype=np.int64), np.array([types], dtype=np.int64)


def _forward(
    torch: Any, model: Any, device: str, threads: int | None, *, takes_types: bool
) -> Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]:
    def forward(ids: NDArray[np.int64], types: NDArray[np.int64]) -> NDArray[np.float32]:
        if threads is not None and torch.get_num_threads() != threads:
            torch.set_num_threads(threads)  # the count belongs to the calling thread, and any thread may call
        with torch.inference_mode():
            inputs = {"input_ids": torch.from_numpy(ids).to(device)}
            inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
            if takes_types:
                inputs["token_type_ids"] = torch.from_numpy(types).to(device)
            logits: NDArray[np.float32] = model(**inputs).logits.float().cpu().numpy()
        return logits

    return forward


def _check_weights(info: Any) -> None:
    """Refuse what the library only warns of: weights that are not in the file would be random numbers."""
    absent = sorted({*map(str, info["missing_keys"]), *(str(key[0]) for key in info.get("mismatched_keys", ()))})
    if absent:
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        raise LocalUnavailable(f"model.safetensors does not hold {', '.join(absent[:3])}{more} as config.json wants it")


def _tokenizer_config(directory: Path) -> dict[str, Any]:
    """tokenizer_config.json, where there is one: the length and the inputs that the model was published with."""
    try:
        habits = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return habits if isinstance(habits, dict) else {}


def _takes_types(model: Any, frame: Frame, habits: dict[str, Any]) -> bool:
    """Whether the model reads token types: as published, else if it has a place and enough rows for them."""
    if "token_type_ids" not in inspect.signature(model.forward).parameters:
        return False
    if isinstance(names := habits.get("model_input_names"), list):
        return "token_type_ids" in names
    known = getattr(model.config, "type_vocab_size", None)
    return known is None or known > max(frame.types)


def _limit(torch: Any, model: Any, habits: dict[str, Any]) -> int:
    """Tokens of a pair: the smallest of 512, the published length and the positions that the model knows."""
    limits = [MAX_LENGTH]
    for known in (habits.get("model_max_length"), getattr(model.config, "max_position_embeddings", None)):
        if isinstance(known, int | float) and known > 0:
            limits.append(int(min(known, MAX_LENGTH)))
    for name, module in model.named_modules():
        # RoBERTa and its kin count positions from behind the padding id
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            limits.append(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    return min(limits)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _unavailable(cause: str, directory: Path) -> LocalUnavailable:
    return LocalUnavailable(
        f'the local model cannot load from "{directory}": {cause}; '
        f"it takes a directory with {FILES[0]}, {FILES[1]} and {FILES[2]}, set by {VARIABLE}"
    )
