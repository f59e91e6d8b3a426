"""licenses.py program|extension: prints the licences of the libraries that are linked into the program or, after these,
of those that are bundled into the extension for VS Code: their terms ask for it.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = Path("/usr/share/doc")
# Not Boost and GCC's libraries: their licences exempt programs.
OF_THE_PROGRAM = {
    "CLI11": DEBIAN / "libcli11-dev/copyright",
    "Eigen": DEBIAN / "libeigen3-dev/copyright",
    "fmt": DEBIAN / "libfmt-dev/copyright",
    "JSON for Modern C++": DEBIAN / "nlohmann-json3-dev/copyright",
    "spdlog": DEBIAN / "libspdlog-dev/copyright",
    "SQLite": DEBIAN / "libsqlite3-dev/copyright",
    "SQLiteCpp": DEBIAN / "libsqlitecpp-dev/copyright",
    "tree-sitter": ROOT / "cmake/tree_sitter/node_modules/tree-sitter/LICENSE",
    "tree-sitter-python": ROOT / "cmake/tree_sitter/node_modules/tree-sitter-python/LICENSE",
    "utf8proc": DEBIAN / "libutf8proc-dev/copyright",
    "zlib": DEBIAN / "zlib1g-dev/copyright",
}
NODE = ROOT / "editors/vscode/node_modules"
OF_THE_EXTENSION = {  # what esbuild takes: its option --metafile lists it
    "balanced-match": NODE / "balanced-match/LICENSE.md",
    "brace-expansion": NODE / "brace-expansion/LICENSE",
    "minimatch": NODE / "minimatch/LICENSE.md",
    "semver": NODE / "semver/LICENSE",
    "vscode-jsonrpc": NODE / "vscode-jsonrpc/License.txt",
    "vscode-languageclient": NODE / "vscode-languageclient/License.txt",
    "vscode-languageserver-protocol": NODE / "vscode-languageserver-protocol/License.txt",
    "vscode-languageserver-textdocument": NODE / "vscode-languageserver-textdocument/License.txt",
    "vscode-languageserver-types": NODE / "vscode-languageserver-types/License.txt",
}


def licenses(libraries: dict[str, Path]) -> str:
    return "\n\n".join(f"{name}\n{'=' * len(name)}\n\n{file.read_text().strip()}\n" for name, file in libraries.items())


if __name__ == "__main__":
    print(licenses({"program": OF_THE_PROGRAM, "extension": OF_THE_PROGRAM | OF_THE_EXTENSION}[sys.argv[1]]), end="")
