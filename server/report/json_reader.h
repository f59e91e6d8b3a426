// Reads what is described by fields(), and refuses what does not comply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/field_kinds.h"

namespace ridgeline::report {

/// Throws std::invalid_argument, or an exception of nlohmann::json, for a member that is missing, of another type or
/// beyond its limit. Members that are not described are ignored.
class Reader {
 public:
  static constexpr bool kReads = true;
  FieldContext context;

  explicit Reader(const nlohmann::json& object) : object_(&object) {}

  static void type(const char* /*name*/, const char* /*description*/) {}
  static void null_together(std::initializer_list<const char*> /*names*/) {}
  static void check(bool is_valid, const std::string& problem) {
    if (!is_valid) {
      throw std::invalid_argument(problem);
    }
  }
  bool has(const char* name, bool /*is_present*/) const { return object_->contains(name); }

  template <typename T, typename Limit = Default>
  void operator()(const char* name, T& value, const char* /*description*/, const Limit& limit = {}) {
    read(name, object_->at(name), value, limit);
  }

  template <typename Make, typename Limit = Default>
  static void derived(const char* /*name*/, const Make&, const char* /*description*/, const Limit& = {}) {}

  template <typename Members>
  void object(const char* name, const char* /*description*/, const Members& members) {
    const nlohmann::json* outer = std::exchange(object_, &object_->at(name));
    members();
    object_ = outer;
  }

 private:
  template <typename T, typename Limit>
  void read(const char* name, const nlohmann::json& json, T& value, const Limit& limit) {
    if constexpr (kIsOptional<T>) {
      value.reset();
      if (!json.is_null()) {
        read(name, json, value.emplace(), limit);
      }
    } else if constexpr (kIsVector<T>) {
      check(json.is_array(), std::string(name) + " is not an array");
      check(json.size() <= item_limit(limit), std::string(name) + " has too many elements");
      value.clear();
      value.reserve(json.size());
      for (const nlohmann::json& item : json) {
        read(name, item, value.emplace_back(), element_limit<typename T::value_type>(limit));
      }
    } else if constexpr (std::is_same_v<T, double>) {
      value = number(name, json, number_limit(limit));
    } else if constexpr (WholeNumber<T>) {
      value = static_cast<T>(whole(name, json, whole_limit<T>(limit)));
    } else if constexpr (std::is_enum_v<T>) {
      value = named_value(name, json, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = json.get<std::string>();
      check(value.size() >= text_limit(limit).least_length, std::string(name) + " is too short");
    } else if constexpr (std::is_class_v<T>) {
      check(depth_ <= kMaxDepth, std::string(name) + " is nested too deeply");
      const nlohmann::json* outer = std::exchange(object_, &json);
      ++depth_;
      visit(*this, value, limit);
      --depth_;
      object_ = outer;
    } else {
      value = json.get<T>();
    }
  }

  static double number(const char* name, const nlohmann::json& json, const Number& limit) {
    const double value = json.is_number() ? json.get<double>() : limit.least - 1;
    const bool is_enough = limit.is_above ? value > limit.least : value >= limit.least;
    check(json.is_number() && is_enough && value <= limit.most, std::string(name) + " is not a number in its range");
    return value;
  }

  static std::uint64_t whole(const char* name, const nlohmann::json& json, const Whole& limit) {
    const std::uint64_t value = json.is_number_unsigned() ? json.get<std::uint64_t>() : 0;
    check(json.is_number_unsigned() && value >= limit.least && value <= limit.most,
          std::string(name) + " is not a whole number in its range");
    return value;
  }

  template <typename Enum>
  static Enum named_value(const char* name, const nlohmann::json& json, Enum any) {
    const auto& text = json.get_ref<const std::string&>();
    const auto& names = names_of(any);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] != nullptr && names[i] == text) {
        return static_cast<Enum>(i);
      }
    }
    throw std::invalid_argument(std::string(name) + " has an unknown value");
  }

  const nlohmann::json* object_;
  int depth_ = 0;
};

}  // namespace ridgeline::report
