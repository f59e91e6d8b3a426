"""`:Ridgeline job`: the ranks of a recorded job, as a file that the server opens."""

from __future__ import annotations

from pathlib import Path

from conftest import Editor


def test_the_last_job_of_the_working_folder_is_read(editor: Editor, tmp_path: Path) -> None:
    editor.neovim.command(f"cd {tmp_path}")
    editor.neovim.command("Ridgeline job")
    editor.said("there is no .ridgeline-job below the working folder")
    (tmp_path / "cut.ridgeline-job").write_bytes(b"RIDGEJOB\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")
    editor.neovim.command("Ridgeline job")
    editor.said("cut.ridgeline-job: It is cut off or damaged")


def test_a_file_that_is_named(editor: Editor, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("no job")
    editor.neovim.command(f"Ridgeline job {other}")
    editor.said("other.txt: It is not the file of a job")
    editor.neovim.command(f"Ridgeline job-optimize {other} accumulate:2")
    editor.said("other.txt: It is not the file of a job")
