"""Web servers of a folder that answer some requests at once, and the others once they are told to."""

import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit

from range_server import Handler


class Holding(Handler):
    """Tells of the first request for a chunk, and holds all of them back until they are released."""

    asked: threading.Event
    released: threading.Event

    def is_held(self):
        return "/c/" in self.path

    def do_GET(self):  # noqa: N802
        if self.is_held():
            self.asked.set()
            self.released.wait(120)
        try:
            super().do_GET()
        except (BrokenPipeError, ConnectionResetError):
            # The reader has ended.
            self.close_connection = True


class Silent(Holding):
    """Answers reads of one group's own documents; holds back all else, writes and listings too."""

    def is_held(self):
        folder = urlsplit(self.path).path.rpartition("/")[0]
        return not (self.command == "GET" and folder.endswith("/answered.zarr"))

    do_PUT = do_POST = do_DELETE = Holding.do_GET  # noqa: N815


@contextmanager
def held(folder, kind=Holding):
    """Serve a folder from threads of this process; gives the handler with its events, and the URL."""
    handler = type(
        "Held", (kind,), {"folder": folder, "asked": threading.Event(), "released": threading.Event()}
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield handler, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        handler.released.set()
        server.shutdown()
        server.server_close()
