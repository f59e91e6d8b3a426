// A profile with the texts that it was made of: figures stay on their lines while the texts are edited.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"
#include "app/profiling/profile_run.h"
#include "app/profiling/ran_sources.h"
#include "app/profiling/request.h"
#include "base/result.h"
#include "protocol/worker_messages.h"
#include "source/batch_size.h"
#include "source/span_text.h"

namespace ridgeline::app {

struct WhatIfBase;

/// A number of a file beside the script, and the whole text when it was read.
struct NumberInFile {
  protocol::SourceText file;
  source::BatchSize number;
};

struct ProfileWithSources {
  analysis::Profile profile;   ///< with its models fitted
  std::int64_t created_s = 0;  ///< seconds since 1970
  /// The files that own lines, as they were when they ran. Of a file that changed meanwhile there is none.
  std::vector<protocol::SourceText> sources;
  std::vector<std::string> changed;  ///< those that changed during the run
  std::string warning;               ///< of the store; mostly empty
  analysis::Outlook outlook;         ///< of the profile
  bool kept = false;                 ///< in the store
  /// The digits of the batch size in the entry file's text, as it ran; nothing: it is no number that can be edited, or
  /// the step of a script took another number of samples.
  std::optional<source::Span> batch_size_literal{};
  /// The same of a script whose number stands in a file of its own, as Hydra reads it.
  std::optional<NumberInFile> batch_size_elsewhere{};
  /// The lines of the profile's library call, in its order, as they were when the profile was made or loaded.
  std::vector<std::string> library_lines{};
  /// The step, for predictions of changes. Null: the profile was loaded, or is of a script of several processes.
  std::shared_ptr<const WhatIfBase> what_if{};
};

using ProfileOutcome = base::Result<ProfileWithSources, RunFailure>;
using ProfileHandler = std::function<void(ProfileWithSources)>;

/// A profile that was just made, with the texts of its lines and, where it is kept, its id.
struct ProfiledEntry {
  ProfileRun run;
  RanSources sources;
  std::int64_t created_s = 0;  ///< seconds since 1970
  std::string warning{};       ///< of the store; mostly empty
};

/// Adds the texts, and keeps the profile in the cache where the request says so; a run of unsaved texts is not kept.
/// Reads files and writes the store; for a thread that may wait.
ProfiledEntry keep_with_texts(ProfileRun run, const ProfileRequest& request, const Target& target);

/// The same for an editor: it has an id also where it is not kept. Without `what_if`. Reads files.
ProfileWithSources profile_with_sources(ProfiledEntry profiled);

/// The stored profile that is up to date, if there is one, with the files' texts. Starts nothing; for a thread that may
/// wait.
std::optional<ProfileWithSources> load_profile(const ProfileRequest& request, const Target& target);

}  // namespace ridgeline::app
