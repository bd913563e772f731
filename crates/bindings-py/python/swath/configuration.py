"""`swath.config`: what swath does where nobody says otherwise."""

from __future__ import annotations

import json
import os
import sys
import threading
import uuid
import weakref
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
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


# More the engine cannot be told, and more threads it does not have.
NUMBER_MAX = 2**64 - 1
THREADS_MAX = 4096


def _whole(least: int, most: int = NUMBER_MAX) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        try:
            number = int(value) if isinstance(value, str) else int(value.__index__())
        except (AttributeError, TypeError, ValueError):
            number = least - 1
        if number < least:
            raise InvalidError(f"wanted an int of at least {least}, found {value!r}")
        if most < number:
            raise InvalidError(f"wanted an int of at most {most}, found {value!r}")
        return number

    return check


def _size(value: Any) -> int:
    return _swath._bytes(value) if isinstance(value, str) else _whole(0)(value)


def _budget(value: Any) -> int:
    return _whole(1)(_size(value))


def _one_of(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            found = json.dumps(value) if isinstance(value, str) else repr(value)
            raise InvalidError(f"wanted one of {', '.join(names)}, found {found}")
        return value

    return check


def _freshness(value: Any) -> str | float:
    if isinstance(value, str) and value in ("checked", "immutable"):
        return value
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = -1.0
    if not 0 <= seconds < NUMBER_MAX:
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
        _whole(1, THREADS_MAX),
        "threads. None: as many as a worker of dask's has, else as the process may use processors",
    ),
    "memory_bytes": Option(
        None,
        _budget,
        "bytes that may be asked for, or read and not yet used, at a time",
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
        # What may still be set back. Settings of no `with` block are gone by themselves.
        self._blocks: weakref.WeakSet[Setting] = weakref.WeakSet()
        self._settings_made = 0
        # What the process that this one was forked from had set then, or says since by its pickles.
        self._inherited: dict[str, Any] = {}
        # What other processes say by their pickles.
        self._adopted: dict[str, Any] = {}
        self._environment: dict[str, Any] = {}
        self._wrong: dict[str, str] = {}
        self._process: str = uuid.uuid4().hex
        self._parent: str | None = None
        self._was_set = False
        self._applied: dict[str, Any] = {"limits": (None, {}), "file_access": None, "progress": False}
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
        for level in (self._told, self._inherited, self._adopted):
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
            Whose end sets these options back to what they were. Options are the process's, not the thread's:
            where blocks of several threads overlap, the one that began last holds for all of them, and what
            was there before any holds again once all have ended, in whatever order.

        Raises
        ------
        InvalidError
            There is no such option, or it cannot be that: then none is set. A ValueError too.
        """
        checked = {key: _checked(key, value) for key, value in {**(options or {}), **more}.items()}
        with self._lock:
            before = {key: self._told.get(key) for key in checked}
            self._put(self._told, checked)
            self._settings_made += 1
            setting = Setting(self, before, self._settings_made)
            self._blocks.add(setting)
        return setting

    def options(self) -> dict[str, Any]:
        """Tell what holds of all options."""
        return {key: self.get(key) for key in OPTIONS}

    def reset(self) -> None:
        """Take back all that was set, and look at the environment anew."""
        with self._lock:
            for level in (self._told, self._inherited, self._adopted):
                level.clear()
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
        known = {**self._environment, **self._set()}
        return f"<swath.config {', '.join(f'{key}={value!r}' for key, value in known.items())}>"

    def _set(self) -> dict[str, Any]:
        """Tell what was set, here or in the processes that this one works for."""
        return {**self._adopted, **self._inherited, **self._told}

    def _put(self, level: dict[str, Any], values: Mapping[str, Any]) -> None:
        """Change what is set on a level; nothing where the engine cannot follow."""
        before = dict(level)
        try:
            for key, value in values.items():
                if value is None:
                    level.pop(key, None)
                else:
                    level[key] = value
            self._apply()
        except BaseException:
            level.clear()
            level.update(before)
            # What the engine took over already goes back, too.
            with suppress(Exception):
                self._apply()
            raise
        self._was_set = self._was_set or bool(level)

    def _undo(self, setting: Setting) -> None:
        """Set options back that this process set, or the one that it was forked from."""
        with self._lock:
            self._blocks.discard(setting)
            values = setting.before
            if setting.process != self._process:
                self._put(self._told, dict.fromkeys(values))
                self._put(self._inherited, values)
                return
            # What another block set later holds on, and goes back to what this one found.
            own = {}
            for key, value in values.items():
                later = [
                    block for block in self._blocks if setting.number < block.number and key in block.before
                ]
                if later:
                    min(later, key=lambda block: block.number).before[key] = value
                else:
                    own[key] = value
            self._put(self._told, own)

    def _apply(self) -> None:
        """Have the engine follow what holds."""
        with self._lock:
            told = self._set()
            known = {**self._environment, **told}
            threads = known.get("num_threads") or worker_threads()
            bounds = {key: known[key] for key in BOUNDS if key in known}
            self._apply_one("limits", (threads, bounds), lambda limits: _swath._set_limits(*limits))
            self._apply_one("file_access", told.get("file_access"), _swath._set_file_access)
            self._apply_one("progress", known.get("progress", False), _swath._set_progress)

    def _apply_one(self, name: str, wanted: Any, apply: Callable[[Any], None]) -> None:
        if wanted != self._applied[name]:
            apply(wanted)
            self._applied[name] = wanted

    def _opening(self) -> tuple[int, Defaults]:
        """Tell the level that events are wanted from, and what holds where something is opened."""
        self._follow_workers()
        for key in self._wrong:
            # Raises, unless something else was set.
            self.get(key)
        return level(), Defaults(*(self.get(key) for key in Defaults._fields))

    def _follow_workers(self) -> None:
        """Have as many threads as a worker of dask's that began or ended meanwhile."""
        if "distributed.worker" in sys.modules:
            self._apply()

    def _carried(self) -> tuple[str, dict[str, Any]] | None:
        """Tell what a pickle takes along: what was set, and in which process that is known already.

        Nothing where nothing was ever set, so that such a pickle takes nothing back.
        """
        values = {key: value for key, value in self._set().items() if key not in OWN}
        return (self._name(), values) if values or self._was_set else None

    def _adopt(self, carried: tuple[str, dict[str, Any]] | None) -> int:
        """Take over what a pickle brought along, in a worker process; tell the level of events."""
        self._follow_workers()
        if carried is not None and is_worker() and carried[0] != self._name():
            process, values = carried
            with self._lock:
                taken = self._inherited if process == self._parent else self._adopted
                known = _known(values)
                if known != taken:
                    self._put(taken, {**dict.fromkeys(taken), **known})
        return level()

    def _name(self) -> str:
        """Name the process in pickles; not where it works for nobody: these are the same in every run."""
        return self._process if is_worker() else ""

    def _forked(self) -> None:
        # A thread that is not here may hold the lock.
        self._lock = threading.RLock()
        # Blocks of other threads never end here.
        self._blocks = weakref.WeakSet()
        self._inherited, self._told = {**self._inherited, **self._told}, {}
        # Whether the parent is a worker is what this one still looks like.
        self._parent, self._process = self._name(), uuid.uuid4().hex


class Setting:
    """What `swath.config.set` did, and undoes at the end of a `with` block."""

    def __init__(self, config: Config, before: dict[str, Any], number: int) -> None:
        self._config = config
        self.before = before
        self.number = number
        self.process: str = config._process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self._config._undo(self)
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
    workers = _listed(getattr(getattr(module, "Worker", None), "_instances", ()))
    threads = (worker.state.nthreads for worker in workers if worker.status.name == "running")
    return sum(threads) or None


def _listed(workers: Collection[Any]) -> list[Any]:
    """List what is in a set that other threads change meanwhile."""
    while True:
        try:
            return list(workers)
        except RuntimeError:
            # Python noticed a change; the next look comes to its end, as workers seldom begin or end.
            continue


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


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is no option of this release, or cannot be: a pickle may come from another."""
    known = {}
    for key, value in values.items():
        if key in OPTIONS and value is not None:
            with suppress(InvalidError):
                known[key] = OPTIONS[key].check(value)
    return known


config: Config = Config()
