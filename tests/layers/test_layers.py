"""Who may include whom: server/layers.json against every #include of ours."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import includes
import pytest

ROOT = Path(__file__).resolve().parents[2]

# A layer (a folder, or a file) → the layers it may include besides itself. The longest matching name is the layer.
MAY_INCLUDE = {name: row["includes"] for name, row in json.loads((ROOT / "server/layers.json").read_text()).items()}

# Libraries with one home: (pattern of <...> or "..." includes, where it may stand).
HOMES = [
    (r"cupti.*\.h|cuda.*\.h", ["profiler/agent"]),
    (r"torch/.*|ATen/.*|c10/.*", ["profiler/agent"]),
    (r"Python\.h|frameobject\.h|internal/pycore_.*", ["profiler/agent"]),
    (r"tree_sitter/.*", ["server/source"]),
    (r"CLI/.*", ["server/cli", "server/main.cpp"]),
    (r"sqlite3\.h|SQLiteCpp/.*", ["server/store", "server/operations/table"]),
    (r"utf8proc\.h", ["server/report"]),
    (r"zlib\.h", ["server/ingest"]),
    (r"toml\+\+/.*", ["server/base/toml.h"]),
    (r"spdlog/.*", ["server/lsp/session", "server/editor", "server/assistant", "server/cli"]),
    (r"boost/math/.*", ["server/analysis"]),
    (r"Eigen/.*", ["server/analysis/time/spline.cpp", "server/jobs/clocks/linear_program.cpp"]),
    # Pure layers: bytes in, values out.
    (
        r"boost/(?!math/).*|thread|mutex|shared_mutex|condition_variable|future|fstream|unistd\.h|sys/.*|fcntl\.h",
        [
            "server/store",
            "server/worker",
            "server/app/profiling",
            "server/app/revisions",
            "server/app/traces",
            "server/app/change_requests.cpp",
            "server/lsp/transport",
            "server/lsp/session",
            "server/editor",
            "server/assistant",
        ]
        + ["server/worker/guard", "server/operations/microbenchmarks"]
        + ["server/cli", "server/main.cpp", "profiler/agent", "server/base/file.cpp", "server/base/task.h"]
        + [
            "server/base/machine_limits.cpp",
            "server/base/executable.cpp",
            "server/base/random_digits.cpp",
            "server/base/lock_file.cpp",
            "server/base/result.h",
        ],
    ),
    (
        r"base/(?:executable|file|lifetime|lock_file|random_digits|task)\.h",
        [
            "server/base",
            "server/store",
            "server/worker",
            "server/app/profiling",
            "server/lsp/transport",
            "server/lsp/session",
        ]
        + ["server/worker/guard", "server/app/jobs"]
        + ["server/app", "server/editor", "server/assistant", "server/cli"],
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
            is_above = any(inside(row, name) for row in MAY_INCLUDE)
            assert is_above and (ROOT / name).exists(), f"{name} is used in the table but has no row"


# Places that show text, each behind one function (docs/dev/security.md): (pattern, where it may stand).
SINKS = [
    (
        r"window/(?:showMessage|showMessageRequest|logMessage)\"",
        # The last one receives them: it passes on what was shown.
        ["server/lsp/session/session.cpp", "server/cli/remote_command.cpp", "server/assistant/session_client.cpp"],
    ),
    (r"\\?\$/progress\"", ["server/lsp/session/progress.cpp", "server/assistant/session_client.cpp"]),
    (
        r"std::(?:cerr|cout|clog)\b",
        [f"server/cli/{name}.cpp" for name in ("terminal", "progress_line", "options", "doctor_command")],
    ),
    (
        r"\"(?:markdown|plaintext)\"",
        ["protocol/lsp.cpp", "protocol/client_capabilities.cpp", "server/assistant/session_client.cpp"]
        + [f"server/cli/{name}.cpp" for name in ("options", "rendered_profile", "compare_command")],  # --format
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


def test_no_two_headers_have_one_name():
    """But for the agent, which is built by itself."""
    names = [path.rpartition("/")[2] for path in tree() if path.endswith(".h") and not path.startswith("profiler/")]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_folders_include_each_other_without_circles():
    graph = includes.includes(tree())
    # The seam to CUPTI and what it writes to are one layer in two folders.
    agent = {"profiler/agent", "profiler/agent/cupti"}
    circles = {folder for folder in graph if folder in includes.reachable(graph, folder)}
    assert circles <= agent


def test_rooms_include_each_other_without_circles():
    graph = includes.includes(tree(), includes.room_of)
    assert {room for room in graph if room in includes.reachable(graph, room)} == set()


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
    ("server/analysis/a.cpp", '#include "report/text_report.h"', "may not include server/report/text_report.h"),
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
    ("server/app/profiling/a.cpp", "#include <SQLiteCpp/Database.h>", "belongs to server/store"),
    ("server/store/a.cpp", '#include "analysis/values/profile.h"', "may not include server/analysis/values/profile.h"),
    ("server/cli/a.cpp", '#include "report/text_report.h"\n#include <boost/asio.hpp>', ""),
    ("server/main.cpp", '#include "cli/profile_command.h"', ""),
    ("server/main.cpp", '  #  include "report/text_report.h"', "may not include server/report/text_report.h"),
    ("profiler/agent/a.cpp", '#include "b.h"\n#include <Python.h>', ""),
    ("profiler/agent/a.cpp", '#include "protocol/recording_format.h"', ""),
    ("profiler/agent/a.cpp", '#include "protocol/recording.h"', "may not include protocol/recording.h"),
    ("server/source/a.cpp", '#include "../analysis/values/profile.h"', "is no file of ours"),
    ("server/source/a.cpp", '#include "fmt/format.h"', "is no file of ours"),
    ("server/editor/a.cpp", "#include <Python.h>", "belongs to profiler/agent"),
    ("server/lsp/transport/a.cpp", "#include <boost/asio.hpp>", ""),
    ("server/lsp/transport/a.cpp", '#include "protocol/recording.h"', "may not include protocol/recording.h"),
    ("server/lsp/session/a.cpp", '#include "lsp/transport/transport.h"\n#include "protocol/recording.h"', ""),
    ("server/lsp/session/a.cpp", '#include "worker/worker.h"', "may not include server/worker/worker.h"),
    ("protocol/a.cpp", "#include <spdlog/spdlog.h>", "belongs to"),
    ("server/novelty/a.cpp", "", "is in no layer"),
    ("server/worker/a.cpp", '// #include "analysis/values/profile.h"', ""),
]
HEADERS = [
    "protocol/recording.h",
    "protocol/recording_format.h",
    "server/analysis/values/profile.h",
    "server/analysis/memory/ledger.h",
    "server/report/text_report.h",
    "server/base/content_hash.h",
    "server/base/file.h",
    "server/store/profile_store.h",
    "server/cli/profile_command.h",
    "server/lsp/transport/transport.h",
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
