// What may be sent to another machine: shapes, and nothing of the program that they come from.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ridgeline::operations {

/// The keys of torch's own operators that hold shapes, types, numbers and settings alone. Leaves out operators that the
/// program or another library registered, whose names may be anything, and texts to which torch gives no meaning: the
/// name of a file (aten::from_file), of a part of the step (record_function), the message of a check.
std::vector<std::string> shapes_only(std::span<const std::string> keys);

}  // namespace ridgeline::operations
