"""A list as vLLM takes it, by release. Always the whole list: a scalar maximum is truncated."""

from __future__ import annotations

import json

import yaml

from core.engines.export import ExportForm, flag, json_flag, python_text, yaml_text
from core.engines.versions import Release


def vllm_forms(version: str, sizes: tuple[int, ...]) -> tuple[ExportForm, ...]:
    """JSON first: it means the same in every release from 0.8 to 0.33."""
    release = Release(version)
    config = {"cudagraph_capture_sizes": list(sizes)}
    forms = [json_flag("--compilation-config", config)]
    if release >= "0.11.1":
        forms.append(flag("--cudagraph-capture-sizes", sizes))
        forms.append(yaml_text({"cudagraph-capture-sizes": list(sizes)}))
    else:
        # --cuda-graph-sizes reads a single value as a maximum, so it cannot carry one size.
        if release >= "0.9" and len(sizes) > 1:
            forms.append(flag("--cuda-graph-sizes", sizes))
        # The file's reader hands a mapping on as Python text, which is no JSON.
        text = yaml.safe_dump({"compilation-config": json.dumps(config)}, width=10**6)
        forms.append(ExportForm("yaml", text))
    forms.append(python_text("LLM", compilation_config=config))
    return tuple(forms)
