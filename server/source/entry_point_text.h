// The first version of an entry file, as a person would write it from a training script.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridgeline::source {

struct EntryPointText {
  std::string text;                  ///< valid Python that defines the three providers
  std::vector<std::string> unknown;  ///< what is left to fill in, where the text raises NotImplementedError
};

/// `file_name`: of the script, without folders. `same_folder`: the entry file will be beside it, so that it may import
/// the script's module; a script that trains as soon as it is imported is copied from in any case.
///
/// Fails with a sentence for the user when the text has a syntax error, is too large, neither trains nor defines a
/// model, or is an entry file already. Pure: nothing of the text runs. The time is limited as that of a parse.
base::Result<EntryPointText> entry_point_text(std::string script, std::string_view file_name, bool same_folder);

/// Scripts are not larger; generated Python may be.
constexpr std::size_t kMaxScriptBytes = std::size_t{1} << 20;

}  // namespace ridgeline::source
