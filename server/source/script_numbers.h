// Whole numbers that a training script states: literals, constants, defaults of options, fields of a configuration.
#pragma once

#include <string>
#include <string_view>

#include "source/training_script.h"

namespace ridgeline::source {

/// The value of an argument of a call, also where it is passed as `**options`, for a dict that the script writes out.
/// None: the call has no such argument, or it comes from elsewhere.
Node argument_or_option(const SourceTree::Content& content, const TrainingScript& script, Node call,
                        std::string_view keyword, int position);

/// The digits of a number of at least 1 and less than 10 million; empty: it is computed in a way that is not
/// understood, stands in another file, or the script states several.
std::string number_of(const SourceTree::Content& content, const TrainingScript& script, Node value);

/// The one number of the text that decides the value, to be edited; none: there is no such number, or there are
/// several.
Node number_literal_of(const SourceTree::Content& content, const TrainingScript& script, Node value);

}  // namespace ridgeline::source
