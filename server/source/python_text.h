// Pieces of a Python text, to be written at another place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/syntax.h"

namespace ridgeline::source {

/// A statement at another indentation, with a line feed at its end; lines within strings stay as they are.
/// `leave_loop`: `continue` and `break` of the loop that the statement is taken from become `return`.
std::string reindented_statement(const SourceTree::Content& content, Node statement, std::string_view indent,
                                 bool leave_loop = false);

/// `from x import a, b as c`, with only the parts that give one of `names` a value.
std::string import_of_names(const SourceTree::Content& content, Node statement,
                            const std::vector<std::string_view>& names);

/// "a, b"
std::string comma_separated(const std::vector<std::string>& parts);

/// Whether it can be the name of a variable or of a module in a Python file; only ASCII.
bool is_python_name(std::string_view name);

}  // namespace ridgeline::source
