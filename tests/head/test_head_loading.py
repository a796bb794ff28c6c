"""Model directories, good and bad, and what loading may not do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.errors import LocalUnavailable
from sidecar.nli import HeadQuestion, check_model_dir, load_head

pytestmark = pytest.mark.timeout(120)

THREE = ("config.json", "tokenizer.json", "model.safetensors")


@pytest.fixture
def model_dir(tiny_model_dir: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(tiny_model_dir, tmp_path / "model"))


def edit_config(directory: Path, **changes: Any) -> None:
    file = directory / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


@pytest.mark.parametrize("missing", [THREE[:1], THREE[1:2], THREE[2:], THREE[1:], THREE], ids=",".join)
def test_missing_files_are_named(tmp_path: Path, missing: tuple[str, ...]) -> None:
    for name in set(THREE) - set(missing):
        (tmp_path / name).touch()
    with pytest.raises(LocalUnavailable) as caught:
        check_model_dir(tmp_path)
    message = str(caught.value)
    assert f"missing: {', '.join(missing)};" in message
    assert str(tmp_path) in message
    assert "SIDECAR_LOCAL__MODEL_DIR" in message
    assert "XERJ_DECIDE_MODEL_DIR" in message


@pytest.mark.parametrize("path", ["", "/does/not/exist", __file__, "a\0b"], ids=["unset", "absent", "a_file", "nul"])
def test_what_is_no_directory_is_refused(path: str) -> None:
    with pytest.raises(LocalUnavailable, match=r"model\.safetensors"):
        check_model_dir(path)


SPOILED: dict[str, tuple[Callable[[Path], object], str]] = {
    "config_is_no_json": (lambda d: (d / "config.json").write_text("{"), "config.json|JSON"),
    "unknown_architecture": (lambda d: edit_config(d, model_type="never-heard-of"), "never-heard-of"),
    "own_code": (
        lambda d: edit_config(d, model_type="own", auto_map={"AutoConfig": "configuration_own.OwnConfig"}),
        "own|custom code|trust_remote_code",
    ),
    "labels_without_entailment": (lambda d: edit_config(d, id2label={"0": "spam", "1": "ham"}), '"spam", "ham"'),
    "one_class": (
        lambda d: edit_config(d, id2label={"0": "entailment"}, problem_type=None),
        "one class",
    ),
    "other_shape": (lambda d: edit_config(d, hidden_size=128), "RuntimeError|does not hold"),
    "more_layers_than_weights": (
        lambda d: edit_config(d, num_hidden_layers=3, layer_types=None),
        "does not hold",
    ),
    "weights_are_no_safetensors": (lambda d: (d / "model.safetensors").write_bytes(b"\0" * 100), "Safetensor|header"),
    "weights_cut_short": (
        lambda d: (d / "model.safetensors").write_bytes((d / "model.safetensors").read_bytes()[:-1000]),
        "Safetensor|incomplete",
    ),
    "tokenizer_is_no_json": (lambda d: (d / "tokenizer.json").write_text("nonsense"), "."),
    "tokenizer_is_empty": (lambda d: (d / "tokenizer.json").write_text("{}"), "."),
}


@pytest.mark.parametrize(("spoil", "cause"), SPOILED.values(), ids=SPOILED)
def test_a_spoiled_directory_is_refused_with_its_cause(
    model_dir: Path, spoil: Callable[[Path], object], cause: str
) -> None:
    spoil(model_dir)
    with pytest.raises(LocalUnavailable, match=cause) as caught:
        load_head(model_dir, device="cpu")
    message = str(caught.value)
    assert str(model_dir) in message
    assert all(name in message for name in THREE)
    assert message.count("cannot load from") == 1
    assert len(message) < 1_000


def test_a_missing_library_is_named_with_the_way_to_get_it(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(LocalUnavailable, match=r"pip install 'decide-sidecar\[local\]'"):
        load_head(model_dir)


def test_a_lower_limit_of_the_model_holds(model_dir: Path) -> None:
    edit_config(model_dir, max_position_embeddings=64)
    head = load_head(model_dir, device="cpu")
    assert head.facts.limit_tokens == 64
    (answer,) = head.score([HeadQuestion("q", "parcel " * 100, ("spam",))])
    assert answer.premise_cut is not None
    assert answer.premise_cut[0] < 64


ARCHITECTURES: dict[str, tuple[str, dict[str, Any], int]] = {
    "bert": ("Bert", {"type_vocab_size": 2, "max_position_embeddings": 128}, 128),
    "roberta": ("Roberta", {"type_vocab_size": 1, "max_position_embeddings": 130, "pad_token_id": 1}, 128),
    "deberta_v2": (
        "DebertaV2",
        {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 16, "type_vocab_size": 0}
        | {"share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False},
        512,
    ),
    "distilbert": ("DistilBert", {"dim": 32, "hidden_dim": 64, "n_heads": 4, "n_layers": 2}, 512),
}


@pytest.mark.parametrize(("name", "extra", "limit"), ARCHITECTURES.values(), ids=ARCHITECTURES)
def test_other_architectures_score_as_in_the_library(
    name: str, extra: dict[str, Any], limit: int, tiny_model_dir: Path, tmp_path: Path
) -> None:
    """Random weights, three classes, the three files only, against the library's own padded batch."""
    import torch
    import transformers

    shape: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    shape["initializer_range"] = 0.3  # or all scores are alike
    labels = {0: "contradiction", 1: "neutral", 2: "entailment"}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(tiny_model_dir / "tokenizer.json"), pad_token="[PAD]", model_max_length=limit
    )
    torch.manual_seed(2)
    config = getattr(transformers, f"{name}Config")(
        vocab_size=len(tokenizer),
        id2label=labels,
        label2id={label: i for i, label in labels.items()},
        **(shape | extra),
    )
    model = getattr(transformers, f"{name}ForSequenceClassification")(config).eval()
    model.save_pretrained(tmp_path)
    shutil.copy(tiny_model_dir / "tokenizer.json", tmp_path)

    head = load_head(tmp_path, threads=1, device="cpu")
    assert head.facts.limit_tokens == limit
    texts = ["my parcel is late", "i was charged twice and want a refund please", "word " * 300]
    asked = ("shipping", "not shipping", "feature-requests")
    answers = head.score([HeadQuestion("q", text, asked) for text in texts])

    pairs = [(text, f"This example is {label}.") for text in texts for label in asked]
    batch = tokenizer(
        [first for first, _ in pairs],
        [second for _, second in pairs],
        truncation="only_first",
        padding=True,
        return_tensors="pt",
    )
    if extra.get("type_vocab_size", 0) < 2:
        batch.pop("token_type_ids", None)
    with torch.inference_mode():
        reference = model(**batch).logits.softmax(-1)[:, 2].reshape(len(texts), len(asked)).numpy()
    ours = np.array([answer.entailment for answer in answers])
    assert reference.std() >= 0.02
    assert np.abs(ours - reference).max() <= 1e-4


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_room_imports_no_model_library() -> None:
    heavy = '{"torch", "transformers", "tokenizers", "safetensors", "huggingface_hub"}'
    assert run_python(f"import sys, sidecar.nli, sidecar.nli.loader; print({heavy} & set(sys.modules))") == "set()\n"


def test_loading_opens_no_connection_and_says_nothing(tiny_model_dir: Path) -> None:
    code = f"""
import socket
def refuse(*args, **kwargs):
    raise AssertionError("a connection was tried")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
from sidecar.nli import HeadQuestion, load_head
load_head({str(tiny_model_dir)!r}).score([HeadQuestion("q", "my parcel", ("shipping",))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
