// Which Python runs the user's code.
#pragma once

#include <string>

namespace ridgeline::worker {

struct Interpreter {
  std::string path;    ///< empty when none was found
  std::string source;  ///< why this one, in words: "--python", "VIRTUAL_ENV", ".venv of the project", "PATH" …
};

/// The wanted one when given; else the nearest `.venv` or `venv` from the entry's folder up to the project root; else
/// VIRTUAL_ENV; else interpreter_beside() this program; else python3 on PATH. Looks at the file system and the
/// environment only.
Interpreter find_interpreter(const std::string& wanted, const std::string& entry, const std::string& project_root);

/// The same where there is no entry file: from the working folder up.
Interpreter find_interpreter_here(const std::string& wanted);

/// The interpreter of the environment that `program` is installed in, as by pip: its folder has a `python`, too. Empty
/// when torch is not installed in that environment: it is then not the user's, but a tool's own, as pipx and uv make
/// them.
std::string interpreter_beside(const std::string& program);

/// The nearest folder above `entry` that looks like a project (.git, pyproject.toml, setup.py, setup.cfg, .venv), else
/// the entry's own folder.
std::string find_project_root(const std::string& entry);

}  // namespace ridgeline::worker
