"""Keys of Roller's operators, and the rank correlation."""

from __future__ import annotations

import json

import pytest
from roofline import key_of, rank_correlation


def test_keys_are_those_of_torch() -> None:
    assert json.loads(key_of("M0", "65536_1024_2"))[1] == ["t:float32:65536,2:2,1", "t:float32:2,1024:1024,1"]
    convolution = json.loads(key_of("C1", "128_128_58_58_64_3_3_2_1_VALID"))[1]
    assert convolution[1] == "t:float32:64,128,3,3:1152,9,3,1"
    assert convolution[3:] == [[2, 2], [0, 0], [1, 1], False, [0, 0], 1]
    depthwise = json.loads(key_of("D0", "128_84_83_83_5_2_1_SAME"))[1]
    assert depthwise[1] == "t:float32:84,1,5,5:25,25,5,1"
    assert depthwise[4] == [2, 2] and depthwise[8] == 84


def test_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 90]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 1, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9487, abs=1e-4)
