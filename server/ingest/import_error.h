// Why a file cannot be imported.
#pragma once

#include <stdexcept>

namespace ridgeline::ingest {

/// The message is for the user: what is wrong and, where possible, what to do.
class ImportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ridgeline::ingest
