// The user's settings: section "ridgeline" of the client's configuration. docs/user/settings.md lists them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/advice.h"
#include "app/profiling/request.h"
#include "protocol/json_rpc.h"
#include "report/labels.h"

namespace ridgeline::editor {

enum class ShownHints : std::uint8_t {
  kAll,  ///< of each line that has figures
  kHot,  ///< of lines above the threshold, the hottest of them
  kNone
};

struct Settings {
  std::string python;
  std::string project_root;
  std::vector<std::string> code;  ///< packages whose lines have figures, too
  std::string device;
  std::vector<int> batch_sizes;
  double time_budget_seconds = 10;
  double time_limit_seconds = 600;
  std::uint64_t memory_limit_bytes = 0;
  std::vector<std::string> run_arguments;  ///< of a training script that is profiled as it is
  bool run_allow_writes = false;           ///< its further runs may change files
  std::string run_folder;                  ///< that it runs in; empty: that of the client which the script is in
  bool profile_on_save = true;
  /// The time budget of a profile after a save: short, so that figures are up to date when the user returns to them.
  double save_time_budget_seconds = 0.1;
  /// The time within which it ends, as in app::ProfileRequest::finish_within_seconds.
  double save_time_limit_seconds = 10;
  /// Whether the batch size that the user settles on is run in the background.
  bool try_batch_sizes = true;
  ShownHints inlay_hints = ShownHints::kHot;
  double inlay_hint_threshold = 0.02;  ///< of the iteration's time, or of the peak: what is below is not hot
  report::LabelFormat inlay_hint_format = report::LabelFormat::kBoth;
  std::array<bool, analysis::kAdviceCount> advice{};  ///< which kinds are shown

  /// Where nothing runs after a save, nothing runs after an edit either.
  bool tries_batch_sizes() const { return try_batch_sizes && profile_on_save; }
  /// The request for a profile with these settings.
  app::ProfileRequest request(const std::string& entry) const;
};

/// At most 16, each from 1 to the largest batch size; nothing when the value is anything else.
std::optional<std::vector<int>> batch_sizes_in(const protocol::Json& value);

/// At most 1024 texts without null bytes, such as the arguments of a program; nothing when the value is anything else.
std::optional<std::vector<std::string>> texts_in(const protocol::Json& value);

/// Import names of packages, as many as a run takes; nothing when the value is anything else.
std::optional<std::vector<std::string>> code_in(const protocol::Json& value);

/// Reads the section; null: all defaults. A setting that is not valid keeps its default and adds a sentence to
/// `problems`.
Settings read_settings(const protocol::Json& section, std::vector<std::string>& problems);

}  // namespace ridgeline::editor
