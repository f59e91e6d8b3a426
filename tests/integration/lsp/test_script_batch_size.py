"""The batch size of a training script is written where it stands: in the script, its arguments, its configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .editor import Editor

LOOP = """\
    model = nn.Linear(64, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(640, 64), torch.randint(0, 8, (640,)))
    while True:
        for images, labels in DataLoader(data, batch_size=%s):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
"""
IMPORTS = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader, TensorDataset\n"
WITH_OPTION = f"""\
import argparse
{IMPORTS}

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-b", "--batch-size", type=int, default=32)
    args = parser.parse_args()
{LOOP % "args.batch_size"}

if __name__ == "__main__":
    main()
"""
WITH_HYDRA = f"""\
import hydra
{IMPORTS}

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config):
{LOOP % "config.train.batch_size"}

if __name__ == "__main__":
    main()
"""
WRITES_NOTHING = ("hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=none", "hydra/hydra_logging=none")
TIMES_FOUR = f"""\
{IMPORTS}
batch_size = 8


def main():
{LOOP % "4 * batch_size"}

if __name__ == "__main__":
    main()
"""


def profiled(editor: Editor, text: str, *arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    path = editor.folder / "train.py"
    path.write_text(text)
    document = editor.open(path)
    return document, editor.ask("ridgeline/run", document | {"arguments": list(arguments)})


def prediction(editor: Editor, summary: dict[str, Any], size: int) -> dict[str, Any]:
    return editor.ask("ridgeline/predict", {"profileId": summary["profileId"], "batchSize": size})


def edit_in(answer: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    (change,) = answer["edit"]["documentChanges"]
    (edit,) = change["edits"]
    return Path(change["textDocument"]["uri"].removeprefix("file://")), edit


def replaced(edit: dict[str, Any], path: Path) -> str:
    begin, end = edit["range"]["start"], edit["range"]["end"]
    return path.read_text().splitlines()[begin["line"]][begin["character"] : end["character"]]


def test_the_default_of_an_option_is_written(editor: Editor) -> None:
    document, summary = profiled(editor, WITH_OPTION)
    assert summary["batchSizeInCode"] == 32
    path, edit = edit_in(prediction(editor, summary, 48))
    assert path.name == "train.py" and replaced(edit, path) == "32" and edit["newText"] == "48"
    editor.ask("ridgeline/setBatchSize", document | {"batchSize": 64})
    assert "default=64)" in editor.texts[path.as_uri()]
    now = editor.ask("ridgeline/summary", document)
    assert now["batchSizeInCode"] == 64 and not now["stale"], "another batch size alone makes nothing stale"


def test_an_argument_goes_before_the_default(editor: Editor) -> None:
    document, summary = profiled(editor, WITH_OPTION, "-b", "16")
    assert summary["batchSize"] == 16 and summary["batchSizeInCode"] is None
    answer = prediction(editor, summary, 48)
    assert answer["edit"] is None and "an argument of the run" in answer["noEditReason"]
    assert answer["arguments"] == ["-b", "48"]
    answer = editor.ask("ridgeline/changeEdit", document | {"change": ["batch-size:48"]})
    assert answer["edit"] is None and answer["arguments"] == ["-b", "48"]


def test_a_number_in_a_file_of_hydra_is_written(editor: Editor) -> None:
    chosen = editor.folder / "conf" / "train" / "base.yaml"
    chosen.parent.mkdir(parents=True)
    (editor.folder / "conf" / "config.yaml").write_text("defaults:\n  - train: base\n  - _self_\nseed: 1\n")
    chosen.write_text("lr: 0.1\nbatch_size: 32  # samples\n")
    document, summary = profiled(editor, WITH_HYDRA, *WRITES_NOTHING)
    assert summary["batchSize"] == 32
    for answer in (
        prediction(editor, summary, 48),
        editor.ask("ridgeline/changeEdit", document | {"change": ["batch-size:48"]}),
    ):
        path, edit = edit_in(answer)
        assert path == chosen and replaced(edit, path) == "32" and edit["newText"] == "48"
    chosen.write_text("lr: 0.2\n\nbatch_size: 32\n")
    assert "base.yaml has changed" in prediction(editor, summary, 48)["noEditReason"]


def test_a_number_that_is_not_the_steps_is_left_alone(editor: Editor) -> None:
    _, summary = profiled(editor, TIMES_FOUR)
    assert summary["batchSize"] == 32 and summary["batchSizeInCode"] is None
    answer = prediction(editor, summary, 48)
    assert answer["edit"] is None and answer["arguments"] is None and "no number in this file" in answer["noEditReason"]
