"""Loading what is lazy of many xarray objects as one batch."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator
from typing import Any

from xarray import DataArray, Dataset, DataTree, Variable

from swath.errors import InvalidError
from swath.xarray.batch import read_batch
from swath.xarray.driven import IS_DRIVEN, Driven
from swath.xarray.lazy_array import LazyArray

type Loadable = Dataset | DataArray | DataTree | Variable
type Loading = Coroutine[Any, Any, Any]
type Step = tuple[Loading, Driven]


def load(*objects: Loadable) -> None:
    """Read all that is still lazy of xarray objects, in one batch of reads, and keep it in them.

    xarray's own `load` goes from variable to variable and waits for each. Here all that the engine ``swath``
    opened is asked for at once; whatever else there is, arrays of dask or of other engines, the object's own
    `load` then loads. What is read is decoded by CF as always.

    Parameters
    ----------
    *objects : Dataset, DataArray, DataTree or Variable
        What to load; each is changed in place, as by its own `load`.

    Raises
    ------
    InvalidError
        An object is none of these. A ValueError too.
    CorruptError, StorageError
        Something could not be read; what could be is loaded. It is the first error, with a note that counts
        the others.

    Examples
    --------
    >>> dataset = xarray.open_dataset("archive.zarr", engine="swath")
    >>> crops = [dataset.isel(time=slice(t, t + 4)) for t in (0, 70, 30)]
    >>> swath.xarray.load(*crops)
    """
    variables = {id(variable): variable for given in objects for variable in _variables(given)}
    _drive([variable.load_async() for variable in variables.values() if _is_lazy(variable)])
    for given in objects:
        given.load()


def _variables(given: Loadable) -> Iterator[Variable]:
    if isinstance(given, Variable):
        yield given
    elif isinstance(given, Dataset):
        yield from given.variables.values()
    elif isinstance(given, DataArray):
        yield given.variable
        yield from (coordinate.variable for coordinate in given.coords.values())
    elif isinstance(given, DataTree):
        for node in given.subtree:
            # A node's dataset would be a copy; its variables are the tree's own.
            yield from node.variables.values()
    else:
        message = f"wanted a Dataset, a DataArray, a DataTree or a Variable, found {type(given).__name__}"
        raise InvalidError(message)


def _is_lazy(variable: Variable) -> bool:
    """Return whether a variable's data is still to be read by this engine, however it is wrapped."""
    data: Any = variable._data
    while data is not None and not isinstance(data, LazyArray):
        data = getattr(data, "array", None)
    return data is not None


def _drive(loading: Iterable[Loading]) -> None:
    """Run coroutines of xarray's to their ends without a loop: what they await together is one batch."""
    errors: list[Exception] = []
    waiting = _advanced([(coroutine, None) for coroutine in loading], errors)
    while waiting:
        results = read_batch([driven.request for _, driven in waiting])
        coroutines = [coroutine for coroutine, _ in waiting]
        waiting = _advanced(zip(coroutines, results, strict=True), errors)
    if errors:
        if 1 < len(errors):
            errors[0].add_note(f"{len(errors) - 1} more could not be loaded.")
        raise errors[0]


def _advanced(answers: Iterable[tuple[Loading, Any]], errors: list[Exception]) -> list[Step]:
    """Give each coroutine what it waits for, and return those that wait for more."""
    waiting: list[Step] = []
    token = IS_DRIVEN.set(True)
    try:
        for coroutine, answer in answers:
            try:
                is_error = isinstance(answer, Exception)
                driven = coroutine.throw(answer) if is_error else coroutine.send(answer)
                waiting.append((coroutine, driven))
            except StopIteration:
                pass
            except Exception as error:
                errors.append(error)
    finally:
        IS_DRIVEN.reset(token)
    return waiting
