// Reading and writing members of JSON objects, with messages for what is invalid.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace ridgeline::protocol {

/// A parameter of a request is invalid. A handler that throws it answers InvalidParams with this message.
struct InvalidValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The value as a T. Numbers must be whole and in T's range where T is an integer. Throws InvalidValue.
template <typename T>
T value_as(const nlohmann::json& value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (value.is_number_unsigned() && std::in_range<T>(value.get<std::uint64_t>())) {
      return static_cast<T>(value.get<std::uint64_t>());
    }
    if (value.is_number_integer() && !value.is_number_unsigned() && std::in_range<T>(value.get<std::int64_t>())) {
      return static_cast<T>(value.get<std::int64_t>());
    }
    // A client whose numbers are all floating point may write 3.0.
    const double number = value.is_number_float() ? value.get<double>() : std::nan("");
    if (std::abs(number) <= 9007199254740992.0 && number == std::trunc(number) &&
        std::in_range<T>(static_cast<std::int64_t>(number))) {
      return static_cast<T>(number);
    }
    throw InvalidValue("must be a whole number in its range, not " + value.dump(-1, ' ', true).substr(0, 40));
  } else {
    try {
      return value.get<T>();
    } catch (const nlohmann::json::exception&) {
      throw InvalidValue(std::string("has the wrong type: ") + value.type_name());
    }
  }
}

/// The member as a T. Throws InvalidValue, which names the member, when it is missing or has another type.
template <typename T>
T member(const nlohmann::json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end()) {
    throw InvalidValue(std::string(name) + " is missing");
  }
  try {
    return value_as<T>(*found);
  } catch (const InvalidValue& problem) {
    throw InvalidValue(std::string(name) + ": " + problem.what());
  }
}

/// The member as a T; nothing when it is missing or null. Throws as member() does.
template <typename T>
std::optional<T> optional_member(const nlohmann::json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end() || found->is_null()) {
    return std::nullopt;
  }
  return member<T>(object, name);
}

/// Writes a member only when there is a value.
template <typename T>
void put(nlohmann::json& object, const char* name, const std::optional<T>& value) {
  if (value.has_value()) {
    object[name] = *value;
  }
}

}  // namespace ridgeline::protocol
