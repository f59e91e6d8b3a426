"""The sizes that are drawn, what is left of an error beyond noise, and how many intervals held."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from accuracy_figures import (
    Figure,
    beyond_noise,
    binomial_at_most,
    coverage,
    coverage_bounds,
    distance_outside,
    draw_log_uniform,
    draw_sizes,
    figure_of,
    half_width,
    mean_and_worst,
    place_of,
)

SAMPLED = (16, 32, 64, 128, 192)


def estimate(value: float, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"value": value, "interval": None if low is None else {"low": low, "high": high}}


def test_the_same_seed_draws_the_same_sizes_and_another_one_others() -> None:
    assert draw_sizes("7/mlp", SAMPLED, 4) == draw_sizes("7/mlp", SAMPLED, 4)
    assert len({str(draw_sizes(f"{seed}/mlp", SAMPLED, 4)) for seed in range(50)}) > 45


def test_drawn_sizes_are_distinct_not_sampled_and_where_they_should_be() -> None:
    for seed in range(200):
        inside, outside = draw_sizes(str(seed), SAMPLED, 6)
        assert len({*inside, *outside}) == 12
        assert not {*inside, *outside} & set(SAMPLED)
        assert all(16 < size < 192 for size in inside)
        assert all(8 <= size < 16 or 192 < size <= 384 for size in outside)
        assert all(place_of(size, SAMPLED) == "inside" for size in inside)
        assert all(place_of(size, SAMPLED) == "outside" for size in outside)


def test_half_of_the_smallest_and_twice_the_largest_can_be_drawn() -> None:
    drawn = {size for seed in range(2000) for size in draw_sizes(str(seed), SAMPLED, 6)[1]}
    assert {8, 384} <= drawn


def test_where_there_are_few_sizes_all_are_checked() -> None:
    assert draw_sizes("1", (1, 2, 4), 4) == ([3], [5, 6, 7, 8])
    assert draw_sizes("1", (1,), 4) == ([], [2])


def test_sizes_are_log_uniform() -> None:
    """As many between 16 and 128 as between 128 and 1024."""
    draws = [draw_log_uniform(random.Random(seed), range(16, 1025), 1)[0] for seed in range(4000)]
    assert sum(size < 128 for size in draws) / len(draws) == pytest.approx(0.5, abs=0.04)


def test_places() -> None:
    assert [place_of(size, (4, 8)) for size in (1, 2, 4, 5, 8, 9, 16, 17)] == (
        ["beyond", "outside", "inside", "inside", "inside", "outside", "outside", "beyond"]
    )


def test_noise_is_taken_off_an_error_whatever_its_sign() -> None:
    assert beyond_noise(-0.10, 0.03, 0.04) == pytest.approx(0.05)
    assert beyond_noise(0.10, 0.03, 0.04) == pytest.approx(0.05)
    assert beyond_noise(0.04, 0.05) == 0
    assert beyond_noise(0.04) == 0.04


def test_distance_from_an_interval() -> None:
    assert distance_outside(estimate(10, 8, 12), 9) == 0
    assert distance_outside(estimate(10, 8, 12), 16) == pytest.approx(0.25)
    assert distance_outside(estimate(10, 8, 12), 5) == pytest.approx(0.6)
    assert distance_outside(estimate(10, 8, None), 1000) == 0
    assert distance_outside(estimate(10), 10) is None


def test_width_of_an_interval() -> None:
    assert half_width(estimate(10, 8, 12)) == pytest.approx(0.2)
    assert half_width(estimate(10, 8, None)) == math.inf
    assert half_width(estimate(10)) is None


def test_binomial_figures_are_those_of_the_tables() -> None:
    assert binomial_at_most(8, 10, 0.5) == pytest.approx(1 - 11 / 1024)
    assert coverage_bounds(8, 10) == pytest.approx((0.4439, 0.9748), abs=1e-4)
    assert coverage_bounds(0, 10) == pytest.approx((0, 0.3085), abs=1e-4)
    assert coverage_bounds(10, 10) == pytest.approx((0.6915, 1), abs=1e-4)


def test_coverage_counts_what_was_predicted() -> None:
    assert coverage([True, None, False, True]).startswith("2 of 3 (67 %), 95 % bounds 9 to 99 %")
    assert coverage([None]) == "nothing was predicted"


def test_an_estimate_without_an_interval_holds_nothing() -> None:
    figure = Figure(8, "inside", 1.0, noise=0.5, samples_noise=0.5, time=0.0, time_outside=None)
    assert figure.time_held is False
    assert figure.time_held_beyond_noise is False


def test_a_distance_that_noise_explains_is_forgiven_only_where_it_is_said() -> None:
    figure = Figure(8, "inside", 1.0, noise=0.03, samples_noise=0.0, time=0.1, time_outside=0.02)
    assert figure.time_held is False
    assert figure.time_held_beyond_noise is True


def test_figures_of_a_check() -> None:
    check = {
        "batchSize": 24,
        "timeMs": 11.0,
        "aaNoise": 0.03,
        "peakBytes": 1000,
        "predicted": {"timeMs": estimate(10, 9, 10.5), "peakBytes": estimate(1190, 1000, 1200)},
    }
    models = {
        "time": {"aaNoise": 0.04, "samples": [{"batchSize": 12}, {"batchSize": 64}]},
        "memory": {"samples": [{"batchSize": 32}, {"batchSize": 64}]},
    }
    figure = figure_of(check, models)
    assert (figure.place, figure.memory_place) == ("inside", "outside")
    assert figure.time == pytest.approx(0.1)
    assert figure.time_beyond_noise == pytest.approx(0.05)
    assert figure.memory == pytest.approx(0.19)
    assert (figure.time_held, figure.memory_held) == (False, True)


def test_a_size_without_a_prediction_is_no_error_of_nothing() -> None:
    check = {
        "batchSize": 24,
        "timeMs": 11.0,
        "aaNoise": 0.03,
        "peakBytes": 1000,
        "predicted": {"timeMs": None, "peakBytes": None},
    }
    models = {"time": {"aaNoise": 0.0, "samples": [{"batchSize": 12}]}, "memory": {"samples": [{"batchSize": 12}]}}
    figure = figure_of(check, models)
    assert (figure.time, figure.time_beyond_noise, figure.time_held, figure.memory) == (None, None, None, None)
    assert mean_and_worst([figure.time]) == "–"
