"""Groups: listing, walking, opening what is below."""

import json
import pickle

import numpy as np
import pytest
import swath
import zarr

# zarr-python warns that Zarr v3 does not specify consolidated metadata.
pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")


@pytest.fixture(params=["v3", "v2", "v3 consolidated", "v2 consolidated"])
def group_path(request, tmp_path):
    zarr_format = int(request.param[1])
    root = zarr.create_group(tmp_path / "root.zarr", zarr_format=zarr_format, attributes={"title": "all"})
    root.create_array("line", data=np.arange(6, dtype="f4"), chunks=(4,))
    below = root.create_group("below", attributes={"depth": 1})
    below.create_array("plane", data=np.arange(12, dtype="u1").reshape(3, 4))
    below.create_group("empty")
    if "consolidated" in request.param:
        zarr.consolidate_metadata(tmp_path / "root.zarr", zarr_format=zarr_format)
    return tmp_path / "root.zarr"


@pytest.fixture
def group(group_path):
    return swath.open_group(group_path)


def test_listing(group):
    assert group.keys() == ("below", "line")
    assert list(group) == ["below", "line"]
    assert len(group) == 2
    assert [(name, type(node)) for name, node in group.members()] == [
        ("below", swath.Group),
        ("line", swath.Array),
    ]
    assert [name for name, _ in group.arrays()] == ["line"]
    assert [name for name, _ in group.groups()] == ["below"]


def test_walking(group, group_path):
    walked = group.walk()
    assert [path for path, _ in walked] == ["below", "below/empty", "below/plane", "line"]
    for path, node in walked:
        assert node.path == path
        assert node.store_path == str(group_path / path)
        assert node == swath.open(group_path / path)
    assert str(group.tree()) == "\n".join(
        ["/", "├── below", "│   ├── empty", "│   └── plane (3, 4) uint8", "└── line (6,) float32"]
    )


def test_opening(group, group_path):
    plane = group["below/plane"]
    assert (plane.path, plane.name, plane.basename) == ("below/plane", "/below/plane", "plane")
    assert plane[1, 2] == 6
    assert plane == group["below"]["plane"] == group["/below/plane/"]
    assert group["below"].attrs == {"depth": 1}
    assert group.attrs == {"title": "all"}
    assert repr(group["below"]) == f"<swath.Group {group_path / 'below'}>"
    assert group == swath.open(group_path)
    assert len({group, swath.open(group_path), group["below"]}) == 2


def test_contains(group):
    for path in ("line", "below", "below/plane", "below/empty"):
        assert path in group
    for path in ("absent", "below/absent", "line/0", "absent/plane"):
        assert path not in group


def test_missing_members(group, group_path):
    for error in (KeyError, FileNotFoundError, swath.NotFoundError):
        with pytest.raises(error) as caught:
            group["below/absent"]
        assert str(group_path / "below/absent") in str(caught.value)


def test_properties(group):
    assert group.zarr_format in (2, 3)
    assert group.read_only
    assert (group.name, group.path, group.basename) == ("/", "", "")
    assert f"Zarr format    : {group.zarr_format}" in repr(group.info)


def test_pickles(group):
    for node in (group, group["below"], group["below/plane"]):
        again = pickle.loads(pickle.dumps(node))
        assert again == node
        assert type(again) is type(node)
    assert pickle.loads(pickle.dumps(group))["below/plane"][2, 3] == 11


def test_nodes_that_cannot_be_opened(tmp_path):
    root = zarr.create_group(tmp_path / "root.zarr")
    root.create_array("numbers", shape=(3,), dtype="i4")
    root.create_array("words", shape=(3,), dtype="i4")
    metadata = tmp_path / "root.zarr" / "words" / "zarr.json"
    document = json.loads(metadata.read_text())
    metadata.write_text(json.dumps({**document, "data_type": "word"}))
    (tmp_path / "root.zarr" / "no node").mkdir()
    group = swath.open_group(tmp_path / "root.zarr")
    assert group.keys() == ("numbers", "words")
    assert "words" in group
    assert "no node" not in group
    for call in (group.members, group.arrays, group.walk):
        with pytest.warns(swath.SwathWarning, match="words"):
            assert [name for name, _ in call()] == ["numbers"]
    with pytest.raises(swath.UnsupportedError, match="word"):
        group["words"]
    assert "words (cannot be opened: data type" in str(group.tree())


def opened_names(group):
    return [path for path, _ in group.walk()]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_is_used_as_told(tmp_path, zarr_format):
    path = tmp_path / "root.zarr"
    root = zarr.create_group(path, zarr_format=zarr_format)
    root.create_array("old", shape=(3,), dtype="i4")
    with pytest.raises(swath.InvalidError, match=r"use_consolidated.*found none") as caught:
        swath.open_group(path, use_consolidated=True)
    assert isinstance(caught.value, ValueError)
    zarr.consolidate_metadata(path, zarr_format=zarr_format)
    root.create_array("new", shape=(3,), dtype="i4")
    root.create_group("below").create_array("line", shape=(3,), dtype="i4")
    for wanted in (None, True, ".zmetadata"):
        assert opened_names(swath.open_group(path, use_consolidated=wanted)) == ["old"]
    group = swath.open_group(path, use_consolidated=False)
    assert opened_names(group) == ["below", "below/line", "new", "old"]
    again = pickle.loads(pickle.dumps(group))
    assert opened_names(again) == opened_names(group)
    assert opened_names(again["below"]) == ["line"]
    with pytest.raises(swath.UnsupportedError, match=r"other\.json"):
        swath.open_group(path, use_consolidated="other.json")


def test_members_that_cannot_be_reached_are_not_left_out(tmp_path):
    root = zarr.create_group(tmp_path / "root.zarr")
    for name in ("far", "near"):
        root.create_array(name, shape=(3,), dtype="i4")
    document = tmp_path / "root.zarr" / "far" / "zarr.json"
    document.unlink()
    # A loop of links is an error of the storage, whoever reads.
    document.symlink_to(document)
    group = swath.open_group(tmp_path / "root.zarr")
    for call in (group.members, group.arrays, group.groups, group.walk):
        with pytest.raises(swath.StorageError, match="far"):
            call()
    assert group["near"].shape == (3,)
