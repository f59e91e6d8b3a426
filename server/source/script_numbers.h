// Whole numbers that a training script states: literals, constants, defaults of options, fields of a configuration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/training_script.h"

namespace ridgeline::source {

/// The value of an argument of a call, also where it is passed as `**options`, for a dict that the script writes out.
/// None: the call has no such argument, or it comes from elsewhere.
Node argument_or_option(const SourceTree::Content& content, const TrainingScript& script, Node call,
                        std::string_view keyword, int position);

/// The digits of a number of at least 1 and less than 10 million; empty: it is computed in a way that is not
/// understood, stands in another file, or the script states several.
std::string number_of(const SourceTree::Content& content, const TrainingScript& script, Node value);

/// The number of a text that decides a value.
struct NumberPlace {
  Node literal;                      ///< none: there is no such number, or there are several
  std::vector<std::string> options;  ///< of the command line, which go before it: "--batch-size", "-b"
};

/// The one number of the text that decides the value, to be edited.
NumberPlace number_place_of(const SourceTree::Content& content, const TrainingScript& script, Node value);

/// The same of a setting by its name: a constant, an option's default, a field of a configuration.
NumberPlace setting_place_of(const SourceTree::Content& content, const TrainingScript& script, std::string_view name);

}  // namespace ridgeline::source
