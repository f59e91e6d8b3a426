"""Roller's operators as keys and as operations of ours, and the rank correlation."""

from __future__ import annotations

import json

import pytest
from roofline import key_of, rank_correlation
from white_box import drawn, flops_and_elements, operation_of, plain_roofline_ns


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


def test_operations_are_those_that_programs_exist_for() -> None:
    assert operation_of("M1", "128_1000_4032") == "matmul 128 1000 4032"
    assert operation_of("C0", "128_128_28_28_128_3_3_1_1_SAME") == "conv 128 128 28 28 128 3 stride 1 padding 1"
    assert operation_of("E3", "128_512_14_14") == "elementwise 917504 14 = relu(x)"
    assert operation_of("R0", "128_512_1024") == "reduce mean 65536 1024 dim 1"
    assert operation_of("R3", "128_2048_7_7") == "reduce mean 262144 49 dim 1"
    assert operation_of("D0", "128_84_83_83_5_2_1_SAME") is None
    assert operation_of("C9", "128_42_83_83_42_3_3_1_2_SAME") is None  # dilated


def test_the_plain_roofline_is_of_flops_or_of_bytes() -> None:
    assert flops_and_elements("matmul 2 3 4") == (48, [8, 12, 6])
    assert flops_and_elements("conv 2 3 8 8 4 3 stride 2 padding 1") == (2 * 2 * 16 * 108, [384, 108, 128])
    assert flops_and_elements("reduce mean 6 5 dim 1") == (30, [30, 6])
    rate = {"all": {"value": 2e9}, "oneUnit": {"value": 1e9}}
    device = {"peaks": [{"dtype": "float32", "flopPerS": rate}], "levels": [{"bytesPerS": rate}]}
    assert plain_roofline_ns("matmul 2 3 4", device, 1) == pytest.approx(104)  # 26 elements
    assert plain_roofline_ns("matmul 20 30 40", device, 2) == pytest.approx(24000)


def test_a_seed_draws_the_same_operators() -> None:
    rows = [[f"M{i}", f"{i + 1}_10_10"] for i in range(60)] + [["M60", "100000_1000_1"], ["M61", "9999_9999_9999"]]
    assert len(drawn(rows, 1)) == 40
    assert drawn(rows, 1) == drawn(rows, 1) != drawn(rows, 2)
    assert {operator for seed in range(9) for operator, _ in drawn(rows, seed)}.isdisjoint({"M60", "M61"})
