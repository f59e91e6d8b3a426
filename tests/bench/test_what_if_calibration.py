"""Residuals of predictions, and how often the intervals that are made from them hold for models that come later."""

from __future__ import annotations

import math
import random
import re

import pytest
from shared import ROOT
from what_if_calibration import KINDS, Pair, Row, held_out, kind_of, quantile, row_of, table_of, text_of, widening_of


def pair(model: str, miss: float, *, kind: str = "autocast", share: float = 1.0, noise: float = 0.0) -> Pair:
    """Predicted no change, within 5 %; tried: `miss`."""
    return Pair(model, kind, share, (0.0, -0.05, 0.05), (miss, miss - noise, miss + noise))


def test_a_residual_is_what_lies_outside_of_the_interval_beyond_the_noise() -> None:
    assert pair("a", 0.04).residual == 0
    assert pair("a", -0.25).residual == pytest.approx(0.2)
    assert pair("a", 0.1, noise=0.1).residual == 0
    assert pair("a", 0.18, noise=0.05).residual == pytest.approx(0.12)


def test_a_noisy_trial_says_too_little() -> None:
    assert pair("a", 0.3, noise=0.1).is_quiet
    assert not pair("a", 0.3, noise=0.2).is_quiet


def test_a_model_counts_once_with_its_worst_pair() -> None:
    pairs = [pair("a", 0.06), pair("a", 0.15), pair("b", 0.05)]
    assert row_of("autocast", 0.5, pairs, 0.5) == Row("autocast", 0.5, 2, 3, pytest.approx(0.1))


def test_the_quantile_leaves_room_for_a_model_that_was_not_seen() -> None:
    assert quantile([0.1 * i for i in range(1, 20)], 0.9) == pytest.approx(1.8)  # the 18th of 19, not the 17.1th
    assert quantile([0.3, 0.1], 0.9) == 0.3


def test_intervals_hold_for_as_many_later_models_as_they_are_made_for() -> None:
    draws = random.Random(46)
    inside = 0
    for _ in range(600):
        models = [pair(str(i), draws.gauss(0, 0.1) * (1 + (i % 3))) for i in range(20)]
        new = pair("new", draws.gauss(0, 0.1) * (1 + draws.randrange(3)))
        inside += new.is_inside(widening_of(table_of(models), "autocast", 1.0))
    assert 0.87 < inside / 600 < 0.97


def test_a_smaller_share_is_never_narrower() -> None:
    rows = table_of([pair("a", 0.3), pair("b", 0.2), pair("c", 0.08, share=0.6)])
    assert widening_of(rows, "autocast", 0.6) == widening_of(rows, "autocast", 0.95) == pytest.approx(0.25)
    assert widening_of(rows, "checkpoint", 1.0) == widening_of(rows, "any", 1.0) > 0


def test_a_held_out_model_is_not_in_its_own_table() -> None:
    text = held_out([pair("a", 1.0), pair("b", 0.1), pair("c", 0.1)])
    assert text.startswith(
        "3 models, 3 pairs. Each model held out: 2 pairs inside (before: 0), 2 models with all inside"
    )


def test_kinds_are_those_of_the_product() -> None:
    source = (ROOT / "server" / "step" / "changes" / "calibration.cpp").read_text("utf-8")
    assert dict(re.findall(r'\{"([a-z0-9-]+)", "([a-z-]+)"\}', source)) == KINDS
    assert kind_of(["accumulate:2"]) == "accumulate"
    assert kind_of(["accumulate:2", "checkpoint"]) == "combined"


def test_the_table_is_a_header() -> None:
    text = text_of([Row("any", 0.5, 20, 80, 0.12)], 0.9, "20 models on a CPU, 2 processors.")
    assert '{"any", 0.5, 20, 80, 0.1200},' in text
    assert "std::array<Residual, 1> kResiduals" in text
    assert math.isfinite(float(re.findall(r"kCalibratedLevel = ([0-9.]+)", text)[0]))
