"""compose.yaml, Dockerfile and the proxies' examples fit the code; no container is started here."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.store.__main__ import build_parser as store_parser
from gpu_worker.__main__ import build_parser as worker_parser
from tests.conftest import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
GUIDE = (ROOT / "docs" / "deployment.md").read_text("utf-8")
OURS = {name: service for name, service in SERVICES.items() if "build" in service}

# Fields of the Compose specification that are used here, and their types.
SERVICE_FIELDS = {
    "build": dict, "cap_drop": list, "command": list, "depends_on": dict, "deploy": dict,
    "environment": dict, "healthcheck": dict, "hostname": str, "image": str, "networks": list,
    "ports": list, "profiles": list, "read_only": bool, "restart": str, "secrets": list,
    "security_opt": list, "tmpfs": list, "volumes": list,
}  # fmt: skip
TOP_FIELDS = {"name", "services", "networks", "volumes", "secrets"}


def settings_in_code() -> set[str]:
    """Every BUCKETWISE_ setting that the code reads."""
    files = [p for room in ("app", "core", "gpu_worker") for p in (ROOT / room).rglob("*.py")]
    return {
        name
        for path in files
        for name in re.findall(r'"(BUCKETWISE_[A-Z_]+)"', path.read_text("utf-8"))
    }


def streamlit_settings() -> set[str]:
    """Every STREAMLIT_ setting that Streamlit reads."""
    from streamlit import config

    return {option.env_var for option in config.get_config_options().values()}


def test_the_file_follows_the_specification() -> None:
    """Only known fields of the right types; what services name is declared."""
    assert {key for key in COMPOSE if not key.startswith("x-")} == TOP_FIELDS
    for name, service in SERVICES.items():
        for field, value in service.items():
            assert isinstance(value, SERVICE_FIELDS[field]), f"{name}.{field}"
        assert set(service.get("networks", [])) <= set(COMPOSE["networks"])
        for other, how in service.get("depends_on", {}).items():
            needed = {"service_healthy": "healthcheck", "service_completed_successfully": "command"}
            assert needed[how["condition"]] in SERVICES[other], f"{name} waits for {other}"
        named = {item["source"] for item in service.get("secrets", [])}
        assert named <= set(COMPOSE["secrets"])
        volumes = {item.split(":")[0] for item in service.get("volumes", [])}
        assert volumes <= set(COMPOSE["volumes"])


def test_images_are_pinned_and_plain() -> None:
    """Every image has a version, none is `latest`, and none names a registry."""
    from_lines = re.findall(r"^FROM (\S+)", DOCKERFILE, re.M)
    images = [service["image"] for service in SERVICES.values()]
    images += [image for image in from_lines if image != "base"]
    assert len(images) == 5
    for image in images:
        assert re.fullmatch(r"[a-z-]+:\d+(\.\d+)+(-[a-z-]+)?", image), image


def test_every_setting_exists() -> None:
    """What compose.yaml, the Dockerfile and the guide set is read by the code or by Streamlit."""
    known = settings_in_code() | streamlit_settings()
    assert len(known) > 20
    used = set(re.findall(r"(?:STREAMLIT|BUCKETWISE)_[A-Z_]*[A-Z]", DOCKERFILE + GUIDE))
    for service in SERVICES.values():
        used |= {k for k in service.get("environment", {}) if k.startswith(("STR", "BUCK"))}
    # Of .env alone, for the file itself.
    of_the_file = {"BUCKETWISE_DATABASE_PASSWORD", "BUCKETWISE_HOSTS", "BUCKETWISE_WORKER_NAME"}
    assert used - known <= of_the_file
    text = (ROOT / "compose.yaml").read_text("utf-8")
    read = set(re.findall(r"\$\{([A-Z_]+)", text))
    assert read == of_the_file | {"BUCKETWISE_LOGIN_EMAILS"}
    assert all(name in GUIDE for name in read - {"BUCKETWISE_WORKER_NAME"})


def run_as_module(words: list[str]) -> None:
    """`python -m MODULE ...` names a module that is there, and options that it takes."""
    assert words[:2] == ["python", "-m"], words
    module, rest = words[2], words[3:]
    if module == "streamlit":
        assert rest[0] == "run" and (ROOT / rest[1]).exists()
        from streamlit import config

        flags = [word.removeprefix("--") for word in rest[2:] if word.startswith("--")]
        assert set(flags) <= set(config.get_config_options())
        return
    assert importlib.util.find_spec(f"{module}.__main__") or importlib.util.find_spec(module)
    parsers = {"core.store": store_parser, "gpu_worker": worker_parser}
    if module in parsers:
        parsers[module]().parse_args(rest)


def commands() -> list[str]:
    """Every command of the files and the guide that starts Python with a module."""
    found = [shlex.join(s["command"]) for s in SERVICES.values() if "command" in s]
    found += [shlex.join(yaml.safe_load(m)) for m in re.findall(r"CMD (\[.*\])", DOCKERFILE)]
    found += re.findall(r"`(python -m (?:core|gpu_worker|streamlit)[^`]*)`", GUIDE)
    found += re.findall(r"^ +(python -m .*)$", GUIDE, re.M)
    found += [line.split("bin/")[1] for line in re.findall(r"ExecStart=(.*)", GUIDE)]
    inside = [re.sub(r"^sh -c '(.*)'$", r"\1", text) for text in found]
    return [text for text in dict.fromkeys(inside) if text.startswith("python -m")]


@pytest.mark.parametrize("text", commands())
def test_every_command_can_be_run(text: str) -> None:
    """Modules, subcommands, options and files of each command are there."""
    run_as_module(shlex.split(text.replace('"$(hostname)"', "host").replace("\\", "")))


def test_there_are_commands_to_check() -> None:
    """Migration, dashboard, worker, health and handing over are among them."""
    text = "\n".join(commands())
    for part in ("core.store migrate", "app/server.py", "gpu_worker", "workers", "hand-over"):
        assert part in text


def test_the_images_hold_what_they_run_and_no_secret() -> None:
    """What is copied exists; each image has its rooms; the context lets no secret in."""
    copied = re.findall(r"^COPY (\S+) \S+$", DOCKERFILE, re.M)
    assert copied and all((ROOT / path).exists() for path in copied)
    stages = dict(re.findall(r"FROM \S+ AS (\w+)\n(.*?)(?=\nFROM|\Z)", DOCKERFILE, re.S))
    assert {s["build"]["target"] for s in OURS.values()} | {"base"} == set(stages)
    assert {"app", "core", "examples"} <= set(re.findall(r"COPY (\S+)", stages["dashboard"]))
    assert {"core", "gpu_worker"} <= set(re.findall(r"COPY (\S+)", stages["worker"]))
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert ignored[0] == "*"
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    assert all(any(path == a or path.startswith(f"{a}/") for a in allowed) for path in copied)
    assert not any("secret" in a or a in (".", ".streamlit", "data") for a in allowed)


def test_each_image_installs_what_its_rooms_import() -> None:
    """The lists that leave a requirement out name requirements, and only those not imported."""
    names = {line.split("==")[0] for line in (ROOT / "requirements.txt").read_text().splitlines()}
    dashboard = re.search(r"grep -v '\^(\w+)==' requirements.txt", DOCKERFILE)
    worker = re.search(r"grep -Ev '\^\(([\w|]+)\)==' requirements.txt", DOCKERFILE)
    assert dashboard and worker
    assert dashboard[1] == "torch" and set(worker[1].split("|")) <= names
    for room, left_out in (
        (("app", "core"), ["torch"]),
        (("core", "gpu_worker"), worker[1].split("|")),
    ):
        for path in (p for name in room for p in (ROOT / name).rglob("*.py")):
            text = path.read_text("utf-8")
            for library in left_out:
                assert not re.search(rf"^\s*(import|from) {library}\b", text, re.M), path


def test_nothing_runs_as_root_or_is_open_to_the_world() -> None:
    """Our processes have a user of their own, no privileges, no writable file system; only the
    dashboard has a port, of the host alone; database and worker reach nothing outside."""
    assert DOCKERFILE.count("\nUSER bucketwise\n") == len(re.findall("FROM base", DOCKERFILE)) == 2
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    for name, service in OURS.items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    for name, service in SERVICES.items():
        ports = service.get("ports", [])
        assert ports == (["127.0.0.1:8501:8501"] if name == "dashboard" else []), name
        assert ("outside" in service["networks"]) == (name == "dashboard"), name
    assert SERVICES["dashboard"]["environment"]["BUCKETWISE_REQUIRE_LOGIN"] == "1"


def test_whatever_stays_up_tells_its_health() -> None:
    """A health check in compose.yaml or in the image, for all but the migration."""
    stages = dict(re.findall(r"FROM \S+ AS (\w+)\n(.*?)(?=\nFROM|\Z)", DOCKERFILE, re.S))
    for name, service in SERVICES.items():
        of_image = "HEALTHCHECK" in stages.get(service.get("build", {}).get("target", ""), "")
        assert "healthcheck" in service or of_image, name
        assert service.get("restart") == ("no" if name == "migrate" else "unless-stopped"), name


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_the_proxies_lead_to_the_dashboard(name: str) -> None:
    """Balanced, at the port that compose.yaml opens, with strict transport security."""
    text = (ROOT / "deploy" / name).read_text("utf-8")
    plain = re.sub(r"#.*", "", text)
    assert plain.count("{") == plain.count("}") > 0
    assert "127.0.0.1:8501" in plain and "Strict-Transport-Security" in plain
    if name == "nginx.conf":
        for needed in ("proxy_set_header Host $http_host", "Upgrade $http_upgrade", "ssl_cert"):
            assert needed in plain
        log = re.search(r"log_format bucketwise '(.*)'", plain)
        assert log and "$request_uri" not in log[1] and "referer" not in log[1]
        assert '"$request"' not in log[1]


def test_secrets_are_not_in_the_repository() -> None:
    """The files that hold them are ignored, and none is there."""
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {"/secrets.toml", "/.env", ".streamlit/secrets.toml"} <= set(ignored)


def test_the_guide_is_linked() -> None:
    """README leads to it."""
    assert "docs/deployment.md" in (ROOT / "README.md").read_text("utf-8")
    assert Path(ROOT / "docs" / "deployment.md").exists()
