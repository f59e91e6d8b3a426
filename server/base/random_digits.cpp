#include "base/random_digits.h"

#include <sys/random.h>

#include <string_view>

#include "base/errno_text.h"

namespace ridgeline::base {

// Not std::random_device: libstdc++'s needs glibc 2.36 (arc4random), and the binary is to run with 2.35.
Result<std::string> random_digits(std::size_t bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string random(bytes, '\0');
  if (::getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
    return error(with_errno("the system gives no random bytes"));
  }
  std::string digits;
  for (const char character : random) {
    const auto byte = static_cast<unsigned char>(character);
    digits.append({kDigits[byte >> 4U], kDigits[byte & 0xFU]});
  }
  return digits;
}

}  // namespace ridgeline::base
