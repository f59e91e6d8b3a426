"""The source layer against Python's own parser: the batch size's edit, the mistakes, the definitions.

`ridgeline_source_probe` (tests/unit/source/source_probe.cpp) says what the layer finds in a text.
"""

from __future__ import annotations

import ast
import copy
import json
import random
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import BINARY, ROOT

sys.path.insert(0, str(ROOT / "profiler" / "runner"))

from ridgeline_runner.common.failure import Failure
from ridgeline_runner.step.entry import EntryPoint

PROBE = BINARY.parent / "ridgeline_source_probe"
SIGNATURES = 10_000
NEW_VALUE = 1536


def probe(sources: list[str]) -> list[dict[str, Any]]:
    request = json.dumps({"sources": sources, "value": NEW_VALUE})
    done = subprocess.run([PROBE], input=request, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ---- generated signatures --------------------------------------------------------------------------------------------

ANNOTATIONS = [
    "int", "'int'", "Dict[str, 'List[int]']", "Callable[[int], str]", "Literal['batch_size=3', '(']", "int | None",
    "Annotated[int, lambda batch_size=7: batch_size]", "tuple[int, ...]", "(int)", "'größe'", "Größe", "{1: 2}[1]",
]  # fmt: skip
DEFAULTS = [
    "None", "'x'", "')'", '"batch_size=5"', "[1, (2, 3)]", "{'batch_size': 9}", "lambda batch_size=5: batch_size",
    "lambda *a, **k: (a, k)", "f(batch_size=6)", "3", "-1", "1_000", "f'{x!r:>{w}}'", "'世界😀'", "b'\\x00'", "...",
    "'''one\ntwo'''", "x if y else z", "[i for i in range(3)]", "r'\\d'", "not x", "(yield_ := 3)", "a.b[1:2, ::3]",
]  # fmt: skip
COMMENTS = ["# tuned", "# batch_size=99", "# ) -> :", "#", "# 'é😀", '# """']
DECORATORS = ["@decorated", "@a.b.c", "@torch.no_grad()", "@options(batch_size=12, x=lambda: 3)", "@(yield_ := f)"]
NAMES = ["device", "größe", "名前", "_x", "shape", "batch", "batch_size_", "x_batch_size", "sizes", "𝔸b"]
HEADS = [
    "",
    "import torch\n",
    "'''Text\ndef input_provider(batch_size=3): pass\n'''\n",
    "x = 'é' ; y = 2\n",
    "# 😀\n\n",
]


def literal(generator: random.Random) -> str:
    value = generator.randint(1, 1 << 24)
    plain = generator.choice([str(value), str(value % 512 + 1), hex(value), oct(value), bin(value), f"{value:_}"])
    spelt = generator.choice([plain, plain.upper().replace("0X", "0x"), f"0x{value:_x}", "1_2", "8"])
    return generator.choice([spelt, spelt, spelt, f"({spelt})", f"+{spelt}", f"( +({spelt}))", f"+ {spelt}"])


class Signature:
    """One definition of input_provider. White space that Python allows is put between the tokens."""

    def __init__(self, generator: random.Random) -> None:
        self.generator = generator

    def chance(self, share: float) -> bool:
        return self.generator.random() < share

    def space(self) -> str:
        """Inside of brackets."""
        if self.chance(0.6):
            return self.generator.choice(["", " "])
        comment = "  " + self.generator.choice(COMMENTS) if self.chance(0.3) else ""
        return self.generator.choice(["  ", "\t", "\f", "\\\n", f"{comment}\n    ", f"{comment}\n\t", f"{comment}\n\n"])

    def parameter(self, name: str, default: str | None) -> str:
        text = name
        if self.chance(0.5):
            text += f"{self.space()}:{self.space()}{self.generator.choice(ANNOTATIONS)}"
        return text if default is None else f"{text}{self.space()}={self.space()}{default}"

    def parameters(self) -> list[str]:
        """In Python's order: positional-only, /, others, * or *args, keyword-only, **kwargs."""
        names = self.generator.sample(NAMES, self.generator.randint(0, 5))
        place = self.generator.randint(0, len(names))
        names.insert(place, "batch_size")
        slash = self.generator.randint(1, len(names)) if self.chance(0.3) else 0
        star = self.generator.randint(slash, len(names)) if self.chance(0.5) else len(names)
        defaults_from = self.generator.randint(0, min(place, star))
        parts = []
        for index, name in enumerate(names):
            if index == slash and slash:
                parts.append("/")
            if index == star:
                parts.append(self.generator.choice(["*", "*args", "*args: int"]))
            if name == "batch_size":
                default = literal(self.generator)
            elif defaults_from <= index < star or (index > star and self.chance(0.5)):
                default = self.generator.choice(DEFAULTS)
            else:
                default = None
            parts.append(self.parameter(name, default))
        if slash == len(names):
            parts.append("/")
        if self.chance(0.2):
            parts.append(self.parameter("**options", None))
        return parts

    def text(self) -> str:
        name = self.generator.choice(["", "", "ridgeline_", "skyline_", "deepview_"]) + "input_provider"
        head = self.generator.choice(HEADS)
        decorators = "".join(f"{self.generator.choice(DECORATORS)}\n" for _ in range(self.generator.randint(0, 2)))
        parts = [f"{self.space()}{part}{self.space()}" for part in self.parameters()]
        inside = ",".join(parts) + ("," if self.chance(0.3) and not parts[-1].strip().startswith("**") else "")
        result = f" -> {self.generator.choice(ANNOTATIONS)}" if self.chance(0.3) else ""
        comment = "  " + self.generator.choice(COMMENTS) if self.chance(0.3) else ""
        text = f"{decorators}def {name}({inside}){result}:{comment}\n    return (batch_size,)\n"
        if self.chance(0.2):
            indented = "".join(f"    {line}" for line in text.splitlines(keepends=True))
            text = f"if torch:\n{indented}"
        text = head + text + "def model_provider(batch_size=1): pass\n"
        ends = self.generator.choice(["\n", "\n", "\n", "\r\n", "\r"])
        return ("\ufeff\n" if self.chance(0.05) else "") + text.replace("\n", ends)


def python_accepts(text: str) -> bool:
    try:
        ast.parse(text.encode())
    except SyntaxError:
        return False
    return True


def provider_of(tree: ast.Module) -> ast.FunctionDef:
    [found] = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.endswith("input_provider")]
    return found


def default_of(provider: ast.FunctionDef) -> ast.Constant:
    """The literal behind parentheses, which leave nothing in the tree, and signs."""
    arguments = provider.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip([a.arg for a in reversed(positional)], reversed(arguments.defaults), strict=False))
    defaults |= {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d}
    default = defaults["batch_size"]
    while isinstance(default, ast.UnaryOp):
        default = default.operand
    assert isinstance(default, ast.Constant)
    return default


def line_starts(text: bytes) -> list[int]:
    return [0, *(match.end() for match in re.finditer(rb"\r\n|\r|\n", text))]


def place_of(node: ast.expr, text: bytes) -> list[int]:
    starts = line_starts(text)
    assert node.end_lineno is not None and node.end_col_offset is not None
    return [starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset]


def check_edit(source: str, answer: dict[str, Any]) -> None:
    text = source.encode()
    tree = ast.parse(text)
    default = default_of(provider_of(tree))
    entry = answer["entryPoint"]
    assert entry["batchSize"] == default.value
    assert entry["edit"]["span"] == place_of(default, text)
    assert entry["edit"]["text"].replace("_", "") == str(NEW_VALUE)
    assert entry["providers"]["input_provider"]["line"] == provider_of(tree).lineno - 1
    begin, end = entry["edit"]["span"]
    edited = ast.parse(text[:begin] + entry["edit"]["text"].encode() + text[end:])
    wanted = copy.deepcopy(tree)
    default_of(provider_of(wanted)).value = NEW_VALUE
    assert ast.dump(edited) == ast.dump(wanted)


def test_only_the_literal_of_a_generated_signature_changes() -> None:
    generator = random.Random(20261121)
    sources: list[str] = []
    while len(sources) < SIGNATURES:
        text = Signature(generator).text()
        if python_accepts(text):
            sources.append(text)
    for source, answer in zip(sources, probe(sources), strict=True):
        try:
            check_edit(source, answer)
        except (AssertionError, TypeError, KeyError, SyntaxError) as problem:
            pytest.fail(f"{problem}\n{answer['entryPoint']}\n{source!r}")


def test_the_generator_is_accepted_by_python_most_of_the_time() -> None:
    generator = random.Random(5)
    assert sum(python_accepts(Signature(generator).text()) for _ in range(300)) > 200


# ---- mistakes --------------------------------------------------------------------------------------------------------

MODEL = "def model_provider(): pass\n"
INPUT = "def input_provider(batch_size=4): pass\n"
ITERATION = "def iteration_provider(model): pass\n"
# Small entry files, with mistakes of every kind and with none.
ENTRIES = [
    MODEL + INPUT + ITERATION,
    INPUT + ITERATION,
    MODEL + INPUT,
    "def model_provder(): pass\n" + INPUT + ITERATION,
    "def get_model_provider(): pass\n" + INPUT + ITERATION,
    "def build(): pass\n" + INPUT + ITERATION,
    MODEL + MODEL + INPUT + ITERATION,
    MODEL + "def skyline_model_provider(): pass\n" + INPUT + ITERATION,
    MODEL + "skyline_model_provider = model_provider\n" + INPUT + ITERATION,
    "model_provider = 3\n" + INPUT + ITERATION,
    "model_provider = None\n" + MODEL + INPUT + ITERATION,
    MODEL + "model_provider = [1]\n" + INPUT + ITERATION,
    "model_provider = None\ndef deepview_model_provider(): pass\n" + INPUT + ITERATION,
    "class model_provider: pass\n" + INPUT + ITERATION,
    "import json as model_provider\n" + INPUT + ITERATION,
    "async def model_provider(): pass\n" + INPUT + ITERATION,
    "async def model_provider():\n    yield\n" + INPUT + ITERATION,
    "from functools import partial\nmodel_provider = partial(print)\n" + INPUT + ITERATION,
    "if True:\n    def model_provider(): pass\nelse:\n    def model_provider(): pass\n" + INPUT + ITERATION,
    "try:\n    import torch\nfinally:\n    def model_provider(): pass\n" + INPUT + ITERATION,
    "if __name__ == '__main__':\n    def model_provider(): pass\n" + INPUT + ITERATION,
    "class A:\n    def model_provider(): pass\n" + INPUT + ITERATION,
    "a = model_provider = lambda: 3\n" + INPUT + ITERATION,
    "(model_provider, b) = (print, 2)\n" + INPUT + ITERATION,
    MODEL + ITERATION + "def input_provider(): pass\n",
    MODEL + ITERATION + "def input_provider(batch_size): pass\n",
    MODEL + ITERATION + "def input_provider(*batch_size): pass\n",
    MODEL + ITERATION + "def input_provider(*, batch_size): pass\n",
    MODEL + ITERATION + "def input_provider(**batch_size): pass\n",
    MODEL + ITERATION + "def input_provider(batch_size=3, /): pass\n",
    MODEL + ITERATION + "input_provider = lambda size=3: size\n",
    *[
        MODEL + ITERATION + f"x = 4\ndef input_provider(batch_size={default}): pass\n"
        for default in (
            "0", "-4", "- (4)", "+4", "+True", "4.0", "True", "None", "'4'", "'4' '5'", "f'4'", "[4]", "(4,)", "(4)",
            "{4}", "{4: 4}", "lambda: 4", "...", "4j", "16777216", "16777217", "0x1000001", "9" * 30, "x", "4 * x",
            "--4", "~-5", "[i for i in (4,)]",
        )
    ],
]  # fmt: skip


def failure_of(text: str, file: Path) -> tuple[str, str] | None:
    """The first thing that the runner refuses: its code, and its words without a file's name."""
    file.write_text(text)
    module = ModuleType("entry")
    exec(compile(text, file, "exec"), vars(module))
    try:
        EntryPoint.of(module, str(file))
    except Failure as failure:
        return failure.kind, str(failure)
    return None


def test_mistakes_are_those_of_the_runner(tmp_path: Path) -> None:
    for text, answer in zip(ENTRIES, probe(ENTRIES), strict=True):
        failure = failure_of(text, tmp_path / "entry.py")
        found = [mistake["code"] for mistake in answer["entryPoint"]["mistakes"]]
        assert found == ([failure[0]] if failure else []), text
        if failure is not None and failure[0] != "provider-missing" and failure[0] != "batch-size-invalid":
            assert answer["entryPoint"]["mistakes"][0]["message"] == failure[1], text
        if failure is not None and failure[0] == "provider-missing":
            hint = failure[1].partition(" Did you mean")[2]
            assert answer["entryPoint"]["mistakes"][0]["message"].partition(" Did you mean")[2] == hint, text


def test_the_examples_are_entry_points_without_mistakes() -> None:
    files = sorted((ROOT / "examples").glob("*/entry.py"))
    assert files
    for file, answer in zip(files, probe([file.read_text() for file in files]), strict=True):
        entry = answer["entryPoint"]
        assert entry is not None and entry["mistakes"] == [], file
        assert len(entry["providers"]) == 3 and entry["edit"] is not None, file


# ---- definitions -----------------------------------------------------------------------------------------------------


def definitions_of(body: list[Any], prefix: str = "") -> list[list[Any]]:
    """[qualified name, first line, line of the name's `def`, last line], lines counted from 0, as Python has them."""
    found = []
    for node in body:
        inner = prefix
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.append([prefix + node.name, first - 1, node.lineno - 1, (node.end_lineno or 0) - 1])
            inner = f"{prefix}{node.name}."
        for part in ("body", "handlers", "cases", "orelse", "finalbody"):
            children = getattr(node, part, [])
            if isinstance(children, list):
                found += definitions_of(children, inner)
    return found


def test_definitions_are_those_of_python() -> None:
    """Compares with a part of the standard library, and torch's modules."""
    import torch

    library = Path(sysconfig.get_path("stdlib"))
    folders = [library / "asyncio", library / "email", library / "json", library, Path(torch.__file__).parent / "nn"]
    files = [file for folder in folders for file in sorted(folder.glob("*.py"))]
    assert len(files) > 150
    texts = [file.read_text(encoding="utf-8") for file in files]
    for file, text, answer in zip(files, texts, probe(texts), strict=True):
        lines = text.split("\n")
        for definition in answer["definitions"]:  # to the grammar, comments at the end belong to the body
            while lines[definition[3]].strip().startswith("#") or not lines[definition[3]].strip():
                definition[3] -= 1
        assert sorted(answer["definitions"]) == sorted(definitions_of(ast.parse(text).body)), file
