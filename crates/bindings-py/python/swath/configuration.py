"""`swath.config`: what swath does where nobody says otherwise."""

from __future__ import annotations

import json
import os
import sys
import threading
import uuid
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from swath import _swath
from swath.errors import InvalidError

FILE_ACCESS = ("probe", "mapped", "buffered", "direct", "io_uring", "pread")

# The level of logging's WARNING, which is in force until somebody imports it.
WARNING = 30


# What environment variables say for a bool.
WORDS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)


class Option(NamedTuple):
    """One option: what it is where nothing says otherwise, what it may be, and what it says."""

    default: Any
    check: Callable[[Any], Any]
    """Gives the value that a value, or the text of an environment variable, stands for."""
    about: str


def _whole(least: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        try:
            number = int(value) if isinstance(value, str) else value.__index__()
        except (AttributeError, ValueError):
            number = least - 1
        if number < least:
            raise InvalidError(f"wanted an int of at least {least}, found {value!r}")
        return int(number)

    return check


def _size(value: Any) -> int:
    return _swath._bytes(value) if isinstance(value, str) else _whole(0)(value)


def _budget(value: Any) -> int:
    return _whole(1)(_size(value))


def _one_of(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in names:
            raise InvalidError(f"wanted one of {', '.join(names)}, found {json.dumps(value, default=repr)}")
        return str(value)

    return check


def _freshness(value: Any) -> str | float:
    if value in ("checked", "immutable"):
        return str(value)
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InvalidError(f"wanted 'checked', 'immutable' or a number of seconds, found {value!r}")
    return seconds


def _folder(value: Any) -> str:
    if not isinstance(value, str | PathLike):
        raise InvalidError(f"wanted a path, found {value!r}")
    return os.fsdecode(fspath(value))


def _yes(value: Any) -> bool:
    found = WORDS.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise InvalidError(f"wanted a bool, found {value!r}")
    return found


OPTIONS: Mapping[str, Option] = {
    "num_threads": Option(
        None,
        _whole(1),
        "threads. None: as many as a worker of dask's has, else as the process may use processors",
    ),
    "memory_bytes": Option(
        None,
        _budget,
        "bytes that reads and writes under way may take beside their results",
    ),
    "queue_depth": Option(None, _whole(1), "reads that a thread keeps in flight on a local device"),
    "remote_queue_depth": Option(None, _whole(1), "requests that a thread keeps in flight over a network"),
    "merged_bytes": Option(None, _budget, "bytes of one merged read of a local device"),
    "remote_merged_bytes": Option(None, _budget, "bytes of one merged request"),
    "remote_waste_percent": Option(
        None, _whole(0), "bytes that requests may bring for each hundred wanted, to be fewer"
    ),
    "coalesce": Option(
        None, _size, "`coalesce` of `swath.io.get_ranges`. None: what is cheapest where the object is"
    ),
    "open_files": Option(None, _whole(1), "files that are kept open between reads"),
    "file_access": Option(
        None, _one_of(*FILE_ACCESS), "how files are read, as for `swath.set_file_access`. None: probe"
    ),
    "decoded_cache_bytes": Option(0, _size, "`decoded_cache_bytes` of `swath.open`"),
    "cache": Option(None, _size, "`cache` of `swath.open`"),
    "cache_dir": Option(None, _folder, "`cache_dir` of `swath.open`"),
    "cache_freshness": Option("checked", _freshness, "`cache_freshness` of `swath.open`"),
    "checksums": Option("verify", _one_of("verify", "skip"), "`checksums` of `swath.open`"),
    "progress": Option(False, _yes, "whether long reads and writes show how far they are"),
}

# What the engine takes by these names.
BOUNDS = (
    "memory_bytes",
    "queue_depth",
    "remote_queue_depth",
    "merged_bytes",
    "remote_merged_bytes",
    "remote_waste_percent",
    "open_files",
)

# What belongs to a process, or whoever sits before it.
OWN = frozenset({"progress"})


class Defaults(NamedTuple):
    """What `swath.open` does where its arguments do not say."""

    decoded_cache_bytes: int
    cache: int | None
    cache_dir: str | None
    cache_freshness: str | float
    checksums: str


class Config:
    """What swath does where nobody says otherwise: `swath.config`.

    ``swath.config.set({"num_threads": 4})`` holds from then on, and with ``with`` until the block ends; so
    does ``swath.config.set(num_threads=4)``. ``swath.config.get("num_threads")`` tells what holds. What is
    None, or was never set, is as the environment variable ``SWATH_NUM_THREADS`` says, and so for every
    option; else as by default. ``swath.config.options()`` lists them all, docs/configuration.md says what
    they are.

    Options hold for the process. Where an array or a group is pickled, what was set goes along: a worker
    process of dask or multiprocessing that takes it out does as the process did that it comes from, unless
    options were set in the worker itself.

    Examples
    --------
    >>> with swath.config.set({"num_threads": 1}):
    ...     swath.config.get("num_threads")
    1
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._told: dict[str, Any] = {}
        self._adopted: dict[str, Any] = {}
        self._environment: dict[str, Any] = {}
        self._wrong: dict[str, str] = {}
        self._process = uuid.uuid4().hex
        self._applied: tuple[Any, ...] = (None, {}, None, False)
        self.refresh()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def get(self, key: str) -> Any:
        """Tell what holds of an option.

        Raises
        ------
        InvalidError
            There is no such option, or its environment variable says nothing that it can be. A ValueError
            too.
        """
        option = _option(key)
        for level in (self._told, self._adopted):
            if key in level:
                return level[key]
        if key in self._wrong:
            raise InvalidError(self._wrong[key])
        return self._environment.get(key, option.default)

    def set(self, options: Mapping[str, Any] | None = None, /, **more: Any) -> Setting:
        """Set options, for good or for the length of a `with` block.

        Parameters
        ----------
        options : mapping, optional
            Values by option.
        **more : optional
            The same, as keyword arguments.

        Returns
        -------
        context manager
            Whose end sets these options back to what they were.

        Raises
        ------
        InvalidError
            There is no such option, or it cannot be that: then none is set. A ValueError too.
        """
        checked = {key: _checked(key, value) for key, value in {**(options or {}), **more}.items()}
        with self._lock:
            before = {key: self._told.get(key) for key in checked}
            self._put(checked)
        return Setting(self, before)

    def options(self) -> dict[str, Any]:
        """Tell what holds of all options."""
        return {key: self.get(key) for key in OPTIONS}

    def reset(self) -> None:
        """Take back all that was set, and look at the environment anew."""
        with self._lock:
            self._told.clear()
            self._adopted.clear()
            self.refresh()

    def refresh(self) -> None:
        """Look at the environment variables anew."""
        with self._lock:
            self._environment, self._wrong = {}, {}
            for key in OPTIONS:
                name = f"SWATH_{key.upper()}"
                if not (text := os.environ.get(name)):
                    continue
                try:
                    # That one is read where files are, which says what is wrong.
                    self._environment[key] = text if key == "file_access" else OPTIONS[key].check(text)
                except InvalidError as error:
                    self._wrong[key] = f"environment variable {name}: {error}"
            self._apply()

    def __repr__(self) -> str:
        known = {**self._environment, **self._adopted, **self._told}
        return f"<swath.config {', '.join(f'{key}={value!r}' for key, value in known.items())}>"

    def _put(self, values: Mapping[str, Any]) -> None:
        for key, value in values.items():
            if value is None:
                self._told.pop(key, None)
            else:
                self._told[key] = value
        self._apply()

    def _apply(self) -> None:
        """Have the engine follow what holds."""
        with self._lock:
            known = {**self._environment, **self._adopted, **self._told}
            threads = known.get("num_threads") or worker_threads()
            bounds = {key: known[key] for key in BOUNDS if key in known}
            access = self._told.get("file_access", self._adopted.get("file_access"))
            wanted = (threads, bounds, access, known.get("progress", False))
            if wanted[:2] != self._applied[:2]:
                _swath._set_limits(threads, bounds)
            if wanted[2] != self._applied[2]:
                _swath._set_file_access(access)
            if wanted[3] != self._applied[3]:
                _swath._set_progress(wanted[3])
            self._applied = wanted

    def _opening(self) -> tuple[int, Defaults]:
        """Tell the level that events are wanted from, and what holds where something is opened."""
        self._follow_workers()
        if self._wrong:
            raise InvalidError(next(iter(self._wrong.values())))
        return level(), Defaults(*(self.get(key) for key in Defaults._fields))

    def _follow_workers(self) -> None:
        """Have as many threads as a worker of dask's that began or ended meanwhile."""
        if "distributed.worker" in sys.modules:
            self._apply()

    def _carried(self) -> tuple[str, dict[str, Any]] | None:
        """Tell what a pickle takes along: what was set, and in which process that is known already."""
        known = {**self._adopted, **self._told}
        values = {key: value for key, value in known.items() if key not in OWN}
        return (self._process, values) if values else None

    def _adopt(self, carried: tuple[str, dict[str, Any]] | None) -> int:
        """Take over what a pickle brought along, in a worker process; tell the level of events."""
        process, values = carried or ("", {})
        self._follow_workers()
        if process != self._process and values != self._adopted and is_worker():
            with self._lock:
                # What a later release knows is none of this one's.
                self._adopted = {key: value for key, value in values.items() if key in OPTIONS}
                self._apply()
        return level()

    def _forked(self) -> None:
        # A thread that is not here may hold the lock. What the parent was told counts as brought along.
        self._lock = threading.RLock()
        self._adopted, self._told = {**self._adopted, **self._told}, {}
        self._process = uuid.uuid4().hex


class Setting:
    """What `swath.config.set` did, and undoes at the end of a `with` block."""

    def __init__(self, config: Config, before: Mapping[str, Any]) -> None:
        self._config = config
        self._before = before

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        with self._config._lock:
            self._config._put(self._before)
        return False


def set_file_access(
    way: Literal["probe", "mapped", "buffered", "direct", "io_uring", "pread"] | None,
) -> None:
    """Say how files are read, in arrays and groups that this process opens from now on.

    It is the option `file_access` of `swath.config`. By default swath copies from memory mappings where
    files are in the page cache and read again and again. A file that is cut short meanwhile raises SIGBUS
    then, so swath puts a handler in front of those that the process has; it passes on every signal that is
    not its own. Programs whose own handler ends the process at once choose "buffered", with which nothing is
    mapped and no handler is put anywhere, and do so before they read anything.

    Parameters
    ----------
    way : str or None
        "probe" chooses for each file, the default. "mapped" maps every file. "buffered" goes through the
        page cache by system calls and maps nothing. "direct" goes past the page cache (O_DIRECT), for
        data that is read once or that memory could not hold. "io_uring" and "pread" are as "buffered",
        always by io_uring or always by threads. None goes back to what the environment variable
        `SWATH_FILE_ACCESS` names, which is also what started worker processes read by, or else to "probe".

    Raises
    ------
    InvalidError
        There is no such way.

    Examples
    --------
    >>> swath.set_file_access("buffered")
    """
    config.set(file_access=way)


def worker_threads() -> int | None:
    """Tell how many threads the dask workers of this process have; None where there are none."""
    module = sys.modules.get("distributed.worker")
    workers = getattr(getattr(module, "Worker", None), "_instances", ())
    threads = (worker.state.nthreads for worker in list(workers) if worker.status.name == "running")
    return sum(threads) or None


def is_worker() -> bool:
    """Tell whether multiprocessing or dask started this process to work for others."""
    process = sys.modules.get("multiprocessing.process")
    return (process is not None and process.parent_process() is not None) or worker_threads() is not None


def level() -> int:
    """Tell the level of logging that swath's events are wanted from."""
    if (logging := sys.modules.get("logging")) is None:
        return WARNING
    logger = logging.getLogger("swath")
    return int(min(max(logger.getEffectiveLevel(), logger.manager.disable + 1), 255))


def _option(key: str) -> Option:
    try:
        return OPTIONS[key]
    except KeyError:
        message = f"swath.config has no option {key!r}: wanted one of {', '.join(OPTIONS)}"
        raise InvalidError(message) from None


def _checked(key: str, value: Any) -> Any:
    option = _option(key)
    if value is None:
        return None
    try:
        return option.check(value)
    except InvalidError as error:
        raise InvalidError(f"swath.config: {key}: {error}") from None


config: Config = Config()
