// Reads a pickle of Python as data: numbers, texts, lists and dicts. What would run code is refused, and nothing is
// run.
//
// The format: pickletools of CPython, protocols 2 to 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ingest/byte_source.h"

namespace ridgeline::ingest {

struct PickleValue {
  enum class Kind : std::uint8_t { kNone, kInteger, kReal, kText, kList, kDict, kObject, kMark };
  Kind kind = Kind::kNone;
  std::uint64_t bits = 0;  ///< an integer, or the number of what the reader keeps; of kObject: the caller's
};

struct PickleLimits {
  std::size_t texts_bytes = std::size_t{256} << 20U;  ///< of different texts together
  std::size_t text_bytes = std::size_t{1} << 20U;
  std::size_t stack = std::size_t{1} << 20U;
  std::size_t remembered = std::size_t{1} << 27U;  ///< values that the pickle can refer to again
};

/// Reads once. A dict that is complete is offered to the caller, who may take it as an object of its own: then the
/// reader forgets it, so that a file much larger than memory can be read.
class PickleReader {
 public:
  /// The number of the caller's object, or nothing: it stays a dict.
  using Take = std::function<std::optional<std::uint64_t>(PickleReader&, PickleValue)>;

  PickleReader(ByteSource source, Take take, const PickleLimits& limits = {});

  /// The value of the pickle. One that is cut off ends where the file does. Throws ImportError.
  PickleValue read();
  bool is_cut_off() const { return is_cut_off_; }

  // Of values that are there:
  std::string_view text(PickleValue value) const;
  std::span<const PickleValue> list(PickleValue value) const;
  /// kNone: the dict has no such key.
  PickleValue find(PickleValue dict, std::string_view key) const;
  /// Puts an object of the caller's in the place of a list, also where the pickle refers to it again.
  void replace(PickleValue list, std::uint64_t object);

 private:
  static constexpr std::size_t kNotRemembered = std::numeric_limits<std::size_t>::max();
  struct List {
    std::vector<PickleValue> values;
    std::size_t remembered = kNotRemembered;
  };
  struct Dict {
    std::vector<std::pair<PickleValue, PickleValue>> items;
    std::size_t remembered = kNotRemembered;
  };
  struct EndOfFile {};

  unsigned char byte();
  std::uint64_t number(std::size_t bytes);
  std::string bytes(std::uint64_t count);
  bool step(unsigned char opcode);
  bool step_of_memo(unsigned char opcode);
  bool step_of_scalar(unsigned char opcode);
  bool step_of_text(unsigned char opcode);
  bool step_of_collection(unsigned char opcode);
  void push(PickleValue value);
  void push_integer(std::int64_t value);
  void push_long(std::uint64_t length);
  void push_text(std::uint64_t length);
  PickleValue pop();
  PickleValue& top();
  std::size_t last_mark() const;
  void push_list(std::size_t first);
  void add_to_list(std::size_t first);
  void add_to_dict(std::size_t first);
  void remember(std::size_t place);
  void recall(std::uint64_t place);
  void close_open();

  ByteSource source_;
  Take take_;
  PickleLimits limits_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t offset_ = 0;  ///< of the buffer in the file
  bool is_cut_off_ = false;
  std::vector<PickleValue> stack_;
  std::vector<PickleValue> memo_;
  std::vector<List> lists_;
  std::vector<std::uint64_t> free_lists_;
  std::vector<Dict> dicts_;
  std::vector<std::uint64_t> free_dicts_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint64_t> text_numbers_;
  std::size_t texts_bytes_ = 0;
};

}  // namespace ridgeline::ingest
