// A change that the user wrote, as JSON: steps over the primitives of step/graph/changes.h. Nothing in it is run.
//
// docs/user/change-files.md describes the format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analysis/values/profile.h"
#include "base/result.h"
#include "step/changes/graph_change.h"

namespace ridgeline::step {

/// All that it names must hold; of the names one.
struct Selector {
  std::vector<std::string> names;      ///< parts of the name of a task or of an operation that it is of
  std::vector<std::string> not_names;  ///< none of these is in it
  std::optional<Kind> kind;
  std::optional<analysis::Phase> phase;
  std::string module;
  std::string file;  ///< with `line`
  std::uint32_t line = 0;
  std::optional<std::vector<TaskId>> tasks{};  ///< sorted; of the unchanged graph, as tasks_json() has them
};

struct UserStep {
  enum class Do : std::uint8_t { kScale, kSet, kInsert, kRemove, kMove, kPriority };
  Do what = Do::kRemove;
  Selector select;
  Guess amount{1, 1, 1};  ///< factor, or microseconds
  std::int32_t priority = 0;
  std::string name;                ///< of what is inserted
  std::string resource;            ///< of what is inserted or moved; empty: the same
  std::optional<Selector> before;  ///< the next of these waits for what is inserted
};

struct UserChange {
  std::string title;
  std::string takes;
  std::vector<UserStep> steps;
};

/// By request.
using UserChanges = std::map<std::string, UserChange, std::less<>>;

inline constexpr std::size_t kMaxChangeFileBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kMaxUserSteps = 256;
/// Tasks that a change written in Python is given at most: a larger graph is an error.
inline constexpr std::size_t kMaxListedTasks = 500'000;

/// An error names the place in the file and what is wrong there.
base::Result<UserChange> parse_change(std::string_view text);
/// The same of a document that was read.
base::Result<UserChange> change_from(const nlohmann::json& document);

/// What a change written in Python is given: an array of the tasks that a selector can choose, in order of their ids,
/// each with `id`, `name`, `operation`, `kind`, `phase`, `module`, `file`, `line` (0: none), `resource` and
/// `microseconds`.
base::Result<std::string> tasks_json(const Graph& graph);

}  // namespace ridgeline::step
