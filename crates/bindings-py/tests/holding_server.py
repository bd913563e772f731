"""A web server of a folder that answers for metadata at once, and for chunks once it is told to."""

import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

from range_server import Handler


class Holding(Handler):
    """Tells of the first request for a chunk, and holds all of them back until they are released."""

    asked: threading.Event
    released: threading.Event

    def do_GET(self):  # noqa: N802
        if "/c/" in self.path:
            self.asked.set()
            self.released.wait(120)
        try:
            super().do_GET()
        except (BrokenPipeError, ConnectionResetError):
            # The reader has ended.
            self.close_connection = True


@contextmanager
def held(folder):
    """Serve a folder from threads of this process; gives the handler with its events, and the URL."""
    handler = type(
        "Held", (Holding,), {"folder": folder, "asked": threading.Event(), "released": threading.Event()}
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
