"""mini-sglang: decode graphs by requests on a fixed grid, without a list of one's own.

Source: repository at 20fcd7f3 (2026-03-13), restated.
"""

from __future__ import annotations

from typing import Any

from core.engines.ladder import ladder, steps
from core.engines.plan import Finding, GraphCount, GraphList, Mode, Plan, Severity
from core.engines.protocol import Engine
from core.engines.settings import number, whole
from core.engines.versions import Release
from core.records import SizeUnit

SETTINGS = (
    whole("cuda_graph_max_bs", None, "Largest size; 0 switches graphs off.", minimum=0),
    number("free_memory_gib", 72.0, "Free memory before capture [GiB]; above 80 allows 256."),
    whole("max_running_requests", None, "Requests in a step at most; unset, memory decides."),
)

OFF = Finding(
    "graphs-off",
    Severity.WARNING,
    "--cuda-graph-max-bs 0: no graph is captured, every step runs eager.",
    "Leave out --cuda-graph-max-bs.",
    load="every load",
)


class MiniSglang(Engine):
    id = "mini-sglang"
    label = "mini-sglang"
    aliases = ("minisglang",)
    position = 9
    versions = ("2026-03-13",)
    settings = SETTINGS
    max_settings = ("cuda_graph_max_bs",)

    def _plan(
        self, release: Release, values: dict[str, Any], wanted: tuple[int, ...] | None
    ) -> Plan:
        largest = values["cuda_graph_max_bs"]
        if largest is None:
            largest = 256 if values["free_memory_gib"] > 80 else 160
        grid = ladder([1, 2, 4, *steps(8, largest, 8)], largest)
        sizes = grid if wanted is None else ladder(wanted)
        return Plan(
            sizes=sizes,
            unit=SizeUnit.REQUESTS,
            decode=(GraphList(Mode.FULL, sizes),) if sizes else (),
            full_load=values["max_running_requests"],
            counts=(GraphCount("decode", len(sizes)),) if sizes else (),
            notes=(NO_LIST,) if wanted is not None else (),
            findings=() if sizes else (OFF,),
            source="mini-sglang 20fcd7f3 engine graph runner (docs/engines.md)",
        )


NO_LIST = "mini-sglang takes no list of sizes; this one is a what-if."

ENGINE = MiniSglang()
