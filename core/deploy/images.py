"""Container images: which engine they hold, and whether their tag is its release.

Source: the names under which the engines publish their images, and what those tags count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_RELEASE = re.compile(r"v?(\d+\.\d+(?:\.\d+)*(?:\.?(?:post|rc|a|b)\d+)?)(?=$|[-_+.])")
_ROCM = re.compile(r"vllm_(\d+\.\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class ImageRule:
    """pattern : over the name without tag; own_tag : whether the tag is the engine's release."""

    pattern: str
    engine: str
    own_tag: bool = True


RULES = (
    ImageRule(r"vllm-ascend", "ascend"),
    ImageRule(r"habana|gaudi|(?:^|[/-])hpu(?:$|[/-])", "gaudi", own_tag=False),
    ImageRule(r"^nvcr\.io/nvidia/(?:ai-dynamo/)?vllm", "vllm", own_tag=False),
    ImageRule(r"^nvcr\.io/nvidia/(?:ai-dynamo/)?sglang", "sglang", own_tag=False),
    ImageRule(r"ai-dynamo/(?:tensorrtllm|trtllm)", "trtllm", own_tag=False),
    ImageRule(r"(?:^|/)rocm/vllm", "vllm", own_tag=False),
    ImageRule(r"tensorrt-llm/(?:release|devel)$|(?:^|/)tensorrt[-_]llm$", "trtllm"),
    ImageRule(r"text-generation-inference|(?:^|/)tgi$", "tgi"),
    ImageRule(r"lmdeploy", "lmdeploy"),
    ImageRule(r"fastdeploy", "fastdeploy", own_tag=False),
    ImageRule(r"(?:^|/)mini-?sglang", "mini-sglang", own_tag=False),
    ImageRule(r"(?:^|/)sglang(?:-\w+)*$", "sglang"),
    ImageRule(r"(?:^|/)vllm(?:-(?:openai|release-repo|cpu|server|openai-\w+))?$", "vllm"),
    ImageRule(r"(?:^|[/_-])vllm(?:$|[/_-])", "vllm", own_tag=False),
    ImageRule(r"(?:^|/)llm-d(?:-cuda|-xpu|-rocm|-aws)?$", "vllm", own_tag=False),
    ImageRule(r"(?:^|[/_-])sglang(?:$|[/_-])", "sglang", own_tag=False),
    ImageRule(r"(?:^|[/_-])(?:trtllm|tensorrt-?llm)(?:$|[/_-])", "trtllm", own_tag=False),
)


@dataclass(frozen=True)
class ImageSays:
    """engine : its id; release : None where the tag does not say it; why : a sentence then."""

    engine: str
    release: str | None
    why: str = ""


def image_says(image: str) -> ImageSays | None:
    """What an image's name and tag say; None for an image of no known engine."""
    name, tag = split_image(image)
    # Triton's images name their backend in the tag, which counts Triton's own releases.
    looked_at = tag if name.endswith("tritonserver") else name
    rule = next((rule for rule in RULES if re.search(rule.pattern, looked_at)), None)
    if rule is None:
        return None
    release = _release(rule, name, tag)
    shown = f"the tag {tag!r}" if tag else "no tag, which"
    why = "" if release else f"image {image}: {shown} names no release of the engine"
    return ImageSays(rule.engine, release, why)


def split_image(image: str) -> tuple[str, str]:
    """(name, tag) without digest, in lower case; a port is no tag."""
    plain = image.strip().partition("@")[0].lower()
    head, slash, last = plain.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{head}{slash}{name}", tag


def _release(rule: ImageRule, name: str, tag: str) -> str | None:
    if "rocm" in name or not rule.own_tag:
        match = _ROCM.search(tag) if "vllm" in name else None
        return match[1] if match else None
    match = _RELEASE.match(tag)
    return match[1] if match else None
