"""A stand-in for the model hub: the few answers that its own client needs to make, fill and read a repository."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

SHA = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """What it holds, by repository and file, and what it was asked."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}
        self.messages: list[str] = []
        self.asked: list[str] = []
        self.tokens: set[str | None] = set()
        self.url = ""


@contextmanager
def local_hub() -> Iterator[Hub]:
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *told: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self._note()
            if path.startswith("/api/models/"):
                name, _, rest = path.removeprefix("/api/models/").partition("/tree/")
                name, _, revision = name.partition("/revision/")
                if name not in hub.files:
                    return self._refuse("RepoNotFound", 401)
                if (rest or revision or "main").partition("/")[0] not in ("main", SHA):
                    return self._refuse("RevisionNotFound", 404)
                tree = [_entry(file, data) for file, data in hub.files[name].items()]
                about = {"id": name, "sha": SHA, "siblings": [{"rfilename": file} for file in hub.files[name]]}
                return self._answer(tree if rest else about)
            name, _, rest = path.strip("/").partition("/resolve/")
            file = rest.partition("/")[2]
            if file not in hub.files.get(name, {}):
                return self._refuse("EntryNotFound", 404)
            self._send(hub.files[name][file])

        def do_POST(self) -> None:
            path, body = self._note(), self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if path == "/api/validate-yaml":
                return self._answer({"warnings": [], "errors": []})
            if path == "/api/repos/create":
                asked = json.loads(body)
                name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
                name = name if "/" in name else f"me/{name}"
                hub.private[name] = bool(asked.get("private")) or asked.get("visibility") == "private"
                hub.files.setdefault(name, {".gitattributes": b""})
                return self._answer({"url": f"{hub.url}/{name}", "name": name})
            name, _, kind = path.removeprefix("/api/models/").rpartition("/main")[0].rpartition("/")
            if kind == "preupload":
                files = [{**file, "uploadMode": "regular", "shouldIgnore": False} for file in json.loads(body)["files"]]
                return self._answer({"files": files})
            if kind == "commit":
                self._commit(hub.files[name], body)
                return self._answer({"commitUrl": f"{hub.url}/{name}/commit/{SHA}", "commitOid": SHA})
            self._refuse("unknown", 404)

        def _commit(self, files: dict[str, bytes], body: bytes) -> None:
            for line in map(json.loads, body.splitlines()):
                value = line["value"]
                if line["key"] == "header":
                    hub.messages.append(value["summary"])
                elif line["key"] == "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "deletedFile":
                    for file in [file for file in files if fnmatch(file, value["path"])]:
                        del files[file]

        def _note(self) -> str:
            path = unquote(urlsplit(self.path).path)
            hub.asked.append(f"{self.command} {path}")
            hub.tokens.add(self.headers.get("Authorization"))
            return path

        def _answer(self, content: Any) -> None:
            self._send(json.dumps(content).encode(), "application/json")

        def _send(self, data: bytes, kind: str = "application/octet-stream") -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
            self.send_header("X-Repo-Commit", SHA)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def _refuse(self, code: str, status: int) -> None:
            self.send_response(status)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()

    return Handler


def _entry(file: str, data: bytes) -> dict[str, Any]:
    return {"type": "file", "path": file, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
