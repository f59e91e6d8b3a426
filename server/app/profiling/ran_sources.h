// The user's files that own figures of a profile, as they were when they ran.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/profile.h"
#include "protocol/worker_messages.h"
#include "store/fingerprint.h"

namespace ridgeline::app {

/// Where a file that the profile names is; absolute.
std::string path_of(const std::string& file, const analysis::Profile& profile);

/// The entry file, the files that own lines, also outside the project, and those of the project that the breakdown
/// names; absolute.
std::vector<std::string> own_files(const analysis::Profile& profile);

struct RanSources {
  std::vector<protocol::SourceText> texts;
  std::vector<std::string> changed;  ///< files that changed since the run began: what ran is not known
};

/// The texts of `paths`: that of `overlay`, which ran instead of the file, else the file's. Reads files.
RanSources ran_sources(const std::vector<std::string>& paths, const std::vector<protocol::SourceText>& overlay,
                       const store::Moment& began);
/// The same for the paths of own_files().
RanSources ran_sources(const analysis::Profile& profile, const std::vector<protocol::SourceText>& overlay,
                       const store::Moment& began);

/// Sets the text of every line of the profile that `texts` have. Pure.
void add_line_texts(analysis::Profile& profile, const std::vector<protocol::SourceText>& texts);

}  // namespace ridgeline::app
