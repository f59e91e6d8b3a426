// The text of a failed system call.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace ridgeline::base {

/// "cannot make the folder /x: Permission denied". Call it before anything else can set errno, or give the number kept.
inline std::string with_errno(const std::string& what, int number = errno) {
  return what + ": " + std::generic_category().message(number);
}

}  // namespace ridgeline::base
