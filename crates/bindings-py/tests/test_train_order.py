"""Orders of samples: permutations, samplers and shares of ranks, against what they promise."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import swath
from hypothesis import given, settings
from hypothesis import strategies as st
from swath import train
from swath.train.counter import key_of, mixed, mixed_number, stream, uniform, words


def test_words_stay_as_they_are():
    # What runs are resumed by: a change of any of these loses the order of every saved state.
    assert key_of() == 0
    assert key_of(1, 2, 3) == 0x003F53A1FE784BBF
    assert [int(word) for word in words(key_of(1, 2, 3), np.arange(3))] == [
        0xE1400A67F248F9A0,
        0x2D3072AAAB649FEE,
        0x2798F5653438C224,
    ]
    assert stream("a") == 0xAF63DC4C8601EC8C


def test_orders_stay_as_they_are():
    for length, wanted in ((10**12, [937588596049, 381462879278, 120999940548]), (2000, [1902, 440, 556])):
        assert list(train.Permutation(length, 5).at(np.arange(3))) == wanted
    assert list(train.Permutation(7, 5).at(np.arange(7))) == [6, 4, 3, 2, 1, 5, 0]


def test_the_finaliser_is_splitmix64s():
    # The first words of SplitMix64 seeded with 1234567, as its authors' program prints them.
    state, found = 1234567, []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        found.append(mixed_number(state))
    assert found == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert mixed(np.array([5], np.uint64))[0] == mixed_number(5)


def test_uniform_numbers_are_uniform():
    drawn = uniform(key_of(7), np.arange(100_000))
    assert 0 <= drawn.min() and drawn.max() < 1
    counts = np.bincount((drawn * 100).astype(int), minlength=100)
    # 99 degrees of freedom: above 170 once in 100,000 keys.
    assert ((counts - 1000) ** 2 / 1000).sum() < 170
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.02


@pytest.mark.parametrize("part", [-1, 2**64])
def test_seeds_that_do_not_fit_are_refused(part):
    with pytest.raises(swath.InvalidError, match="seed"):
        key_of(part)


@settings(max_examples=60, deadline=None)
@given(length=st.integers(0, 5000), key=st.integers(0, 2**64 - 1))
def test_a_permutation_holds_each_number_once(length, key):
    order = train.Permutation(length, key).at(np.arange(length))
    assert np.array_equal(np.sort(order), np.arange(length))


@settings(max_examples=30, deadline=None)
@given(length=st.integers(1, 10**12), key=st.integers(0, 2**64 - 1), data=st.data())
def test_any_place_is_known_alone(length, key, data):
    places = np.array(data.draw(st.lists(st.integers(0, length - 1), min_size=1, max_size=20)))
    permutation = train.Permutation(length, key)
    together = permutation.at(places)
    assert [int(permutation.at(place)[0]) for place in places] == list(together)
    assert 0 <= together.min() and together.max() < length
    with pytest.raises(swath.InvalidError):
        permutation.at(np.array([length]))


@pytest.mark.parametrize("length", [3, 4, 5])
def test_every_order_comes_equally_often(length):
    draws = 200 * math.factorial(length)
    found = Counter(
        tuple(train.Permutation(length, key_of(seed)).at(np.arange(length))) for seed in range(draws)
    )
    orders = math.factorial(length)
    squares = sum((found[order] - 200) ** 2 / 200 for order in itertools.permutations(range(length)))
    assert squares < orders + 5 * math.sqrt(2 * orders)


def test_large_permutations_spread_evenly():
    length = 3000
    counts = np.zeros((30, 30))
    for seed in range(20):
        order = train.Permutation(length, key_of(seed)).at(np.arange(length))
        np.add.at(counts, (np.arange(length) * 30 // length, order * 30 // length), 1)
    wanted = 20 * length / 900
    # 29 * 29 degrees of freedom.
    assert ((counts - wanted) ** 2 / wanted).sum() < 841 + 5 * math.sqrt(2 * 841)


@settings(max_examples=40, deadline=None)
@given(count=st.integers(1, 300), seed=st.integers(0, 100), epoch=st.integers(0, 5))
def test_random_holds_each_sample_once_a_turn(count, seed, epoch):
    sampler = train.Random(count, samples=2 * count)
    order = sampler.at(seed, epoch, np.arange(2 * count))
    assert np.array_equal(np.sort(order[:count]), np.arange(count))
    assert np.array_equal(np.sort(order[count:]), np.arange(count))
    assert len(sampler) == 2 * count


def test_epochs_and_seeds_have_orders_of_their_own():
    sampler = train.Random(1000)
    orders = [tuple(sampler.at(seed, epoch, np.arange(1000))) for seed in (0, 1) for epoch in (0, 1)]
    assert len(set(orders)) == 4


def test_weighted_draws_by_weight():
    weights = np.array([0, 1, 3, 0, 6, 0])
    order = train.Weighted(weights, samples=20_000).at(3, 0, np.arange(20_000))
    counts = np.bincount(order, minlength=6)
    assert (counts[weights == 0] == 0).all()
    np.testing.assert_allclose(counts / 20_000, weights / 10, atol=0.02)
    for bad in ([0, 0], [1, -1], [np.nan, 1]):
        with pytest.raises(swath.InvalidError):
            train.Weighted(bad)


def test_strata_keep_their_shares_in_every_stretch():
    strata = np.array([0] * 900 + [2] * 90 + [1] * 10)
    order = train.Stratified(strata, [1, 1, 2], samples=4000).at(5, 1, np.arange(4000))
    for start in range(0, 4000, 100):
        counts = np.bincount(strata[order[start : start + 100]], minlength=3)
        assert (np.abs(counts - [25, 25, 50]) <= 3).all()
    # Within its stratum each sample is as likely.
    rare = np.bincount(order[strata[order] == 1] - 990, minlength=10)
    assert ((rare - 100) ** 2 / 100).sum() < 40
    equal = train.Stratified(np.array([0, 2, 2])).at(0, 0, np.arange(3))
    assert set(equal) <= {0, 1, 2}
    with pytest.raises(swath.InvalidError, match="empty"):
        train.Stratified(np.array([0, 2]), [1, 1, 1])


@settings(max_examples=200, deadline=None)
@given(
    total=st.integers(1, 60),
    batch_size=st.integers(1, 7),
    world=st.integers(1, 5),
    start=st.integers(0, 59),
    drop_last=st.booleans(),
)
def test_ranks_share_an_epoch(total, batch_size, world, start, drop_last):
    start = min(start, total)
    shares = [train.Share(rank, world) for rank in range(world)]
    batches = {share.batches(total, start, batch_size, drop_last) for share in shares}
    assert len(batches) == 1
    seen, padded = [], []
    for batch in range(batches.pop()):
        parts = [share.positions(total, start, batch_size, batch, drop_last) for share in shares]
        assert len({len(positions) for positions, _ in parts}) == 1
        before = len(seen)
        for place in range(len(parts[0][0])):
            for positions, padding in parts:
                (padded if padding[place] else seen).append(int(positions[place]))
        received = shares[0].received(total, start, batch_size, batch + 1)
        # What all ranks together received is the epoch's global order, without a hole.
        assert seen == list(range(start, received)) and before <= len(seen)
    left = total - start
    if drop_last:
        assert not padded and len(seen) == left // (batch_size * world) * batch_size * world
    else:
        assert seen == list(range(start, total)) and len(padded) < world


def test_the_environment_says_the_share(monkeypatch):
    for variable in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"):
        monkeypatch.delenv(variable, raising=False)
    assert train.Share.found() == train.Share(0, 1)
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert train.Share.found() == train.Share(2, 4)
    monkeypatch.setenv("RANK", "two")
    with pytest.raises(swath.InvalidError, match="RANK"):
        train.Share.found()
    with pytest.raises(swath.InvalidError):
        train.Share(4, 4)
