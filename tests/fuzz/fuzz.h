// What the fuzz targets share: a claim whose failure ends the process, and the input cut into pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// Like assert(), in every build.
#define CLAIM(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

namespace ridgeline::fuzz {

/// The fuzzer's bytes, taken from the front. Where there are no more, everything is 0 or empty.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  std::size_t size() const { return rest_.size(); }
  std::uint8_t byte() {
    const std::string_view one = take(1);
    return one.empty() ? 0 : static_cast<std::uint8_t>(one[0]);
  }
  /// From 0 to `most`, of two bytes.
  std::size_t number(std::size_t most) {
    const std::size_t high = byte();
    return (high << 8U | byte()) % (most + 1);
  }
  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  /// Up to the separator, which is taken away.
  std::string_view until(char separator) {
    const std::string_view taken = rest_.substr(0, rest_.find(separator));
    rest_.remove_prefix(taken.size() < rest_.size() ? taken.size() + 1 : taken.size());
    return taken;
  }
  std::string_view rest() { return take(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace ridgeline::fuzz
