// Fills what is described by fields() with random values: every member that a report has, also those that are added
// later.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>

#include "report/field_kinds.h"

namespace ridgeline::report {

/// An Io as field_kinds.h has it. Values are within their limits, and often at the ends of them; where it is wild, also
/// beyond them: what the type of a member can hold.
class RandomFields {
 public:
  static constexpr bool kReads = true;
  FieldContext context;

  RandomFields(std::mt19937& random, bool is_wild) : random_(random), is_wild_(is_wild) {}

  static void type(const char* /*name*/, const char* /*description*/) {}
  static void null_together(std::initializer_list<const char*> /*names*/) {}
  static void check(bool /*is_valid*/, const std::string& /*problem*/) {}
  bool has(std::string_view name, bool /*is_present*/) { return name != "allocator" && below(2) == 0; }

  template <typename T, typename Limit = Default>
  void operator()(std::string_view name, T& value, const char* /*description*/, const Limit& limit = {}) {
    if (name != "kind") {
      fill(value, limit);  // the name of a kind of failure
    }
  }
  template <typename Make, typename Limit = Default>
  static void derived(const char* /*name*/, const Make&, const char* /*description*/, const Limit& = {}) {}
  template <typename Members>
  static void object(const char* /*name*/, const char* /*description*/, const Members& members) {
    members();
  }

 private:
  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

  template <typename T, typename Limit>
  void fill(T& value, const Limit& limit) {
    if constexpr (kIsOptional<T>) {
      value.reset();
      if (below(2) == 0) {
        fill(value.emplace(), limit);
      }
    } else if constexpr (kIsVector<T>) {
      value.resize(depth_ > 6 ? 0 : below(4));
      for (auto& item : value) {
        fill(item, element_limit<typename T::value_type>(limit));
      }
    } else if constexpr (std::is_same_v<T, double>) {
      value = number(number_limit(limit));
    } else if constexpr (WholeNumber<T>) {
      value = whole<T>(whole_limit<T>(limit));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = below(2) == 0;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(below(names_of(value).size()));
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = text(text_limit(limit).least_length);
    } else {
      ++depth_;
      visit(*this, value, limit);
      --depth_;
    }
  }

  double number(const Number& limit) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    static constexpr std::array kWild = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, -1.0, -1e-17};
    if (is_wild_ && below(3) == 0) {
      return kWild[below(kWild.size())];
    }
    const std::array values = {limit.least, limit.most, 1e300, 5e-324, 0.1, std::ldexp(1.0, 60), 12.5};
    const double value = values[below(values.size())];
    const bool is_allowed =
        std::isfinite(value) && value <= limit.most && (limit.is_above ? value > limit.least : value >= limit.least);
    return is_allowed ? value : limit.least < 0.5 && limit.most > 0.5 ? 0.5 : limit.least;
  }

  template <typename T>
  T whole(const Whole& limit) {
    if (is_wild_ && below(3) == 0) {
      return below(2) == 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    }
    const std::array<std::uint64_t, 4> values = {limit.least, limit.most, limit.least + 1,
                                                 limit.least + below(1'000'000)};
    return static_cast<T>(std::min(values[below(values.size())], limit.most));
  }

  std::string text(std::size_t least_length) {
    if (least_length > 1) {
      return std::string(least_length, static_cast<char>('a' + below(6)));
    }
    static constexpr std::array<std::string_view, 8> kTexts = {
        "", "a", "\"\\/\b\f\n\r\t\x01\x7f", "Größe × π 🚀", "\xff\xfe\x80", "\xed\xa0\x80", "</script><!--", "null"};
    const std::string_view chosen = kTexts[below(kTexts.size())];
    return chosen.empty() && least_length > 0 && !is_wild_ ? "b" : std::string(chosen);
  }

  std::mt19937& random_;
  bool is_wild_;
  int depth_ = 0;
};

}  // namespace ridgeline::report
