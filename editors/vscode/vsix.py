"""vsix.py FOLDER BINARY OUTPUT: packs the extension in FOLDER, with the daemon BINARY, as VS Code installs it.

A .vsix is a zip file: the extension under `extension/`, a manifest, and the types of its parts. The same input gives
the same bytes.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

CONTENT_TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{}</Types>
"""
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id={name} Version={version} Publisher={publisher} TargetPlatform="linux-x64"/>
<DisplayName>Ridgeline</DisplayName>
<Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/></Properties>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/></Assets>
</PackageManifest>
"""


def parts(folder: Path, binary: Path) -> dict[str, Path]:
    names = ["package.json", "README.md"]
    for part in ("dist", "media"):
        names += [str(path.relative_to(folder)) for path in (folder / part).rglob("*") if path.is_file()]
    found = {f"extension/{name}": folder / name for name in sorted(names)}
    return found | {"extension/LICENSE": folder.parents[1] / "LICENSE", "extension/bin/ridgeline": binary}


def main() -> None:
    folder, binary, output = (Path(argument).resolve() for argument in sys.argv[1:])
    package = json.loads((folder / "package.json").read_text())
    values = {key: quoteattr(package[key]) for key in ("name", "version", "publisher")}
    files = parts(folder, binary)
    endings = sorted({path.suffix for path in files.values()} - {""})
    types = "".join(f'<Default Extension="{ending}" ContentType="application/octet-stream"/>' for ending in endings)
    types += '<Default Extension=".vsixmanifest" ContentType="text/xml"/>'
    plain = {
        "[Content_Types].xml": CONTENT_TYPES.format(types),
        "extension.vsixmanifest": MANIFEST.format(**values, engine=quoteattr(package["engines"]["vscode"])),
    }
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, data: bytes, mode: int) -> None:
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (0o100000 | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)

        for name, text in plain.items():
            add(name, text.encode(), 0o644)
        for name, path in files.items():
            add(name, path.read_bytes(), 0o755 if name.startswith("extension/bin/") else 0o644)


if __name__ == "__main__":
    main()
