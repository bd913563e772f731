"""Axes, windows, forecasts, observations and patches, against naive searches."""

import itertools
from datetime import timedelta

import numpy as np
import pytest
import swath
from hypothesis import given, settings
from hypothesis import strategies as st
from swath import train
from swath.train.axis import MISSING, REPEATED, span
from swath.train.times import coordinates

MINUTE = np.timedelta64(1, "m")
START = np.datetime64("2020-01-01T00:00")
minutes = st.lists(st.integers(0, 40), min_size=0, max_size=30)


def times(counts):
    return START + np.array(counts, "i8") * MINUTE


def naive_find(values, wanted):
    places = [place for place, value in enumerate(values) if value == wanted]
    return MISSING if not places else places[0] if len(places) == 1 else REPEATED


@settings(max_examples=100, deadline=None)
@given(counts=minutes, asked=st.lists(st.integers(-5, 45), min_size=1, max_size=10))
def test_values_are_found_where_they_are(counts, asked):
    for values, wanted in ((times(counts), times(asked)), (np.array(counts, "i8"), np.array(asked))):
        axis = train.Axis(values)
        assert list(axis.find(wanted)) == [naive_find(values, value) for value in wanted]
        for value, found in zip(wanted, axis.newest(wanted), strict=True):
            below = [other for other in values if other <= value]
            assert found == (naive_find(values, max(below)) if below else MISSING)
    assert train.Axis(times(counts)).repeats == sum(counts.count(count) != 1 for count in counts)


@settings(max_examples=100, deadline=None)
@given(
    values=st.lists(st.integers(0, 100), min_size=2, max_size=20, unique=True),
    asked=st.integers(-20, 120),
)
def test_the_nearest_is_near(values, asked):
    found = int(train.Axis(np.array(values)).nearest(np.array([asked]))[0])
    ordered = sorted(values)
    low, high = 2 * ordered[0] - ordered[1], 2 * ordered[-1] - ordered[-2]
    inside = ordered[0] + low <= 2 * asked <= ordered[-1] + high
    assert (found != MISSING) == inside
    if inside:
        assert abs(values[found] - asked) == min(abs(value - asked) for value in values)


def test_unknown_times_are_never_found():
    axis = train.Axis(np.array(["NaT", "2020-01-01", "2020-01-02"], "M8[D]"))
    wanted = np.array(["NaT", "2020-01-02", "2021-01-01"], "M8[D]")
    assert list(axis.find(wanted)) == [MISSING, 2, MISSING]
    assert list(axis.newest(wanted)) == [MISSING, 2, 2]
    assert list(axis.nearest(wanted)) == [MISSING, 2, MISSING]


def test_floats_are_found_despite_rounding():
    axis = train.Axis(np.arange(10) * 0.1)
    assert list(axis.find(np.array([0.1 + 0.2, 0.35]))) == [3, MISSING]


@pytest.mark.parametrize("values", [[["a"]], np.zeros((2, 2)), ["a", "b"]])
def test_other_values_are_refused(values):
    with pytest.raises(swath.InvalidError, match="numbers, times"):
        train.Axis(values)


def test_spans():
    assert span("5min") == np.timedelta64(5, "m") and span("2 D") == np.timedelta64(2, "D")
    assert span(timedelta(hours=6)) == np.timedelta64(6, "h") and span(3) == 3
    with pytest.raises(swath.InvalidError, match="duration"):
        span("five")


@settings(max_examples=150, deadline=None)
@given(counts=minutes, step=st.integers(1, 5), history=st.integers(0, 4), forecast=st.integers(0, 4))
def test_a_window_is_there_at_its_spacing(counts, step, history, forecast):
    if history + forecast == 0:
        return
    values = times(counts)
    window = train.Window(step * MINUTE, history=history, forecast=forecast)
    origins = times(range(-3, 44))
    axes = (train.Axis(values),)
    refused = window.refused(axes, origins)
    offsets = [(place - history + 1) * step for place in range(history + forecast)]
    for number, origin in enumerate(origins):
        found = [naive_find(values, origin + offset * MINUTE) for offset in offsets]
        assert refused["repeated"][number] == (REPEATED in found)
        assert refused["gap"][number] == (MISSING in found and REPEATED not in found)
        if min(found) < 0:
            continue
        ((entry,),) = window.indexes(axes, origins[number : number + 1], np.ones(1))
        assert list(np.arange(len(values))[entry]) == found


@settings(max_examples=150, deadline=None)
@given(
    inits=st.lists(st.integers(0, 10), min_size=1, max_size=6, unique=True),
    steps=st.lists(st.integers(0, 8), min_size=1, max_size=8, unique=True),
    delay=st.integers(0, 5),
    late=st.one_of(st.none(), st.integers(1, 4)),
    share=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_a_forecast_never_knows_the_future(inits, steps, delay, late, share):
    begun, ahead = times([init * 3 for init in inits]), np.array(steps, "i8") * MINUTE
    dropout = None if late is None else train.Dropout(share, (late * MINUTE,))
    crop = train.Forecast(train.Window("1min", history=1, forecast=2), delay * MINUTE, dropout=dropout)
    axes = (train.Axis(begun), train.Axis(ahead))
    origins = times(range(-2, 40))
    refused = np.any(list(crop.refused(axes, origins).values()), axis=0)

    def naive(origin, delayed):
        there = [value for value in begun if value <= origin - delayed * MINUTE]
        if not there:
            return None
        newest = max(there)
        places = [naive_find(ahead, origin + offset * MINUTE - newest) for offset in range(3)]
        return None if min(places) < 0 else (list(begun).index(newest), places)

    for number, origin in enumerate(origins):
        delays = [delay] if late is None else [delay, delay + late]
        found = [naive(origin, one) for one in delays]
        assert refused[number] == (None in found)
        if None in found:
            continue
        for draw in (0.2, 0.7):
            is_late = late is not None and draw < share
            ((init, entry),) = crop.indexes(axes, origins[number : number + 1], np.array([draw]))
            assert (init, list(np.arange(len(ahead))[entry])) == found[is_late]
            assert begun[init] <= origin - delays[is_late] * MINUTE


@settings(max_examples=150, deadline=None)
@given(
    counts=minutes.filter(bool),
    before=st.integers(0, 10),
    after=st.integers(0, 3),
    most=st.integers(1, 6),
    least=st.integers(0, 1),
)
def test_the_newest_observations_of_a_span(counts, before, after, most, least):
    values = times(sorted(counts))
    crop = train.Observations(before * MINUTE, most, after=after * MINUTE, least=least)
    axes, origins = (train.Axis(values),), times(range(-2, 44))
    refused = crop.refused(axes, origins)["too few"]
    present = crop.present(axes, origins, np.ones(len(origins)))
    indexes = crop.indexes(axes, origins, np.ones(len(origins)))
    for number, origin in enumerate(origins):
        wanted = [
            place
            for place, value in enumerate(values)
            if origin - before * MINUTE < value <= origin + after * MINUTE
        ][-most:]
        assert refused[number] == (len(wanted) < least)
        places = np.arange(len(values))[indexes[number][0]]
        assert len(places) == most and present[number].sum() == len(wanted)
        assert list(places[present[number]]) == wanted


def test_observations_must_be_in_order():
    with pytest.raises(swath.InvalidError, match="order"):
        train.Observations("1h", 2).refused((train.Axis(times([3, 1])),), times([3]))


@settings(max_examples=100, deadline=None)
@given(
    length=st.integers(2, 12),
    size=st.integers(1, 8),
    anchor=st.sampled_from(["start", "center"]),
    falls=st.booleans(),
    wrap=st.booleans(),
    ahead=st.integers(-2, 14),
)
def test_patches_are_neighbours(length, size, anchor, falls, wrap, ahead):
    values = np.arange(length) * 10.0
    values = values[::-1] if falls else values
    crop = train.Patch(size, anchor, wrap)
    axes, origin = (train.Axis(values),), np.array([ahead * 10.0])
    around = ahead % length if wrap else ahead
    at = length - 1 - around if falls else around
    first = at - (size // 2 if anchor == "center" else 0)
    inside = 0 <= around < length
    fits = size <= length if wrap else 0 <= first and first + size <= length
    assert bool(crop.refused(axes, origin)["outside"][0]) == (not (inside and fits))
    if inside and fits:
        ((entry,),) = crop.indexes(axes, origin, np.ones(1))
        assert list(np.arange(length)[entry]) == [(first + place) % length for place in range(size)]


def test_patches_need_neighbours():
    with pytest.raises(swath.InvalidError, match="rise"):
        train.Patch(2).refused((train.Axis([1, 3, 2]),), np.array([1]))


class Stored:
    def __init__(self, values, **attributes):
        self.values, self.attrs = np.asarray(values), attributes

    def __getitem__(self, index):
        return self.values[index]


@pytest.mark.parametrize(
    ("units", "values", "wanted"),
    [
        ("hours since 1900-01-01", [0, 24], ["1900-01-01", "1900-01-02"]),
        ("days since 2000-1-1 00:00:00", [0.5], ["2000-01-01T12"]),
        ("seconds since 1970-01-01T00:00:00Z", [1, np.nan], ["1970-01-01T00:00:01", "NaT"]),
        ("minutes since 2020-02-28 6:30:00 +00:00", [1440], ["2020-02-29T06:30"]),
    ],
)
def test_times_are_counted_from_their_date(units, values, wanted):
    found = coordinates(Stored(values, units=units, calendar="standard"))
    np.testing.assert_array_equal(found, np.array(wanted, "M8[ns]"))


def test_other_coordinates():
    assert coordinates(Stored([6], units="hours"))[0] == np.timedelta64(6, "h")
    np.testing.assert_array_equal(coordinates(Stored([0.5], units="degrees_north")), [0.5])
    with pytest.raises(swath.UnsupportedError, match="360_day"):
        coordinates(Stored([1], units="days since 2000-01-01", calendar="360_day"))
    with pytest.raises(swath.InvalidError, match="292 years"):
        coordinates(Stored([200_000], units="days since 2000-01-01"))
    with pytest.raises(swath.InvalidError, match="since"):
        coordinates(Stored([1], units="days since yesterday"))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), gap=st.integers(0, 5), reach=st.integers(0, 3))
def test_splits_stay_apart(data, gap, reach):
    bounds = data.draw(st.lists(st.integers(0, 60), min_size=2, max_size=8, unique=True).map(sorted))
    parts = {"train": [], "test": []}
    for start, stop in itertools.pairwise(bounds):
        name = data.draw(st.sampled_from(["train", "test", None]))
        if name:
            parts[name].append((start, stop))
    splits = train.Splits(parts, gap)
    origins = np.arange(-3, 64)
    used = {name: set() for name in parts}
    for name in parts:
        held = splits.holds(name, origins - reach, origins + reach)
        for origin in origins[held]:
            window = set(range(origin - reach, origin + reach + 1))
            assert any(start <= min(window) and max(window) < stop for start, stop in parts[name])
            used[name] |= window
    # Neighbouring steps are one apart.
    assert all(gap < abs(one - other) for one in used["train"] for other in used["test"])


def test_splits_that_overlap_are_refused():
    with pytest.raises(swath.InvalidError, match="overlaps"):
        train.Splits({"train": ("2000", "2010"), "test": ("2009", "2011")})
    with pytest.raises(swath.InvalidError, match="begins before"):
        train.Splits({"train": (3, 3)})
    with pytest.raises(swath.InvalidError, match="train"):
        train.Splits({"train": (3, 4)})["test"]
