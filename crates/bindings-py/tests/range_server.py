"""A small web server of a folder, with ranges and entity tags: also S3, by path and without listings.

Run as a program with a folder, it prints one line of JSON with its URL and serves until its input is closed.
What was asked of it is at /-/requests.
"""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

REQUESTS = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder: Path

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        parts = urlsplit(self.path)
        if parts.path == "/-/requests":
            self.answer(200, json.dumps(REQUESTS).encode())
            return
        REQUESTS.append([self.command, self.path, dict(self.headers)])
        path = self.folder / unquote(parts.path).lstrip("/")
        if not path.is_file():
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        body, stat = path.read_bytes(), path.stat()
        tag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}"'
        wanted = self.headers.get("If-Match")
        if wanted not in (None, tag):
            self.answer(412)
            return
        headers = {
            "ETag": tag,
            "Last_Modified": self.date_time_string(int(stat.st_mtime)),
            "Accept_Ranges": "bytes",
        }
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if found is None:
            self.answer(200, body, **headers)
            return
        first, last = found.groups()
        start = int(first) if first else max(len(body) - int(last), 0)
        stop = min(int(last) + 1, len(body)) if first and last else len(body)
        if stop <= start:
            self.answer(416, Content_Range=f"bytes */{len(body)}")
            return
        self.answer(206, body[start:stop], Content_Range=f"bytes {start}-{stop - 1}/{len(body)}", **headers)


if __name__ == "__main__":
    Handler.folder = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}"}), flush=True)
    sys.stdin.read()
