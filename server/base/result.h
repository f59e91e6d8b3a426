// A value, or why there is none.
#pragma once

#include <boost/system/result.hpp>
#include <string>
#include <utility>

namespace ridgeline::base {

/// Why something could not be done: a sentence that a user may read. Made by error(): a text by itself is a value.
class Error {
 public:
  Error() = default;
  const std::string& message() const { return message_; }

 private:
  struct Key {};
  friend Error error(std::string message);
  Error(Key /*key*/, std::string message) : message_(std::move(message)) {}

  std::string message_;
};

inline Error error(std::string message) { return {Error::Key(), std::move(message)}; }

/// What a function that may fail returns: `if (!result) use(result.error())`, else `*result`. Both are implicit:
/// `return value;`, `return error("...");`. Do not call value(): it throws.
template <typename T, typename E = Error>
using Result = boost::system::result<T, E>;

}  // namespace ridgeline::base
