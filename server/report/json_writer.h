// Writes what is described by fields() as JSON.
#pragma once

#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/field_kinds.h"

namespace ridgeline::report {

/// A double that is not finite becomes null.
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
    if constexpr (kIsOptional<T>) {
      return value.has_value() ? json_of(*value, limit) : nlohmann::ordered_json(nullptr);
    } else if constexpr (kIsVector<T>) {
      nlohmann::ordered_json array = nlohmann::ordered_json::array();
      for (const auto& item : value) array.push_back(json_of(item, element_limit(limit)));
      return array;
    } else if constexpr (std::is_same_v<T, double>) {
      return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
    } else if constexpr (std::is_enum_v<T>) {
      const char* name = names_of(value)[static_cast<std::size_t>(value)];
      return name == nullptr ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(name);
    } else if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
      // fields() takes what a Reader can fill; a Writer only looks at it.
      return object_of([&] { visit(*this, const_cast<T&>(value), limit); });  // NOLINT(*-const-cast)
    } else {
      return value;
    }
  }

 private:
  nlohmann::ordered_json object_ = nlohmann::ordered_json::object();
};

}  // namespace ridgeline::report
