"""What swath's native part reports, as records of `logging`."""

from __future__ import annotations

import logging
from collections.abc import Sequence

# Programs that say nothing of logging are told nothing.
logging.getLogger("swath").addHandler(logging.NullHandler())


def handle(events: Sequence[tuple[int, str, str, float, str]], dropped: int) -> None:
    """Hand events to their loggers: of each its level, place, message, seconds since 1970 and thread."""
    for level, place, message, created, thread in events:
        logger = logging.getLogger(name(place))
        if not logger.isEnabledFor(level):
            continue
        record = logger.makeRecord(logger.name, level, place, 0, message, (), None)
        record.created = created
        record.msecs = created % 1 * 1000
        record.threadName = thread or record.threadName
        logger.handle(record)
    if dropped:
        logging.getLogger("swath").warning("%d more events came too fast to be logged", dropped)


def name(place: str) -> str:
    """Name the logger of a place in the code: ``swath.ioengine.media`` for ``swath_ioengine::media``."""
    return place.replace("swath_", "swath.", 1).replace("::", ".")
