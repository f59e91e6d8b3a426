// Writes what is described by fields() as JSON.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/field_kinds.h"

namespace ridgeline::report {

/// What a Reader would refuse for its limit becomes the nearest that it takes. An optional number that is not finite
/// becomes null, another one that is none 0 or, where that is too little, the least.
class Writer {
 public:
  static constexpr bool kReads = false;
  FieldContext context;

  static void type(const char* /*name*/, const char* /*description*/) {}
  static void null_together(std::initializer_list<const char*> /*names*/) {}
  static void check(bool /*is_valid*/, const std::string& /*problem*/) {}
  static bool has(const char* /*name*/, bool is_present) { return is_present; }

  template <typename T, typename Limit = Default>
  void operator()(const char* name, const T& value, const char* /*description*/, const Limit& limit = {}) {
    object_[name] = json_of(value, limit);
  }

  template <typename Make, typename Limit = Default>
  void derived(const char* name, const Make& make, const char* /*description*/, const Limit& limit = {}) {
    object_[name] = json_of(make(), limit);
  }

  template <typename Members>
  void object(const char* name, const char* /*description*/, const Members& members) {
    nlohmann::ordered_json inner = object_of(members);
    object_[name] = std::move(inner);
  }

  /// The members that `members` visits.
  template <typename Members>
  nlohmann::ordered_json object_of(const Members& members) {
    nlohmann::ordered_json outer = std::exchange(object_, nlohmann::ordered_json::object());
    members();
    return std::exchange(object_, std::move(outer));
  }

  template <typename T, typename Limit = Default>
  nlohmann::ordered_json json_of(const T& value, const Limit& limit = {}) {
    if constexpr (std::is_same_v<T, std::optional<double>>) {
      return value.has_value() && std::isfinite(*value) ? within(*value, number_limit(limit))
                                                        : nlohmann::ordered_json(nullptr);
    } else if constexpr (kIsOptional<T>) {
      return value.has_value() ? json_of(*value, limit) : nlohmann::ordered_json(nullptr);
    } else if constexpr (kIsVector<T>) {
      using Element = typename T::value_type;
      nlohmann::ordered_json array = nlohmann::ordered_json::array();
      const bool is_too_deep = std::is_class_v<Element> && depth_ > kMaxDepth;
      const std::size_t count = is_too_deep ? 0 : std::min(value.size(), item_limit(limit));
      for (std::size_t i = 0; i < count; ++i) {
        array.push_back(json_of<Element>(value[i], element_limit<Element>(limit)));
      }
      return array;
    } else if constexpr (std::is_same_v<T, double>) {
      return within(value, number_limit(limit));
    } else if constexpr (WholeNumber<T>) {
      return within(value, whole_limit<T>(limit));
    } else if constexpr (std::is_same_v<T, std::string>) {
      return value.size() < text_limit(limit).least_length ? std::string(text_limit(limit).least_length, '?') : value;
    } else if constexpr (std::is_enum_v<T>) {
      const char* name = names_of(value)[static_cast<std::size_t>(value)];
      return name == nullptr ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(name);
    } else if constexpr (std::is_class_v<T>) {
      ++depth_;
      // fields() takes what a Reader can fill; a Writer only looks at it.
      auto object = object_of([&] { visit(*this, const_cast<T&>(value), limit); });  // NOLINT(*-const-cast)
      --depth_;
      return object;
    } else {
      return value;
    }
  }

 private:
  static nlohmann::ordered_json within(double value, const Number& limit) {
    const double least = limit.is_above ? std::nextafter(limit.least, limit.most) : limit.least;
    const double bounded = std::clamp(std::isnan(value) ? 0.0 : value, least, limit.most);
    return std::clamp(bounded, std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max());
  }

  template <WholeNumber T>
  static nlohmann::ordered_json within(T value, const Whole& limit) {
    return std::clamp(std::cmp_less(value, 0) ? std::uint64_t{0} : static_cast<std::uint64_t>(value), limit.least,
                      limit.most);
  }

  int depth_ = 0;  // as a Reader counts
  nlohmann::ordered_json object_ = nlohmann::ordered_json::object();
};

}  // namespace ridgeline::report
