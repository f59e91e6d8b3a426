// Why a file cannot be imported.
#pragma once

#include <stdexcept>

namespace ridgeline::imports {

/// Its words are for the user: what is wrong, and what to do where there is something.
class ImportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ridgeline::imports
