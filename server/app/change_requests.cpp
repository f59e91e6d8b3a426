#include "app/change_requests.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "app/python_changes.h"

namespace ridgeline::app {

namespace {

base::Result<step::UserChange> read_change(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(step::kMaxChangeFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad()) {
    return base::error("Cannot read " + path + ".");
  }
  if (is_python_change(path)) {
    return step::UserChange{path, "", {}};
  }
  auto change = step::parse_change(text);
  if (!change) {
    return base::error(path + ": " + change.error().message() + ".");
  }
  return std::move(*change);
}

}  // namespace

base::Result<WantedChanges> wanted_changes(step::Subject subject, const std::vector<std::string>& changes,
                                           const std::vector<std::string>& files,
                                           const std::vector<protocol::ChangeRequest>& usual) {
  WantedChanges wanted;
  protocol::ChangeRequest all;
  for (const std::string& change : changes) {
    if (const auto kind = step::find_change_of(subject, change); !kind) {
      return kind.error();
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

}  // namespace ridgeline::app
