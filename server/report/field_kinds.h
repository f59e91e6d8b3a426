// How the fields of a JSON document are described, once for writing, reading and the schema.
//
// A type of analysis/ is described by a function that visits each of its members:
//
//   template <typename Io>
//   void fields(Io& io, analysis::Outliers& outliers) {
//     io("count", outliers.count, "Number of outliers.");
//     io("worst", outliers.worst, "The longest, as a multiple of the median; 0 without one.");
//   }
//
// Io is a Writer (json_writer.h), a Reader (json_reader.h) or a SchemaBuilder (report_schema.cpp). Each offers:
//
//   io(name, value, description, limit)        a member; the limit may be left out
//   io.object(name, description, [&] { ... })  a member that is an object of the members visited inside
//   io.derived(name, [&] { return value; }, description, limit)  written, not read: it follows from other members
//   io.has(name, is_present)                   whether a member that may be absent is there: guards its io(...)
//   io.check(is_valid, problem)                refuses what was read
//   io.null_together({names})                  derived numbers that are all there, or all null
//   io.type(name, description)                 names the type in the schema's $defs
//
// A number that has no limit is not negative, a string may be empty, an array has at most kMaxItems elements. An empty
// std::optional is null. A Writer never changes the values that it visits, and writes nothing that a Reader would
// refuse for its limit: the nearest that is allowed stands for a number beyond its limits, the first elements for an
// array that is too long. tests/unit/report/round_trip_test.cpp checks that for every member.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/compare/comparison.h"
#include "analysis/observations/observations.h"
#include "analysis/values/prediction.h"
#include "analysis/values/profile.h"

namespace ridgeline::report {

inline constexpr std::size_t kMaxItems = 1024;
inline constexpr std::size_t kMaxParts = 100'000;  ///< of what a profile has many of: lines, kernels, nodes
inline constexpr int kMaxDepth = 256;              ///< of objects in objects: modules in modules of the breakdown

/// No limit but those of the type.
struct Default {};
/// The range of a double.
struct Number {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool is_above = false;  ///< greater than `least`
};
inline constexpr Number kAnyNumber{-std::numeric_limits<double>::infinity()};
inline constexpr Number kPositive{0, std::numeric_limits<double>::infinity(), true};
inline constexpr Number kFraction{0, 1.000001};  // the sum of many parts may round up
/// The range of an integer.
struct Whole {
  std::uint64_t least = 0;
  std::uint64_t most = std::uint64_t{1} << 30U;
};
inline constexpr Whole kBatchSize{1, 1U << 24U};
inline constexpr Whole kFromBatchSize{1, std::numeric_limits<int>::max()};
/// The form of a string.
struct Text {
  std::size_t least_length = 0;
  const char* pattern = "";  ///< in the schema only
};
inline constexpr Text kNotEmpty{1};
/// The largest size of an array.
struct AtMost {
  std::size_t items;
};

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsVector = false;
template <typename T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <typename T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool>;

/// What an integer of this type may be.
template <WholeNumber T, typename Limit>
constexpr Whole whole_limit(const Limit& limit) {
  if constexpr (std::is_same_v<Limit, Whole>) {
    return limit;
  } else {
    return std::is_same_v<T, int> ? Whole{} : Whole{0, std::numeric_limits<T>::max()};
  }
}

template <typename Limit>
constexpr Number number_limit(const Limit& limit) {
  if constexpr (std::is_same_v<Limit, Number>) {
    return limit;
  } else {
    return {};
  }
}

template <typename Limit>
constexpr Text text_limit(const Limit& limit) {
  if constexpr (std::is_same_v<Limit, Text>) {
    return limit;
  } else {
    return {};
  }
}

template <typename Limit>
constexpr std::size_t item_limit(const Limit& limit) {
  if constexpr (std::is_same_v<Limit, AtMost>) {
    return limit.items;
  } else {
    return kMaxItems;
  }
}

/// What is passed on to the elements of an array: any limit but that of their number, which arrays in it have, too.
template <typename T, typename Limit>
constexpr auto element_limit(const Limit& limit) {
  if constexpr (std::is_same_v<Limit, AtMost> && !kIsVector<T>) {
    return Default{};
  } else {
    return limit;
  }
}

// What an enumeration's values are called; no name: null.
inline const auto& names_of(analysis::Category /*any*/) { return analysis::kCategoryNames; }
inline const auto& names_of(analysis::Verdict /*any*/) { return analysis::kVerdictNames; }
inline const auto& names_of(analysis::Unit /*any*/) { return analysis::kUnitNames; }
inline const auto& names_of(analysis::Certainty /*any*/) { return analysis::kCertaintyNames; }
inline const auto& names_of(protocol::EnergyOf /*any*/) { return protocol::kEnergyOfNames; }
inline const auto& names_of(protocol::StepEnd /*any*/) { return protocol::kStepEndNames; }
inline const auto& names_of(analysis::Origin /*any*/) {
  static constexpr std::array<const char*, 3> kNames = {"sample", "check", "trial"};
  return kNames;
}
inline const auto& names_of(analysis::Obstacle /*any*/) {
  static constexpr std::array<const char*, 9> kNames = {nullptr,           "tooFewSizes", "tooFast",
                                                        "tooLittleMemory", "timeUnknown", "memoryUnknown",
                                                        "noBalance",       "tooFar",      "ranOut"};
  return kNames;
}

inline const auto& names_of(analysis::Outcome /*any*/) {
  static constexpr std::array<const char*, 3> kNames = {"differs", "noDifference", "undecided"};
  return kNames;
}
inline const auto& names_of(analysis::Presence /*any*/) { return analysis::kPresenceNames; }

/// A type may be described in several ways, told apart by a tag in place of the limit.
template <typename Io, typename T, typename Limit>
void visit(Io& io, T& value, const Limit& limit) {
  if constexpr (requires { fields(io, value, limit); }) {
    fields(io, value, limit);
  } else {
    fields(io, value);
  }
}

/// A member that is spelled otherwise than it is held: `value` is written; what was read is passed to `set`.
template <typename Io, typename T, typename Set, typename Limit = Default>
void converted(Io& io, const char* name, T value, const char* description, const Set& set, const Limit& limit = {}) {
  io(name, value, description, limit);
  if constexpr (Io::kReads) {
    set(std::move(value));
  }
}

/// A member that is absent, not null, when there is no value.
template <typename Io, typename T, typename Limit = Default>
void if_present(Io& io, const char* name, std::optional<T>& value, const char* description, const Limit& limit = {}) {
  if (!io.has(name, value.has_value())) {
    return;
  }
  if constexpr (Io::kReads) {
    value.emplace();
  }
  T none{};
  io(name, value.has_value() ? *value : none, description, limit);
}

/// One member for each element.
template <typename Io, typename T, std::size_t Count>
void named(Io& io, std::array<T, Count>& values, const std::array<const char*, Count>& names,
           const std::array<const char*, Count>& descriptions) {
  for (std::size_t i = 0; i < Count; ++i) {
    io(names[i], values[i], descriptions[i]);
  }
}

/// What the description of a part takes from the whole.
struct FieldContext {
  bool has_device = false;
  double iteration_ms = 0;
  const analysis::Profile* profile = nullptr;
};

}  // namespace ridgeline::report
