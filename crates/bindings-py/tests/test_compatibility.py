"""The table of docs/compatibility.md: every cell is found out again, and compared."""

from pathlib import Path

import pytest
from compatibility.features import every_feature
from compatibility.libraries import LIBRARIES
from compatibility.table import render, same, try_feature

PAGE = Path(__file__).parents[3] / "docs" / "compatibility.md"
FEATURES = {f"{feature.section}, {feature.name}": feature for feature in every_feature()}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compatibility")
    return [(feature, try_feature(feature, folder)) for feature in FEATURES.values()]


def test_the_page_says_what_libraries_do(found):
    wanted, page = render(found).splitlines(), PAGE.read_text().splitlines()
    message = "write the page anew: `python -m compatibility` in crates/bindings-py/tests"
    assert page == wanted, message


def test_swath_agrees_with_every_other_library(found):
    for feature, answers in found:
        name = f"{feature.section}, {feature.name}"
        for (writer, reader), right in answers.read.items():
            if "swath" in (writer, reader):
                assert right is not False, f"{name}: {reader} finds other values than {writer} wrote"
        assert answers.cell("swath") != "≠", name


def test_swath_reads_whatever_two_others_agree_on(found):
    """What two libraries read and write alike is no invention of one of them."""
    names = [library.name for library in LIBRARIES if library.name != "swath"]
    for feature, answers in found:
        agreed = any(
            answers.read.get((writer, reader)) for writer in names for reader in names if writer != reader
        )
        if agreed and (name := f"{feature.section}, {feature.name}") not in MISSING:
            assert "r" in answers.cell("swath"), f"{name}: {answers.reasons}"


# What swath does not read yet, though others do.
MISSING = {"Grids and keys, v3, rectilinear grid"}


def test_values_are_compared():
    feature = FEATURES["Data types, v3, int32"]
    assert same(feature.values, feature.values.astype(">i4"), 0)
    assert not same(feature.values, feature.values + 1, 0)
    assert not same(feature.values, feature.values.astype("i8"), 0)
    assert not same(feature.values, feature.values[:1], 0)
    structured = FEATURES["Data types, v2, structured"].values
    assert same(structured, structured.astype([("a", ">i2"), ("b", ">f8")]), 0)
    other = structured.copy()
    other["b"][0, 0] += 1
    assert not same(structured, other, 0)
    words = FEATURES["Data types, v3, string"].values
    assert same(words, words.astype("<U5"), 0)
    assert not same(words, words[::-1], 0)
