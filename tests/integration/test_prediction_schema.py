"""The schema of `ridgeline predict --format json`: it takes what the unit tests expect, and refuses what is broken."""

import copy
import json
from collections.abc import Callable

import pytest
from conftest import ROOT, prediction_validator
from jsonschema import Draft202012Validator
from test_report_schema import Report, subschemas

SCHEMA = json.loads((ROOT / "protocol/prediction.schema.json").read_text("utf-8"))
PREDICTIONS = {
    name: json.loads((ROOT / "tests/data/report" / name).read_text("utf-8"))
    for name in ("prediction.json", "prediction-none.json")
}


def errors(prediction: Report) -> list[str]:
    found = prediction_validator().iter_errors(prediction)
    return [f"{error.json_path}: {error.message}" for error in found]


def test_schema_is_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_schema_describes_and_closes_every_object() -> None:
    for schema in subschemas(SCHEMA):
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
            assert sorted(schema["required"]) == sorted(schema["properties"])
            for name, field in schema["properties"].items():
                assert field.get("description"), name


@pytest.mark.parametrize("name", PREDICTIONS)
def test_accepts_what_is_written(name: str) -> None:
    assert errors(PREDICTIONS[name]) == []


BROKEN: dict[str, Callable[[Report], object]] = {
    "another version": lambda p: p.update(version=2),
    "an unknown field": lambda p: p.update(extra=1),
    "an unknown field of the answer": lambda p: p["answer"].update(extra=1),
    "no answer": lambda p: p.pop("answer"),
    "an id of another form": lambda p: p["profile"].update(id="7"),
    "a time of another form": lambda p: p["profile"].update(createdAt="today"),
    "an unknown quantity": lambda p: p["question"].update(quantity="watts"),
    "a value of 0": lambda p: p["question"].update(value=0),
    "an unknown obstacle": lambda p: p.update(obstacle="laziness"),
    "batch size 0": lambda p: p["answer"].update(batchSize=0),
    "a time of 0": lambda p: p["answer"]["timeMs"].update(value=0),
    "an interval without an end": lambda p: p["answer"]["timeMs"]["interval"].pop("high"),
    "a negative interval": lambda p: p["answer"]["peakBytes"]["interval"].update(low=-1),
    "half a measurement": lambda p: p["answer"]["measured"].pop("peakBytes"),
    "no sampled sizes": lambda p: p["limits"].update(sampledBatchSizes=[]),
    "a damaged environment": lambda p: p["environment"].pop("torch"),
    "a failed batch without a kind": lambda p: p["failed"].append({"batchSize": 1, "message": ""}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_rejects(name: str) -> None:
    prediction = copy.deepcopy(PREDICTIONS["prediction.json"])
    BROKEN[name](prediction)
    assert errors(prediction) != []
