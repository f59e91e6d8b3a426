"""Who may include whom: the layers of docs/dev/architecture.md, as tables, against every #include of ours."""

from __future__ import annotations

import re
from pathlib import Path

import includes
import pytest

ROOT = Path(__file__).resolve().parents[2]

ANALYSIS = ["attribution", "allocator", "time", "device", "memory", "breakdown", "prediction"]
ANALYSIS_VALUES = ["protocol", "server/base", "server/analysis/values"]

# A layer (a folder, or a file) → the layers it may include besides itself. The longest matching name is the layer.
MAY_INCLUDE = {
    "protocol": ["server/base"],
    "protocol/recording_format.h": [],
    "protocol/recording_columns.h": ["protocol/recording_format.h"],
    # What several layers need; nothing of what the product is about.
    "server/base": [],
    "server/source": ["protocol", "server/base"],
    "server/analysis": [*ANALYSIS_VALUES] + [f"server/analysis/{part}" for part in ANALYSIS],
    # What goes in and what comes out. Of protocol/, a report needs the kinds of failures only.
    "server/analysis/values": ["protocol"],
    "server/analysis/values/profile.h": [
        "protocol/failure_kind.h",
        "protocol/batch_length.h",
        "protocol/step_energy.h",
        "server/analysis/values/location.h",
        "server/analysis/values/script.h",
        "server/analysis/values/step_work.h",
    ],
    "server/analysis/values/step_work.h": ["server/analysis/values/location.h"],
    "server/analysis/values/script.h": ["protocol/step_end.h", "server/analysis/values/location.h"],
    "server/analysis/values/location.h": [],
    "server/analysis/values/prediction.h": ["server/analysis/values/profile.h"],
    # Its parts: they know the values, and of each other what stands here.
    "server/analysis/attribution": ANALYSIS_VALUES,
    "server/analysis/allocator": ["server/base"],
    "server/analysis/time": ANALYSIS_VALUES,
    "server/analysis/device": [*ANALYSIS_VALUES, "server/analysis/attribution"],
    "server/analysis/memory": [*ANALYSIS_VALUES, "server/analysis/attribution", "server/analysis/allocator"],
    "server/analysis/breakdown": [
        *ANALYSIS_VALUES,
        "server/analysis/attribution",
        "server/analysis/device",
        "server/analysis/memory",
    ],
    "server/analysis/prediction": [*ANALYSIS_VALUES, "server/analysis/time", "server/analysis/memory"],
    # What ranks of a job sent each other, and the file of a job.
    "server/communication": [*ANALYSIS_VALUES, "server/analysis/attribution", "server/analysis/time"],
    # The graph of an iteration, and when its tasks run.
    "server/graph": [*ANALYSIS_VALUES, "server/analysis/attribution"]
    + ["server/analysis/breakdown", "server/analysis/device"],
    "server/simulate": ["server/base", "server/graph"],
    # The ranks of a job: clocks, and what each rank waits for.
    "server/cluster": [*ANALYSIS_VALUES, "server/analysis/attribution", "server/analysis/breakdown", "server/graph"]
    + ["server/analysis/time", "server/simulate", "server/communication", "server/whatif"]
    + ["server/analysis/memory"],
    # What a change would bring.
    "server/whatif/prediction_error.h": [],
    "server/whatif": [*ANALYSIS_VALUES, "server/analysis/time", "server/graph", "server/simulate"],
    # What a device can do, and what an operation asks of it.
    "server/hardware": ["server/base"],
    # What the operations of a step ask of the machine, and what they attain.
    "server/efficiency": ["protocol", "server/base", "server/analysis/values", "server/graph", "server/hardware"]
    + ["server/kernels", "server/whatif"],
    # What this machine's processor can do, measured.
    "server/microbenchmarks": ["server/hardware"],
    # Programs for operations, constructed for a device, and their source.
    "server/kernels": ["server/base", "server/hardware"],
    # The times of operations alone, in a file.
    "server/operations": ["server/base", "server/store", "server/hardware"]
    + ["server/analysis/values", "server/analysis/time"],
    # Learnt times of operations.
    "server/estimate": ["server/base", "server/hardware", "server/operations"],
    # Two versions of a step, compared: values in, values out.
    "server/compare": ["server/base", "server/analysis/values", "server/analysis/time"],
    "server/compare/comparison.h": ["server/analysis/values"],
    # Rules over a profile, after the benchmark suite TBD.
    "server/observations": ["server/base", "server/analysis/values"],
    # What it renders: values, not how they are made.
    "server/report": ["protocol", "server/base", "server/analysis/values", "server/analysis/advice.h"]
    + ["server/compare/comparison.h", "server/observations", "server/operations", "server/hardware"]
    + ["server/estimate"],
    "protocol/failure_kind.h": [],
    "protocol/step_end.h": [],
    "protocol/batch_length.h": [],
    "protocol/step_energy.h": [],
    "server/analysis/advice.h": ["server/analysis/values"],
    # Budgets of a step, and what measurements say of them.
    "server/budgets": ["protocol", "server/base", "server/analysis/values", "server/compare", "server/report"],
    # Traces of other profilers become recordings: bytes or tables in, values out.
    "server/imports": ["protocol", "server/base", "server/analysis/values", "server/store/foreign_tables.h"],
    "server/store/foreign_tables.h": [],
    # Recordings become traces for other viewers: values in, text out.
    "server/exports": ["protocol", "server/base", "server/analysis", "server/communication"]
    + ["server/graph", "server/cluster"],
    # What a recorded job shows, for commands and for methods.
    "server/jobs": ["protocol", "server/base", "server/analysis", "server/communication", "server/cluster"]
    + ["server/report"],
    "server/store": ["server/base"],
    # A command that is run again and must not change files: processes and system calls.
    "server/guard": ["server/base"],
    "server/worker": ["protocol", "server/base", "server/guard"],
    # A run from the request to the kept profile, for commands and for methods.
    "server/profiling": [
        "protocol",
        "server/base",
        "server/analysis",
        "server/efficiency",
        "server/estimate",
        "server/graph",
        "server/hardware",
        "server/kernels",
        "server/operations",
        "server/report",
        "server/source",
        "server/store",
        "server/whatif",
        "server/guard",
        "server/worker",
    ],
    # Use cases, each one coroutine, for commands and for methods.
    "server/app": ["protocol", "server/base", "server/analysis", "server/operations", "server/profiling"]
    + ["server/whatif", "server/worker"],
    "server/transport": ["server/base"],
    "server/session": ["protocol", "server/base", "server/transport"],
    "server/methods": [
        "protocol",
        "server/base",
        "server/session",
        "server/source",
        "server/analysis",
        "server/report",
        "server/store",
        "server/whatif",
    ]
    + ["server/app", "server/profiling", "server/worker", "server/compare", "server/jobs"],
    "server/commands": ["protocol", "server"],
    "server/main.cpp": ["server/commands"],
    "profiler/agent": ["protocol/recording_format.h", "protocol/recording_columns.h"],
}

# Libraries with one home: (pattern of <...> or "..." includes, where it may stand).
HOMES = [
    (r"cupti.*\.h|cuda.*\.h", ["profiler/agent"]),
    (r"torch/.*|ATen/.*|c10/.*", ["profiler/agent"]),
    (r"Python\.h|frameobject\.h|internal/pycore_.*", ["profiler/agent"]),
    (r"tree_sitter/.*", ["server/source"]),
    (r"CLI/.*", ["server/commands", "server/main.cpp"]),
    (r"sqlite3\.h|SQLiteCpp/.*", ["server/store", "server/operations"]),
    (r"utf8proc\.h", ["server/report"]),
    (r"zlib\.h", ["server/imports"]),
    (r"toml\+\+/.*", ["server/base/toml.h"]),
    (r"spdlog/.*", ["server/session", "server/methods", "server/commands"]),
    (r"boost/math/.*", ["server/analysis"]),
    (r"Eigen/.*", ["server/analysis/time/spline.cpp", "server/cluster/linear_program.cpp"]),
    # Pure layers: bytes in, values out.
    (
        r"boost/(?!math/).*|thread|mutex|shared_mutex|condition_variable|future|fstream|unistd\.h|sys/.*|fcntl\.h",
        ["server/store", "server/worker", "server/profiling", "server/transport", "server/session", "server/methods"]
        + ["server/guard", "server/microbenchmarks"]
        + ["server/commands", "server/main.cpp", "profiler/agent", "server/base/file.cpp", "server/base/task.h"]
        + [
            "server/base/machine_limits.cpp",
            "server/base/own_file.cpp",
            "server/base/random_digits.cpp",
            "server/base/result.h",
        ],
    ),
    (
        r"base/(?:file|lifetime|own_file|random_digits|task)\.h",
        ["server/base", "server/store", "server/worker", "server/profiling", "server/transport", "server/session"]
        + ["server/guard", "server/jobs"]
        + ["server/app", "server/methods", "server/commands"],
    ),
]


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def layer_of(path: str) -> str | None:
    return max((layer for layer in MAY_INCLUDE if inside(path, layer)), key=len, default=None)


def allowed(source: str, target: str) -> bool:
    layer = layer_of(source)
    if layer is None:
        return False
    return any(inside(target, other) for other in [layer, *MAY_INCLUDE[layer]])


def problems(sources: dict[str, str]) -> list[str]:
    """Every include that the tables forbid, as `file: why`. `sources`: path → text of all files of ours."""
    found = []
    for source, text in sorted(sources.items()):
        if layer_of(source) is None:
            found.append(f"{source}: is in no layer of the table")
            continue
        for quoted, angled in includes.INCLUDE.findall(text):
            for pattern, homes in HOMES:
                if re.fullmatch(pattern, quoted or angled) and not any(inside(source, home) for home in homes):
                    found.append(f"{source}: <{quoted or angled}> belongs to {', '.join(homes)}")
            if not quoted:
                continue
            target = includes.resolve(quoted, source, sources)
            if target is None:
                found.append(f'{source}: "{quoted}" is no file of ours; libraries are included with <>')
            elif not allowed(source, target):
                found.append(f"{source}: may not include {target}")
    return found


def tree() -> dict[str, str]:
    return includes.files_of(None)


def test_every_include_is_allowed():
    sources = tree()
    assert sources, "found no sources: the check would pass on nothing"
    assert problems(sources) == []


def test_every_row_names_something_that_can_exist():
    for layer, others in MAY_INCLUDE.items():
        for name in [layer, *others]:
            assert name in MAY_INCLUDE or name == "server", f"{name} is used in the table but has no row"


# Places that show text, each behind one function (docs/dev/security.md): (pattern, where it may stand).
SINKS = [
    (
        r"window/(?:showMessage|showMessageRequest|logMessage)\"",
        ["server/session/session.cpp", "server/commands/remote.cpp"],
    ),
    (r"\\?\$/progress\"", ["server/session/progress.cpp"]),
    (
        r"std::(?:cerr|cout|clog)\b",
        [f"server/commands/{name}.cpp" for name in ("terminal", "progress_line", "options", "doctor", "profile_now")],
    ),
    (
        r"\"(?:markdown|plaintext)\"",
        ["protocol/lsp.cpp", "protocol/client_capabilities.cpp"]
        + [f"server/commands/{name}.cpp" for name in ("options", "rendered_profile", "compare")],  # --format
    ),
]


def test_text_is_shown_in_known_places_only():
    found = [
        f"{source}: {pattern}"
        for source, text in tree().items()
        for pattern, homes in SINKS
        if source not in homes and re.search(pattern, text)
    ]
    assert found == []


def test_folders_include_each_other_without_circles():
    graph = includes.includes(tree())
    # The seam to CUPTI and what it writes to are one layer in two folders.
    agent = {"profiler/agent", "profiler/agent/cupti"}
    circles = {folder for folder in graph if folder in includes.reachable(graph, folder)}
    assert circles <= agent


def test_the_drawing_of_the_includes_is_fresh():
    page = (ROOT / "docs" / "dev" / "architecture" / "includes.md").read_text()
    assert includes.drawing(tree()) in page, "run: python tests/layers/includes.py"


def test_what_is_awaited_has_a_name():
    """GCC 12 destroys objects that are made within the expression of a co_await twice: server/base/task.h."""
    found = [
        f"{source}: {line.strip()}"
        for source, text in tree().items()
        for line in text.splitlines()
        if re.search(r"\bco_await\b", line.partition("//")[0])
        and not re.search(r"\bco_await std::move\(\w+\)[;,)]", line)
    ]
    assert found == []


# A source that includes something → what the checker must say; "" when it is fine.
CASES = [
    ("protocol/a.cpp", '#include "protocol/recording.h"', ""),
    ("protocol/a.cpp", '#include "analysis/values/profile.h"', "may not include server/analysis/values/profile.h"),
    ("protocol/recording_format.h", '#include "protocol/recording.h"', "may not include protocol/recording.h"),
    ("server/analysis/a.cpp", '#include "analysis/values/profile.h"\n#include "protocol/recording.h"', ""),
    ("server/analysis/a.cpp", '#include "report/text.h"', "may not include server/report/text.h"),
    ("server/analysis/a.cpp", "#include <thread>", "belongs to"),
    ("server/analysis/a.cpp", "#include <boost/math/distributions/normal.hpp>", ""),
    ("server/analysis/a.cpp", "#include <boost/asio.hpp>", "belongs to"),
    ("server/report/a.cpp", "#include <boost/math/distributions/normal.hpp>", "belongs to server/analysis"),
    ("server/analysis/a.h", "#include <Eigen/QR>", "belongs to server/analysis/time/spline.cpp"),
    ("server/analysis/a.cpp", '#include "analysis/memory/ledger.h"', ""),
    ("server/analysis/time/a.cpp", '#include "analysis/memory/ledger.h"', "may not include server/analysis/memory"),
    (
        "server/analysis/values/profile.h",
        '#include "analysis/memory/ledger.h"',
        "may not include server/analysis/memory",
    ),
    ("server/report/a.cpp", '#include "analysis/values/profile.h"', ""),
    ("server/report/a.cpp", '#include "analysis/memory/ledger.h"', "may not include server/analysis/memory"),
    ("server/worker/a.cpp", '#include "analysis/values/profile.h"', "may not include server/analysis/values/profile.h"),
    ("server/worker/a.cpp", '#include "base/content_hash.h"', ""),
    ("server/analysis/a.cpp", '#include "base/content_hash.h"', ""),
    ("server/analysis/a.cpp", '#include "base/file.h"', "belongs to"),
    ("server/base/a.h", '#include "protocol/recording.h"', "may not include protocol/recording.h"),
    ("server/worker/a.cpp", '#include "store/profile_store.h"', "may not include server/store/profile_store.h"),
    ("server/worker/a.cpp", "#include <sqlite3.h>", "belongs to server/store"),
    ("server/profiling/a.cpp", "#include <SQLiteCpp/Database.h>", "belongs to server/store"),
    ("server/store/a.cpp", '#include "analysis/values/profile.h"', "may not include server/analysis/values/profile.h"),
    ("server/commands/a.cpp", '#include "report/text.h"\n#include <boost/asio.hpp>', ""),
    ("server/main.cpp", '#include "commands/profile.h"', ""),
    ("server/main.cpp", '  #  include "report/text.h"', "may not include server/report/text.h"),
    ("profiler/agent/a.cpp", '#include "b.h"\n#include <Python.h>', ""),
    ("profiler/agent/a.cpp", '#include "protocol/recording_format.h"', ""),
    ("profiler/agent/a.cpp", '#include "protocol/recording.h"', "may not include protocol/recording.h"),
    ("server/source/a.cpp", '#include "../analysis/values/profile.h"', "is no file of ours"),
    ("server/source/a.cpp", '#include "fmt/format.h"', "is no file of ours"),
    ("server/methods/a.cpp", "#include <Python.h>", "belongs to profiler/agent"),
    ("server/transport/a.cpp", "#include <boost/asio.hpp>", ""),
    ("server/transport/a.cpp", '#include "protocol/recording.h"', "may not include protocol/recording.h"),
    ("server/session/a.cpp", '#include "transport/transport.h"\n#include "protocol/recording.h"', ""),
    ("server/session/a.cpp", '#include "worker/worker.h"', "may not include server/worker/worker.h"),
    ("protocol/a.cpp", "#include <spdlog/spdlog.h>", "belongs to"),
    ("server/novelty/a.cpp", "", "is in no layer"),
    ("server/worker/a.cpp", '// #include "analysis/values/profile.h"', ""),
]
HEADERS = [
    "protocol/recording.h",
    "protocol/recording_format.h",
    "server/analysis/values/profile.h",
    "server/analysis/memory/ledger.h",
    "server/report/text.h",
    "server/base/content_hash.h",
    "server/base/file.h",
    "server/store/profile_store.h",
    "server/commands/profile.h",
    "server/transport/transport.h",
    "server/worker/worker.h",
    "profiler/agent/b.h",
]


@pytest.mark.parametrize(("source", "text", "expected"), CASES)
def test_checker(source: str, text: str, expected: str):
    found = "\n".join(problems({**dict.fromkeys(HEADERS, ""), source: text}))
    assert expected in found if expected else found == ""


def unnamed_definitions(text: str) -> set[str]:
    """Functions with their parameter types, types and constants that a source defines in an unnamed namespace."""
    found = set()
    for body in re.findall(r"\nnamespace \{\n(.*?)\n\}  // namespace\n", text, re.DOTALL):
        for name, parameters in re.findall(
            r"^[A-Za-z][\w:<>,&*\s]*?[\s&*>](\w+)\(([^()]*)\)[^;{()]*\{", body, re.MULTILINE
        ):
            types = [re.sub(r"\s*\b\w+$", "", one.strip()) for one in parameters.split(",") if one.strip()]
            found.add(f"{name}({', '.join(types)})")
        found |= set(re.findall(r"^(?:struct|class|enum class) (\w+)", body, re.MULTILINE))
        found |= set(re.findall(r"^constexpr [^=\n]*?\b(k\w+)\b", body, re.MULTILINE))
    return found


def test_unnamed_namespaces_of_a_folder_define_different_names() -> None:
    """Files of a folder are compiled together in groups, which differ from build to build."""
    homes: dict[tuple[str, str], list[str]] = {}
    for source, text in tree().items():
        if source.startswith("server/") and source.endswith(".cpp") and 'R"' not in text:  # of sources in strings
            for name in unnamed_definitions(text):
                homes.setdefault((includes.folder_of(source), name), []).append(source)
    assert {name: sources for name, sources in homes.items() if len(sources) > 1} == {}
