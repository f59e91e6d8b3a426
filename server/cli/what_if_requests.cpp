#include "cli/what_if_requests.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "cli/python_changes.h"
#include "cli/terminal.h"
#include "step/changes/change_table.h"

namespace ridgeline::cli {

namespace {

/// Reads a change. A change in Python only has to exist here: make_python_changes() does the rest.
base::Result<step::UserChange, ExitCode> read_change(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(step::kMaxChangeFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad()) {
    print_error("Cannot read " + path + ".");
    return ExitCode{kExitUsage};
  }
  if (is_python_change(path)) {
    return step::UserChange{path, "", {}};
  }
  auto change = step::parse_change(text);
  if (!change) {
    print_error(path + ": " + change.error().message() + ".");
    return ExitCode{kExitUsage};
  }
  return std::move(*change);
}

}  // namespace

base::Result<WantedChanges, ExitCode> wanted_changes(const std::vector<std::string>& changes,
                                                     const std::vector<std::string>& files,
                                                     const std::vector<protocol::ChangeRequest>& usual) {
  WantedChanges wanted;
  protocol::ChangeRequest all;
  for (const std::string& change : changes) {
    if (step::find_change(change) == nullptr) {
      print_error("no change is called " + change + ". `ridgeline what-if --help` names them.");
      return ExitCode{kExitUsage};
    }
    all.push_back(change);
  }
  for (const std::string& path : files) {
    auto change = read_change(path);
    if (!change) {
      return change.error();
    }
    wanted.user_changes.insert_or_assign(path, std::move(*change));
    all.push_back(path);
  }
  for (const std::string& change : all) {
    wanted.requests.push_back({change});
  }
  if (all.size() > 1) {
    wanted.requests.push_back(all);
  }
  if (all.empty()) {
    wanted.requests = usual;
  }
  return wanted;
}

}  // namespace ridgeline::cli
