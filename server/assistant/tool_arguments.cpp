#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "assistant/answer_text.h"
#include "assistant/tool.h"

namespace ridgeline::assistant {

namespace {

bool has_type(const Json& value, const std::string& type) {
  return (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
         (type == "array" && value.is_array()) || (type == "object" && value.is_object()) ||
         (type == "number" && value.is_number()) ||
         (type == "integer" &&
          (value.is_number_integer() || (value.is_number_float() && std::abs(value.get<double>()) < 1e15 &&
                                         value.get<double>() == std::trunc(value.get<double>()))));
}

std::string value_problem(const std::string& name, const Json& schema, const Json& value) {
  if (const auto type = schema.find("type"); type != schema.end() && !has_type(value, *type)) {
    return fmt::format("{} must be of type {}.", name, type->get<std::string>());
  }
  if (const auto words = schema.find("enum");
      words != schema.end() && std::ranges::find(*words, value) == words->end()) {
    return fmt::format("{} must be one of {}.", name, words->dump());
  }
  const auto number = [&](const char* word) { return schema.value(word, Json()); };
  if (value.is_number() && ((!number("minimum").is_null() && value < number("minimum")) ||
                            (!number("maximum").is_null() && value > number("maximum")))) {
    return fmt::format("{} is out of its range.", name);
  }
  if (value.is_string() && value.get_ref<const std::string&>().size() > schema.value("maxLength", std::size_t{4096})) {
    return fmt::format("{} is too long.", name);
  }
  if (value.is_array()) {
    if (value.size() > schema.value("maxItems", std::size_t{64})) {
      return fmt::format("{} has too many items.", name);
    }
    for (const Json& item : value) {
      if (std::string problem = value_problem("an item of " + name, schema.value("items", Json::object()), item);
          !problem.empty()) {
        return problem;
      }
    }
  }
  return {};
}

}  // namespace

std::string argument_problem(const Json& schema, const Json& arguments) {
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, value] : arguments.items()) {
    const auto property = properties.find(name);
    if (property == properties.end()) {
      std::string known;
      for (const auto& [one, of_it] : properties.items()) {
        known += (known.empty() ? "" : ", ") + one;
      }
      return fmt::format("There is no argument {}; there are: {}.", in_quotes(name, 40),
                         known.empty() ? "none" : known);
    }
    if (std::string problem = value_problem(name, *property, value); !problem.empty()) {
      return problem;
    }
  }
  for (const Json& name : schema.value("required", Json::array())) {
    if (!arguments.contains(name.get<std::string>())) {
      return fmt::format("The argument {} is missing.", name.get<std::string>());
    }
  }
  return {};
}

}  // namespace ridgeline::assistant
