// For tests/integration/test_source.py: what the layer says of texts that a real Python has read.
// Reads {"sources": [text...], "value": n}, and prints of each text null, when it is no entry file, or what is found;
// places are bytes and lines counted from 0.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include "source/definitions.h"
#include "source/entry_point.h"
#include "source/source_tree.h"

namespace {

using namespace ridgeline::source;
using nlohmann::json;

json json_of(Span span) { return {span.begin, span.end}; }

json json_of(const Provider& provider) {
  return {{"name", provider.name},
          {"defined", provider.defined},
          {"nameSpan", json_of(provider.name_span)},
          {"definition", json_of(provider.definition)},
          {"line", provider.line}};
}

json entry_point_json(const SourceTree& tree, std::uint64_t value) {
  const auto entry_point = find_entry_point(tree);
  if (!entry_point.has_value()) {
    return nullptr;
  }
  json result = {{"providers", json::object()}, {"mistakes", json::array()}, {"edit", nullptr}};
  for (const auto& provider : entry_point->providers) {
    if (provider.has_value()) {
      result["providers"][std::string(name_of(provider->kind))] = json_of(*provider);
    }
  }
  for (const Mistake& mistake : entry_point->mistakes) {
    result["mistakes"].push_back({{"code", mistake.code}, {"message", mistake.message}, {"line", mistake.line}});
  }
  if (entry_point->batch_size.value.has_value()) {
    result["batchSize"] = *entry_point->batch_size.value;
  }
  if (const auto edit = batch_size_edit(*entry_point, value)) {
    result["edit"] = {{"span", json_of(edit->span)}, {"text", edit->replacement}};
  }
  return result;
}

json definitions_json(const SourceTree& tree) {
  json result = json::array();
  for (const Definition& definition : definitions(tree)) {
    result.push_back({definition.qualified_name, definition.first_line, definition.name_line, definition.last_line});
  }
  return result;
}

}  // namespace

int main() {
  const std::string input{std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  const json request = json::parse(input);
  json answers = json::array();
  for (const auto& source : request.at("sources")) {
    const auto tree = SourceTree::parse(source.get<std::string>());
    if (!tree.has_value()) {
      return 1;
    }
    answers.push_back({{"entryPoint", entry_point_json(*tree, request.at("value").get<std::uint64_t>())},
                       {"definitions", definitions_json(*tree)}});
  }
  std::puts(answers.dump().c_str());
  return 0;
}
