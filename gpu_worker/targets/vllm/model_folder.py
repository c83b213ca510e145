"""Where an engine finds its model: a folder that the worker allows, or a config.json alone.

A worker reads models below the folders that its own environment lists: BUCKETWISE_MODELS, set by
`--models DIR`. Everything else runs with random weights of the shape asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from core.errors import SettingError
from core.records import EngineSpec, ModelShape

SETTING = "BUCKETWISE_MODELS"


def model_folder(engine: EngineSpec, model: ModelShape) -> tuple[str, bool]:
    """The folder, and whether its weights shall be random.

    Raises SettingError for a folder that is not allowed or holds no model.
    """
    if engine.model_dir:
        return str(allowed_folder(engine.model_dir)), False
    text = engine.config or json.dumps(config_of(model, engine.max_model_len), sort_keys=True)
    return str(_folder_of(text)), True


def _folder_of(text: str) -> Path:
    """A folder that holds this config.json: always the same, so that an engine finds again what
    it compiled for it. Raises SettingError where somebody else holds the place."""
    base = Path(tempfile.gettempdir()) / f"bucketwise-models-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    if base.is_symlink() or base.stat().st_uid != os.getuid():
        raise SettingError(f"{base} belongs to somebody else; set TMPDIR to a folder of your own.")
    folder = base / hashlib.sha256(text.encode()).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(text, "utf-8")
    return folder


def allow_models(folder: Path) -> None:
    """Let this process and those it starts read models below a folder. Raises SettingError."""
    if not folder.is_dir():
        raise SettingError(f"--models {folder} is no folder; name the one that holds your models.")
    known = os.environ.get(SETTING)
    os.environ[SETTING] = os.pathsep.join(filter(None, (known, str(folder.resolve()))))


def allowed_folder(asked: str) -> Path:
    """The folder itself, links followed. Raises SettingError."""
    roots = [Path(part).resolve() for part in os.environ.get(SETTING, "").split(os.pathsep) if part]
    if not roots:
        raise SettingError(
            f"Model folder {asked!r} is not allowed: this worker was started without --models; "
            "start it with --models DIR, the folder that holds your models."
        )
    folder = Path(asked).resolve()
    if not any(folder.is_relative_to(root) for root in roots):
        there = " or ".join(str(root) for root in roots)
        raise SettingError(
            f"Model folder {asked!r} is not allowed: it does not lie below {there}, which this "
            "worker was started with."
        )
    if not (folder / "config.json").is_file():
        raise SettingError(f"Model folder {asked!r} holds no config.json, so there is no model.")
    return folder


def config_of(model: ModelShape, max_positions: int) -> dict[str, Any]:
    """A config.json of that shape: Llama's, or Mixtral's where there are experts."""
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": model.hidden_size,
        "intermediate_size": model.ffn_size,
        "num_hidden_layers": model.num_layers,
        "num_attention_heads": model.num_heads,
        "num_key_value_heads": model.num_kv_heads,
        "head_dim": model.head_dim,
        "vocab_size": model.vocab_size,
        "max_position_embeddings": max_positions,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0,
        "torch_dtype": model.dtype,
        "tie_word_embeddings": False,
        "hidden_act": "silu",
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    if model.num_experts > 1:
        config |= {
            "architectures": ["MixtralForCausalLM"],
            "model_type": "mixtral",
            "num_local_experts": model.num_experts,
            "num_experts_per_tok": model.experts_per_token,
        }
    return config
