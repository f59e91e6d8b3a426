"""What LSP says a message looks like, against any JSON value.

The types are those of `lsprotocol`, which Microsoft generates from the specification's metaModel.json. That package
reads messages leniently; here they are compared strictly, member by member.
"""

from __future__ import annotations

import enum
import types as python_types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import attrs
from lsprotocol import types, validators

MOST = validators.INTEGER_MAX_VALUE
Problems = list[str]
NULL_BUT_THERE = {"documentSelector", "processId", "rootUri", "version"}


@cache
def members(structure: type) -> dict[str, tuple[Any, attrs.Attribute[Any]]]:
    """The members of a structure: the name in JSON → its type and its attribute."""
    hints = typing.get_type_hints(structure, vars(types))
    return {json_name(field.name): (hints[field.name], field) for field in attrs.fields(structure)}


def json_name(name: str) -> str:
    first, *others = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in others)


def is_anything(hint: Any) -> bool:
    """LSPAny and LSPObject."""
    return hint is Any or hint is object or (is_union(hint) and Any in typing.get_args(hint))


def is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, python_types.UnionType)


def check(value: Any, hint: Any, where: str, *, extra_members: bool) -> Problems:
    """What is wrong with the value as one of that type; each as `where: what`. `extra_members`: structures may have
    members that the specification does not know."""
    if is_anything(hint):
        return []
    if is_union(hint):
        return check_union(value, typing.get_args(hint), where, extra_members)
    if attrs.has(hint):
        return check_structure(value, hint, where, extra_members)
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        return [] if value in typing.get_args(hint) else [f"{where}: must be {typing.get_args(hint)[0]!r}"]
    if origin is tuple:
        items = typing.get_args(hint)
        if not isinstance(value, list) or len(value) != len(items):
            return [f"{where}: must be an array of {len(items)}"]
        return [
            problem
            for i, (each, item) in enumerate(zip(value, items, strict=True))
            for problem in check(each, item, f"{where}[{i}]", extra_members=extra_members)
        ]
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            return [f"{where}: must be an object"]
        item = typing.get_args(hint)[1]
        return [
            p for key, each in value.items() for p in check(each, item, f"{where}.{key}", extra_members=extra_members)
        ]
    if origin is not None and issubclass(origin, Sequence):
        if not isinstance(value, list):
            return [f"{where}: must be an array"]
        (item,) = typing.get_args(hint)
        return [
            p for i, each in enumerate(value) for p in check(each, item, f"{where}[{i}]", extra_members=extra_members)
        ]
    return check_simple(value, hint, where)


def check_simple(value: Any, hint: Any, where: str) -> Problems:
    if hint is None or hint is type(None):
        return [] if value is None else [f"{where}: must be null"]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        plain = not isinstance(value, bool)
        return (
            [] if plain and any(value == each.value for each in hint) else [f"{where}: {value!r} is no {hint.__name__}"]
        )
    if hint is float:
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        return [] if numeric else [f"{where}: must be a number"]
    if hint is int:
        whole = isinstance(value, int) and not isinstance(value, bool) and -MOST - 1 <= value <= MOST
        return [] if whole else [f"{where}: must be an integer"]
    if isinstance(hint, typing.ForwardRef):
        raise TypeError(f"{where}: {hint} was not resolved")
    return [] if isinstance(value, hint) else [f"{where}: must be a {hint.__name__}"]


def check_union(value: Any, hints: tuple[Any, ...], where: str, extra_members: bool) -> Problems:
    found = [check(value, hint, where, extra_members=extra_members) for hint in hints]
    if any(not problems for problems in found):
        return []
    # The alternative that fits best tells the most.
    return min(found, key=lambda problems: (len(problems), -len(problems[0])))


def check_structure(value: Any, structure: type, where: str, extra_members: bool) -> Problems:
    if not isinstance(value, dict):
        return [f"{where}: must be an object ({structure.__name__})"]
    known = members(structure)
    found: Problems = []
    for name, (hint, field) in known.items():
        place = f"{where}.{name}"
        if name not in value:
            if is_required(structure, name, hint, field):
                found.append(f"{place}: is missing")
        elif value[name] is None and field.default is None and not may_be_null(structure, field.name, hint):
            found.append(f"{place}: must be left out, not null")
        else:
            problems = check(value[name], hint, place, extra_members=extra_members)
            if not problems and isinstance(value[name], int) and value[name] < 0 and is_unsigned(field):
                problems = [f"{place}: must not be negative"]
            found += problems
    if not extra_members:
        found += [f"{where}.{name}: is no member of {structure.__name__}" for name in value if name not in known]
    return found


def is_required(structure: type, name: str, hint: Any, field: attrs.Attribute[Any]) -> bool:
    """The types give defaults to what has only one value, and to what may be null but must be there."""
    only_value = typing.get_origin(hint) is typing.Literal
    return (
        field.default is attrs.NOTHING
        or only_value
        or (name in NULL_BUT_THERE and may_be_null(structure, field.name, hint))
    )


def may_be_null(structure: type, name: str, hint: Any) -> bool:
    return is_anything(hint) or types.is_special_property(structure, name)


def is_unsigned(field: attrs.Attribute[Any]) -> bool:
    return "uinteger_validator" in repr(field.validator)


def params_type(method: str) -> Any:
    """The type of the parameters of a request or notification."""
    return typing.get_type_hints(types.METHOD_TO_TYPES[method][0], vars(types)).get("params", type(None))


def result_type(method: str) -> Any:
    response = types.METHOD_TO_TYPES[method][1]
    return typing.get_type_hints(response, vars(types))["result"]


def is_request(method: str) -> bool:
    return types.METHOD_TO_TYPES[method][1] is not None
