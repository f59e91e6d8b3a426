#include "editor/figures.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/ranges.h>

#include "analysis/prediction/answers.h"
#include "source/span_text.h"

namespace ridgeline::editor {

using analysis::Node;

Figures::Figures(app::ProfileWithSources profile, std::shared_ptr<const analysis::Predictor> earlier)
    : profile_(std::move(profile)), outlook_(profile_.outlook), models_(std::move(earlier)) {
  predictor_ = analysis::make_predictor(profile_.profile);
  if (profile_.profile.time_model.has_value()) {
    models_ = std::make_shared<const analysis::Predictor>(predictor_);
  } else if (models_ != nullptr) {
    if (auto carried = analysis::carried_over(*models_, profile_.profile)) {
      predictor_ = std::move(*carried);
      outlook_ = analysis::outlook_of(predictor_, profile_.profile);
    }
  }
  for (const analysis::LineCost& line : profile_.profile.lines) {
    files_[path_of(line.location)].lines[line.location.line] = &line;
  }
  add(profile_.profile.breakdown);
  for (const protocol::SourceText& source : profile_.sources) {
    FileFigures& file = files_[source.path];
    file.text = &source.text;
    file.text_lines.emplace(source.text);
  }
}

void Figures::add(const Node& root) {
  std::vector<const Node*> waiting = {&root};  // as deep as the user's modules: no recursion
  while (!waiting.empty()) {
    const Node& node = *waiting.back();
    waiting.pop_back();
    if (!node.callers.empty()) {
      for (const analysis::Caller& caller : node.callers) {
        files_[path_of(caller.location)].calls.emplace(caller.location.line, &node);
      }
    } else if (!node.location.file.empty()) {
      files_[path_of(node.location)].calls.emplace(node.location.line, &node);
    }
    if (!node.definition.file.empty()) {
      files_[path_of(node.definition)].definitions.emplace(node.definition.line, &node);
    }
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      places_[&node.children[i]] = {&node, i};
      waiting.push_back(&node.children[i]);
    }
  }
}

const FileFigures* Figures::file(std::string_view path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

bool Figures::differs_in_batch_size_only(std::string_view path, std::string_view text) const {
  const FileFigures* file = path == profile_.profile.entry_path ? this->file(path) : nullptr;
  return file != nullptr && file->text != nullptr && profile_.batch_size_literal.has_value() &&
         source::differ_in_number_only(*file->text, *profile_.batch_size_literal, text);
}

std::string Figures::path_of(const analysis::Location& place) const {
  return place.file.empty() || place.file.front() == '/' ? place.file
                                                         : profile_.profile.project_root + "/" + place.file;
}

std::string_view Figures::library_line(const analysis::Location& place) const {
  const auto& call = profile_.profile.library_call;
  for (std::size_t i = 0; call.has_value() && i < std::min(call->lines.size(), profile_.library_lines.size()); ++i) {
    if (call->lines[i].location == place) {
      return profile_.library_lines[i];
    }
  }
  return {};
}

std::string_view Figures::line_text(const analysis::Location& place) const {
  const FileFigures* file = this->file(path_of(place));
  if (file == nullptr || file->text == nullptr || place.line == 0 || place.line > file->text_lines->count()) {
    return library_line(place);
  }
  return file->text_lines->line_in(*file->text, place.line - 1);
}

std::optional<analysis::Location> Figures::forward_of(const Node& node) const {
  if (node.definition.file.empty()) {
    return std::nullopt;
  }
  std::uint32_t first = 0;
  const auto consider = [&](const analysis::Location& call) {
    if (call.file == node.definition.file && call.line > node.definition.line && (first == 0 || call.line < first)) {
      first = call.line;
    }
  };
  for (const Node& child : node.children) {
    consider(child.location);
    std::ranges::for_each(child.callers, consider, &analysis::Caller::location);
  }
  const auto indentation = [](std::string_view text) { return std::min(text.find_first_not_of(" \t"), text.size()); };
  const std::size_t inner = indentation(line_text({node.definition.file, first}));
  for (std::uint32_t line = first; line > node.definition.line; --line) {
    std::string_view text = line_text({node.definition.file, line});
    const std::size_t outer = indentation(text);
    text.remove_prefix(outer);
    if (outer < inner && (text.starts_with("def ") || text.starts_with("async def "))) {
      return analysis::Location{node.definition.file, line};
    }
  }
  return std::nullopt;
}

const Node* Figures::node(std::string_view id) const {
  const Node* node = &profile_.profile.breakdown;
  while (!id.empty()) {
    const std::string_view part = id.substr(0, id.find('.'));
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size() || number >= node->children.size()) {
      return nullptr;
    }
    node = &node->children[number];
    id.remove_prefix(std::min(part.size() + 1, id.size()));
  }
  return node;
}

std::string Figures::id_of(const Node& node) const {
  std::vector<std::size_t> numbers;
  for (auto place = places_.find(&node); place != places_.end(); place = places_.find(place->second.parent)) {
    numbers.push_back(place->second.number);
  }
  return fmt::format("{}", fmt::join(numbers.rbegin(), numbers.rend(), "."));
}

const Node* Figures::parent_of(const Node& node) const {
  const auto place = places_.find(&node);
  return place == places_.end() ? nullptr : place->second.parent;
}

}  // namespace ridgeline::editor
