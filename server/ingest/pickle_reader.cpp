#include "ingest/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "ingest/import_error.h"

namespace ridgeline::ingest {

namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kBuffer = std::size_t{1} << 20U;
constexpr std::uint64_t kLongBytes = 8;  // of an integer that is kept; a longer one is none

/// The number of an empty slot: one that is free, else a new one.
template <typename Slot>
std::uint64_t new_slot(std::vector<Slot>& slots, std::vector<std::uint64_t>& free) {
  if (free.empty()) {
    slots.emplace_back();
    return slots.size() - 1;
  }
  const std::uint64_t number = free.back();
  free.pop_back();
  return number;
}

[[noreturn]] void refuse(std::uint64_t offset, std::string_view what) {
  throw ImportError(fmt::format("The pickle is damaged at byte {}: {}.", offset, what));
}

}  // namespace

PickleReader::PickleReader(ByteSource source, Take take, const PickleLimits& limits)
    : source_(std::move(source)), take_(std::move(take)), limits_(limits), buffer_(kBuffer) {}

PickleValue PickleReader::read() {
  try {
    while (step(byte())) {
    }
  } catch (const EndOfFile&) {
    is_cut_off_ = true;
    close_open();
  }
  if (stack_.empty() || stack_.front().kind == Kind::kMark) {
    throw ImportError("The pickle ends before it says anything.");
  }
  return stack_.front();
}

// ---- the bytes

unsigned char PickleReader::byte() {
  if (at_ == filled_) {
    offset_ += filled_;
    at_ = 0;
    filled_ = source_(buffer_);
    if (filled_ == 0) {
      throw EndOfFile();
    }
  }
  return static_cast<unsigned char>(buffer_[at_++]);
}

std::uint64_t PickleReader::number(std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= std::uint64_t{byte()} << (8 * i);
  }
  return value;
}

std::string PickleReader::bytes(std::uint64_t count) {
  if (count > limits_.text_bytes) {
    refuse(offset_ + at_, "a text is longer than any of a snapshot");
  }
  std::string text;
  text.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    text.push_back(static_cast<char>(byte()));
  }
  return text;
}

// ---- the stack

void PickleReader::push(PickleValue value) {
  if (stack_.size() >= limits_.stack) {
    refuse(offset_ + at_, "it is nested too deeply");
  }
  stack_.push_back(value);
}

void PickleReader::push_integer(std::int64_t value) { push({Kind::kInteger, static_cast<std::uint64_t>(value)}); }

PickleValue& PickleReader::top() {
  if (stack_.empty() || stack_.back().kind == Kind::kMark) {
    refuse(offset_ + at_, "a value is missing");
  }
  return stack_.back();
}

PickleValue PickleReader::pop() {
  const PickleValue value = top();
  stack_.pop_back();
  return value;
}

std::size_t PickleReader::last_mark() const {
  for (std::size_t i = stack_.size(); i > 0; --i) {
    if (stack_[i - 1].kind == Kind::kMark) {
      return i - 1;
    }
  }
  refuse(offset_ + at_, "a beginning is missing");
}

/// The values from `first` on become a list in their place.
void PickleReader::push_list(std::size_t first) {
  const std::uint64_t number = new_slot(lists_, free_lists_);
  lists_[number].values.assign(stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
  stack_.resize(first);
  push({Kind::kList, number});
}

void PickleReader::add_to_list(std::size_t first) {
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(first);
  if (first == 0 || std::any_of(begin, stack_.end(), [](PickleValue each) { return each.kind == Kind::kMark; })) {
    refuse(offset_ + at_, "a list is missing");
  }
  const PickleValue target = stack_[first - 1].kind == Kind::kMark && first > 1 ? stack_[first - 2] : stack_[first - 1];
  if (target.kind != Kind::kList) {
    refuse(offset_ + at_, "values are added to what is no list");
  }
  auto& values = lists_[target.bits].values;
  values.insert(values.end(), begin, stack_.end());
  stack_.resize(first);
}

void PickleReader::add_to_dict(std::size_t first) {
  const bool has_mark = first > 0 && stack_[first - 1].kind == Kind::kMark;
  const std::size_t place = first - (has_mark ? 2 : 1);
  if (first < (has_mark ? 2U : 1U) || stack_[place].kind != Kind::kDict) {
    refuse(offset_ + at_, "items are added to what is no dict");
  }
  auto& items = dicts_[stack_[place].bits].items;
  for (std::size_t i = first; i + 1 < stack_.size(); i += 2) {
    items.emplace_back(stack_[i], stack_[i + 1]);
  }
  stack_.resize(place + 1);
  if (const auto object = take_(*this, stack_[place])) {
    Dict& dict = dicts_[stack_[place].bits];
    if (dict.remembered != kNotRemembered) {
      memo_[dict.remembered] = {Kind::kObject, *object};
    }
    free_dicts_.push_back(stack_[place].bits);
    dict = {};
    stack_[place] = {Kind::kObject, *object};
  }
}

// ---- what is remembered

void PickleReader::remember(std::size_t place) {
  if (place >= limits_.remembered || place > memo_.size() + limits_.stack) {
    refuse(offset_ + at_, "it remembers too much");
  }
  if (place >= memo_.size()) {
    memo_.resize(place + 1);
  }
  memo_[place] = top();
  if (top().kind == Kind::kList) {
    lists_[top().bits].remembered = place;
  } else if (top().kind == Kind::kDict) {
    dicts_[top().bits].remembered = place;
  }
}

void PickleReader::recall(std::uint64_t place) {
  if (place >= memo_.size()) {
    refuse(offset_ + at_, "it refers to what it has not said");
  }
  push(memo_[static_cast<std::size_t>(place)]);
}

void PickleReader::replace(PickleValue list, std::uint64_t object) {
  List& known = lists_[list.bits];
  if (known.remembered != kNotRemembered) {
    memo_[known.remembered] = {Kind::kObject, object};
  }
  known = {};
  free_lists_.push_back(list.bits);
}

// ---- opcodes, by their letters in pickletools

bool PickleReader::step(unsigned char opcode) {
  switch (opcode) {
    case 0x80:  // PROTO
      if (const auto protocol = byte(); protocol < 2 || protocol > 5) {
        refuse(offset_ + at_, fmt::format("protocol {} is not known", protocol));
      }
      return true;
    case 0x95:  // FRAME
      number(8);
      return true;
    case '.':  // STOP
      if (stack_.size() != 1) {
        refuse(offset_ + at_, "it ends amid its values");
      }
      return false;
    default:
      break;
  }
  if (step_of_memo(opcode) || step_of_scalar(opcode) || step_of_text(opcode) || step_of_collection(opcode)) {
    return true;
  }
  if (opcode == 'c' || opcode == 0x93 || opcode == 'R' || opcode == 'i' || opcode == 'o' || opcode == 'b' ||
      opcode == 0x81 || opcode == 0x92 || opcode == 'P' || opcode == 'Q') {
    throw ImportError(
        "The file is a pickle of objects: to read it, Python would run code that it names. Nothing of it "
        "was run. A memory snapshot has none.");
  }
  refuse(offset_ + at_ - 1, fmt::format("there is no operation {:#04x}", opcode));
}

bool PickleReader::step_of_memo(unsigned char opcode) {
  switch (opcode) {
    case 'q':  // BINPUT
      remember(byte());
      return true;
    case 'r':  // LONG_BINPUT
      remember(static_cast<std::size_t>(number(4)));
      return true;
    case 0x94:  // MEMOIZE
      remember(memo_.size());
      return true;
    case 'h':  // BINGET
      recall(byte());
      return true;
    case 'j':  // LONG_BINGET
      recall(number(4));
      return true;
    default:
      return false;
  }
}

bool PickleReader::step_of_scalar(unsigned char opcode) {
  switch (opcode) {
    case 'N':
      push({});
      return true;
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      push_integer(opcode == 0x88 ? 1 : 0);
      return true;
    case 'J':  // BININT
      push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(number(4))));
      return true;
    case 'K':  // BININT1
      push_integer(byte());
      return true;
    case 'M':  // BININT2
      push_integer(static_cast<std::int64_t>(number(2)));
      return true;
    case 0x8a:  // LONG1
      push_long(byte());
      return true;
    case 0x8b:  // LONG4
      push_long(number(4));
      return true;
    case 'G': {  // BINFLOAT, the highest byte first
      std::uint64_t bits = 0;
      for (int i = 0; i < 8; ++i) {
        bits = bits << 8U | byte();
      }
      push({Kind::kReal, bits});
      return true;
    }
    default:
      return false;
  }
}

/// An integer in two's complement.
void PickleReader::push_long(std::uint64_t length) {
  std::uint64_t value = 0;
  unsigned char last = 0;
  for (std::uint64_t i = 0; i < length; ++i) {
    last = byte();
    if (i < kLongBytes) {
      value |= std::uint64_t{last} << (8 * i);
    }
  }
  // 2^63 and above have a ninth byte, of zeros.
  const bool is_kept = length <= kLongBytes || (length == kLongBytes + 1 && last == 0);
  if (length > 0 && length < kLongBytes && (last & 0x80U) != 0) {
    value |= ~std::uint64_t{0} << (8 * length);
  }
  push(is_kept ? PickleValue{Kind::kInteger, value} : PickleValue{});
}

bool PickleReader::step_of_text(unsigned char opcode) {
  switch (opcode) {
    case 0x8c:  // SHORT_BINUNICODE
    case 'C':   // SHORT_BINBYTES
      push_text(byte());
      return true;
    case 'X':  // BINUNICODE
    case 'B':  // BINBYTES
      push_text(number(4));
      return true;
    case 0x8d:  // BINUNICODE8
    case 0x8e:  // BINBYTES8
      push_text(number(8));
      return true;
    default:
      return false;
  }
}

void PickleReader::push_text(std::uint64_t length) {
  std::string text = bytes(length);
  const auto [found, is_new] = text_numbers_.try_emplace(text, texts_.size());
  if (is_new) {
    texts_bytes_ += text.size();
    if (texts_bytes_ > limits_.texts_bytes) {
      refuse(offset_ + at_, "it has more text than any snapshot");
    }
    texts_.push_back(std::move(text));
  }
  push({Kind::kText, found->second});
}

bool PickleReader::step_of_collection(unsigned char opcode) {
  switch (opcode) {
    case '(':  // MARK
      push({Kind::kMark, 0});
      return true;
    case '0':  // POP
      pop();
      return true;
    case ')':  // EMPTY_TUPLE
    case ']':  // EMPTY_LIST
      push_list(stack_.size());
      return true;
    case 't':    // TUPLE
    case 'l': {  // LIST
      const std::size_t mark = last_mark();
      stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(mark));
      push_list(mark);
      return true;
    }
    case 0x85:  // TUPLE1 to TUPLE3
    case 0x86:
    case 0x87: {
      const std::size_t count = opcode - 0x84U;
      if (stack_.size() < count) {
        refuse(offset_ + at_, "a value is missing");
      }
      push_list(stack_.size() - count);
      return true;
    }
    case 'a':  // APPEND
      top();
      add_to_list(stack_.size() - 1);
      return true;
    case 'e': {  // APPENDS
      const std::size_t mark = last_mark();
      add_to_list(mark + 1);
      stack_.resize(mark);
      return true;
    }
    case '}':  // EMPTY_DICT
      push({Kind::kDict, new_slot(dicts_, free_dicts_)});
      return true;
    case 's':  // SETITEM
      if (stack_.size() < 3) {
        refuse(offset_ + at_, "a value is missing");
      }
      add_to_dict(stack_.size() - 2);
      return true;
    case 'u':  // SETITEMS
      add_to_dict(last_mark() + 1);
      return true;
    default:
      return false;
  }
}

/// What was begun ends here.
void PickleReader::close_open() {
  while (std::ranges::find(stack_, Kind::kMark, &PickleValue::kind) != stack_.end()) {
    const std::size_t mark = last_mark();
    const PickleValue target = mark > 0 ? stack_[mark - 1] : PickleValue{};
    if (target.kind == Kind::kList) {
      add_to_list(mark + 1);
    } else if (target.kind == Kind::kDict) {
      add_to_dict(mark + 1);
      continue;  // the mark is gone with the items
    }
    stack_.resize(mark);
  }
}

// ---- values

std::string_view PickleReader::text(PickleValue value) const {
  return value.kind == Kind::kText ? std::string_view(texts_[value.bits]) : std::string_view();
}

std::span<const PickleValue> PickleReader::list(PickleValue value) const {
  return value.kind == Kind::kList ? std::span<const PickleValue>(lists_[value.bits].values)
                                   : std::span<const PickleValue>();
}

PickleValue PickleReader::find(PickleValue dict, std::string_view key) const {
  if (dict.kind != Kind::kDict) {
    return {};
  }
  const auto& items = dicts_[dict.bits].items;
  const auto found = std::ranges::find_if(items, [&](const auto& item) { return text(item.first) == key; });
  return found == items.end() ? PickleValue{} : found->second;
}

}  // namespace ridgeline::ingest
