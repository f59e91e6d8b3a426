// Which frames are the user's, and what a frame's file says about the phase of the step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/input.h"
#include "protocol/recording.h"

namespace ridgeline::analysis {

/// Whether `file` belongs to the user: under the project root, not in an environment, not in site-packages.
bool is_user_file(std::string_view file, const SourceScope& scope);

/// Whether `file` is of a package of `scope.code`.
bool is_in_code(std::string_view file, const SourceScope& scope);

/// `file` relative to the project root when it is inside, else unchanged.
std::string display_path(std::string_view file, const SourceScope& scope);

/// What is known of one code object.
struct CodeTraits {
  bool user = false;
  bool has_figures = false;  ///< the user's, or of a package of SourceScope::code
  bool standard = false;     ///< of Python's standard library, or made up while the code runs
  bool optimizer = false;    ///< the step of an optimizer, zero_grad, the gradient scaler, clipping
  bool algorithm = false;    ///< of an optimizer of torch: what it calls that is not torch's is the step's closure
  bool context = false;      ///< torch's decorators, such as enable_grad
  bool torch = false;        ///< any code of torch
  bool data = false;         ///< torch.utils.data
  bool engine = false;       ///< the call that runs the autograd engine
  bool checkpoint = false;   ///< torch.utils.checkpoint
  bool ddp = false;          ///< DistributedDataParallel
};

std::vector<CodeTraits> code_traits(const recording::Recording& recording, const SourceScope& scope);

}  // namespace ridgeline::analysis
