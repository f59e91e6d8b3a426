// The packages whose lines have figures of their own: `--code` of the command line, `code` of the settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/profile.h"
#include "protocol/worker_messages.h"

namespace ridgeline::app {

/// Why a text cannot be the import name of a package, such as "transformers" or "torchvision.models", in a sentence
/// without its end; empty when it can.
std::string code_name_problem(std::string_view name);

/// The names in order, each once: two lists that mean the same are equal then.
std::vector<std::string> normalised(std::vector<std::string> names);

/// The packages that were imported, as the analysis takes them. Adds a warning for each other one.
std::vector<analysis::CodePackage> imported_code(const std::vector<protocol::NamedPackage>& packages,
                                                 std::vector<std::string>& warnings);

}  // namespace ridgeline::app
