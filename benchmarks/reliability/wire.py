"""A browser tab without a browser: Streamlit's own websocket protocol, message by message."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

XSRF = "X-Xsrftoken"
KEPT_RUNS = 2
"""A browser keeps large messages for this many runs of the script, and says which it has."""


@dataclass(frozen=True)
class Run:
    """One run of a page's script as the tab saw it.

    seconds : from sending the change to the message that the script has finished [s]
    num_bytes : received
    errors : exceptions and error boxes on the page, and a script that did not end well
    """

    seconds: float
    num_bytes: int
    errors: tuple[str, ...]


@dataclass
class _Seen:
    """What one run has brought so far."""

    num_bytes: int = 0
    errors: list[str] = field(default_factory=list)
    finished: bool = False


class Tab:
    """One tab on one page. Use as `async with Tab(address, "buckets", "example=1") as tab`.

    charts : {key: Plotly figure as JSON}, as last drawn
    """

    def __init__(self, address: str, page: str = "", query: str = "") -> None:
        """address : "http://host:port"; page : "" is the first page"""
        self._address = address
        self._page, self._query = page, query
        self._socket: ClientConnection | None = None
        self._hash = self._session_id = ""
        self._widgets: dict[str, str] = {}
        self._states: dict[str, WidgetState] = {}
        self._large: dict[str, tuple[int, ForwardMsg]] = {}
        self._run = 0
        self.charts: dict[str, str] = {}

    async def __aenter__(self) -> Tab:
        self._socket = await connect(
            self._address.replace("http", "ws", 1) + "/_stcore/stream",
            origin=self._address,  # pyright: ignore[reportArgumentType]
            subprotocols=["streamlit"],  # pyright: ignore[reportArgumentType]
            max_size=None,
            compression=None,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def load(self) -> Run:
        """The first run of the page."""
        message = BackMsg()
        message.rerun_script.page_name = self._page
        return await self._send(message)

    async def change(self, values: Mapping[str, Any]) -> Run:
        """Set widgets by their keys, as one edit, and wait until the page is drawn.

        Raises KeyError if the page has no such widget.
        """
        for key, value in values.items():
            widget_id = self._widgets[key]
            self._states[widget_id] = _state(widget_id, value)
        message = BackMsg()
        message.rerun_script.page_script_hash = self._hash
        return await self._send(message)

    async def upload(self, key: str, name: str, data: bytes) -> Run:
        """Give a file to the uploader of this key, as a browser does, and wait for the page.

        Raises KeyError if the page has no such widget, httpx.HTTPError if the file is refused.
        """
        message = BackMsg()
        request = message.file_urls_request
        request.request_id, request.session_id = "upload", self._session_id
        request.file_names.append(name)
        urls = (await self._ask(message, "file_urls_response")).file_urls_response.file_urls[0]
        await _put_file(self._address, urls.upload_url, name, data)
        state = WidgetState(id=self._widgets[key])
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = name, len(data), urls.file_id
        info.file_urls.CopyFrom(urls)
        self._states[state.id] = state
        return await self.change({})

    async def _ask(self, message: BackMsg, kind: str) -> ForwardMsg:
        """The answer of this kind; nothing else comes while no script runs."""
        assert self._socket is not None
        await self._socket.send(message.SerializeToString())
        while True:
            data = await self._socket.recv()
            assert isinstance(data, bytes)
            answer = ForwardMsg.FromString(data)
            if answer.WhichOneof("type") == kind:
                return answer

    async def _send(self, message: BackMsg) -> Run:
        assert self._socket is not None
        rerun = message.rerun_script
        rerun.query_string = self._query
        rerun.widget_states.widgets.extend(self._states.values())
        self._run += 1
        self._large = {k: v for k, v in self._large.items() if v[0] >= self._run - KEPT_RUNS}
        rerun.cached_message_hashes.extend(self._large)
        seen, begin = _Seen(), time.perf_counter()
        await self._socket.send(message.SerializeToString())
        while not seen.finished:
            data = await self._socket.recv()
            assert isinstance(data, bytes)
            seen.num_bytes += len(data)
            self._take(ForwardMsg.FromString(data), seen)
        return Run(time.perf_counter() - begin, seen.num_bytes, tuple(seen.errors))

    def _take(self, message: ForwardMsg, seen: _Seen) -> None:
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            message = self._large[message.ref_hash][1]
            kind = message.WhichOneof("type")
        if message.metadata.cacheable and message.hash:
            self._large[message.hash] = (self._run, message)
        if kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._look_at(message.delta.new_element, seen)
        elif kind == "new_session":
            self._session_id = message.new_session.initialize.session_id
        elif kind == "navigation":
            self._hash = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "page_not_found":
            seen.errors.append(f"page {self._page!r} is not there")
        elif kind == "script_finished":
            self._finish(message.script_finished, seen)

    def _finish(self, status: int, seen: _Seen) -> None:
        if status == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            return  # the script asked for another run, which follows
        if status == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            seen.errors.append("the script does not compile")
        seen.finished = True

    def _look_at(self, element: Element, seen: _Seen) -> None:
        kind = element.WhichOneof("type")
        if kind is None:
            return
        inside = getattr(element, kind)
        if kind == "exception":
            seen.errors.append(f"{inside.type}: {inside.message}")
        elif kind == "alert" and inside.format == inside.ERROR:
            seen.errors.append(inside.body)
        widget_id = getattr(inside, "id", "")
        if isinstance(widget_id, str) and widget_id.startswith("$$ID-"):
            key = widget_id.split("-", 2)[2]
            self._widgets[key] = widget_id
            if kind == "plotly_chart":
                self.charts[key] = inside.spec


async def _put_file(address: str, url: str, name: str, data: bytes) -> None:
    async with httpx.AsyncClient(base_url=address, timeout=60.0) as client:
        await client.get("/_stcore/health")
        token = client.cookies["_streamlit_xsrf"]
        answer = await client.put(url, files={"file": (name, data)}, headers={XSRF: token})
        answer.raise_for_status()


def _state(widget_id: str, value: Any) -> WidgetState:
    if isinstance(value, str):
        return WidgetState(id=widget_id, string_value=value)
    if isinstance(value, (int, float)):
        return WidgetState(id=widget_id, double_value=float(value))
    made = WidgetState(id=widget_id)
    made.string_array_value.data.extend(value)
    return made
