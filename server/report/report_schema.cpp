#include "report/report_schema.h"

#include <cmath>
#include <initializer_list>
#include <map>
#include <set>
#include <typeindex>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/comparison_fields.h"
#include "report/report_fields.h"

namespace ridgeline::report {

using Json = nlohmann::ordered_json;

/// Visits fields() of empty values: only their types, names, descriptions and limits matter. Not in an unnamed
/// namespace: fields() are found by its namespace.
class SchemaBuilder {
 public:
  static constexpr bool kReads = false;
  FieldContext context;

  void type(const char* name, const char* description) {
    definitions_[type_] = name;
    object_["description"] = description;
  }
  void null_together(std::initializer_list<const char*> names) {
    for (const char* type : {"number", "null"}) {
      Json members = Json::object();
      for (const char* name : names) {
        members[name] = {{"type", type}};
      }
      object_["anyOf"].push_back({{"properties", std::move(members)}});
    }
  }
  static void check(bool /*is_valid*/, const std::string& /*problem*/) {}
  bool has(const char* name, bool /*is_present*/) {
    optional_.insert(name);
    return true;
  }

  template <typename T, typename Limit = Default>
  void operator()(const char* name, const T& /*value*/, const char* description, const Limit& limit = {}) {
    add(name, description, schema_of<T>(limit));
  }

  template <typename Make, typename Limit = Default>
  void derived(const char* name, const Make& /*make*/, const char* description, const Limit& limit = {}) {
    add(name, description, schema_of<std::decay_t<std::invoke_result_t<Make>>>(limit));
  }

  template <typename Members>
  void object(const char* name, const char* description, const Members& members) {
    add(name, description, object_of(members));
  }

  template <typename Members>
  Json object_of(const Members& members) {
    Json outer =
        std::exchange(object_, {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}});
    std::set<std::string> outer_optional = std::exchange(optional_, {});
    members();
    object_["additionalProperties"] = false;
    optional_ = std::move(outer_optional);
    return std::exchange(object_, std::move(outer));
  }

  const Json& definitions() const { return schemas_; }

 private:
  using Type = std::pair<std::type_index, std::type_index>;  // of the value and of its tag

  void add(const char* name, const char* description, const Json& schema) {
    Json member = {{"description", description}};
    member.update(schema);
    object_["properties"][name] = std::move(member);
    if (!optional_.contains(name)) {
      object_["required"].push_back(name);
    }
  }

  template <typename T, typename Limit>
  Json schema_of(const Limit& limit) {
    if constexpr (kIsOptional<T>) {
      return nullable(schema_of<typename T::value_type>(limit));
    } else if constexpr (kIsVector<T>) {
      return {{"type", "array"},
              {"items", schema_of<typename T::value_type>(element_limit<typename T::value_type>(limit))},
              {"maxItems", item_limit(limit)}};
    } else if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_same_v<T, double>) {
      return number_schema(number_limit(limit));
    } else if constexpr (WholeNumber<T>) {
      return whole_schema(whole_limit<T>(limit));
    } else if constexpr (std::is_enum_v<T>) {
      Json names = Json::array();
      for (const char* name : names_of(T{})) {
        names.push_back(name == nullptr ? Json(nullptr) : Json(name));
      }
      return {{"enum", std::move(names)}};
    } else if constexpr (std::is_same_v<T, std::string>) {
      return text_schema(text_limit(limit));
    } else {
      return class_schema<T>(limit);
    }
  }

  static Json number_schema(const Number& limit) {
    Json schema = {{"type", "number"}};
    const bool is_least_whole = std::isfinite(limit.least) && limit.least == std::trunc(limit.least);
    const Json least = is_least_whole ? Json(static_cast<std::int64_t>(limit.least)) : Json(limit.least);
    if (std::isfinite(limit.least)) {
      schema[limit.is_above ? "exclusiveMinimum" : "minimum"] = least;
    }
    if (std::isfinite(limit.most)) {
      schema["maximum"] = limit.most;
    }
    return schema;
  }

  static Json whole_schema(const Whole& limit) {
    if (limit.least == limit.most) {
      return {{"const", limit.least}};
    }
    Json schema = {{"type", "integer"}, {"minimum", limit.least}};
    if (limit.most != std::numeric_limits<std::uint64_t>::max()) {
      schema["maximum"] = limit.most;
    }
    return schema;
  }

  static Json text_schema(const Text& limit) {
    Json schema = {{"type", "string"}};
    if (limit.least_length > 0) {
      schema["minLength"] = limit.least_length;
    }
    if (*limit.pattern != '\0') {
      schema["pattern"] = limit.pattern;
    }
    return schema;
  }

  static Json nullable(Json schema) {
    if (schema.contains("type") && schema["type"] != "object") {
      schema["type"] = {schema["type"], "null"};
      return schema;
    }
    return {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
  }

  /// In place, or a reference to $defs when the type has a name.
  template <typename T, typename Limit>
  Json class_schema(const Limit& limit) {
    const Type type{typeid(T), typeid(Limit)};
    Json schema;
    if (!definitions_.contains(type)) {
      const Type outer = std::exchange(type_, type);
      T value{};
      schema = object_of([&] { visit(*this, value, limit); });
      type_ = outer;
    }
    const auto name = definitions_.find(type);
    if (name == definitions_.end()) {
      return schema;
    }
    if (!schema.is_null()) {
      schemas_[name->second] = std::move(schema);
    }
    return {{"$ref", "#/$defs/" + name->second}};
  }

  Json object_ = Json::object();
  std::set<std::string> optional_;  // members of the object that is being described
  Type type_{typeid(void), typeid(void)};
  std::map<Type, std::string> definitions_;  // names of types
  Json schemas_ = Json::object();
};

std::string report_schema() {
  SchemaBuilder builder;
  analysis::Profile profile;
  const analysis::Outlook outlook;
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"$id", "https://ridgeline.invalid/report.schema.json"},
                 {"title", "Ridgeline report"},
                 {"description",
                  "The profile of one training iteration. Times are milliseconds of one iteration, memory is bytes, "
                  "shares are fractions of one. Figures are not rounded: the sums that are named here close, but for "
                  "the last digits of floating point."}};
  schema.update(builder.object_of([&] { report_fields(builder, profile, outlook); }));
  schema["$defs"] = builder.definitions();
  return schema.dump(2) + "\n";
}

std::string comparison_schema() {
  SchemaBuilder builder;
  analysis::Comparison comparison;
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"$id", "https://ridgeline.invalid/comparison.schema.json"},
                 {"title", "Ridgeline comparison"},
                 {"description",
                  "Two versions of a training iteration, compared. Times are milliseconds of one iteration, memory is "
                  "bytes, changes are fractions of the version before. Every interval holds, all together, with a "
                  "probability of 95 %."}};
  schema.update(builder.object_of([&] { comparison_fields(builder, comparison); }));
  schema["$defs"] = builder.definitions();
  return schema.dump(2) + "\n";
}

}  // namespace ridgeline::report
