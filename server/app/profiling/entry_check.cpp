#include "app/profiling/entry_check.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "app/profiling/unsaved_text.h"
#include "base/path.h"
#include "source/entry_point.h"
#include "source/training_start.h"

namespace ridgeline::app {

namespace {

constexpr const char* kCounts[] = {"", "this function", "these two functions", "these three functions"};

/// "no `input_provider` and no `iteration_provider`".
std::string list_of(const std::vector<source::ProviderKind>& kinds) {
  std::string list;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    list += i == 0 ? "" : i + 1 < kinds.size() ? ", " : " and ";
    list.append("no `").append(source::name_of(kinds[i])).append("`");
  }
  return list;
}

/// A provider that is probably there under another name, and its line, counted from 1.
struct Misspelt {
  std::string hint;
  std::size_t line = 1;
};

std::optional<Misspelt> misspelt(const source::SourceTree& tree, const std::vector<source::ProviderKind>& missing) {
  const auto entry_point = source::find_entry_point(tree);
  if (!entry_point.has_value()) {
    return std::nullopt;
  }
  const auto is_meant = [&](const source::Mistake& mistake) {
    return mistake.code == "provider-missing" && mistake.related.has_value() &&
           std::ranges::find(missing, mistake.kind) != missing.end();
  };
  const auto found = std::ranges::find_if(entry_point->mistakes, is_meant);
  if (found == entry_point->mistakes.end()) {
    return std::nullopt;
  }
  const std::string name(source::slice(tree.text(), *found->related));
  return Misspelt{"Did you mean `" + std::string(source::name_of(found->kind)) + "` where it says `" + name + "`?",
                  found->line + 1};
}

}  // namespace

bool is_training_script(const std::string& path) {
  auto text = text_of(path);
  if (!text.has_value() || text->find('\0') != std::string::npos) {
    return false;
  }
  const auto tree = source::SourceTree::parse(std::move(*text));
  return tree.has_value() && !source::find_entry_point(*tree).has_value();
}

bool runs_as_script(const std::string& path, std::optional<std::string> text) {
  if (!text.has_value()) {
    text = text_of(path);
  }
  const auto tree = text.has_value() ? source::SourceTree::parse(std::move(*text)) : std::nullopt;
  return tree.has_value() && !source::find_entry_point(*tree).has_value() &&
         (source::find_training_start(*tree).has_value() || source::has_main_guard(*tree));
}

base::Result<void, RunFailure> check_entry(const Target& target, std::optional<std::string> text) {
  if (!text.has_value()) {
    text = text_of(target.entry);
  }
  if (!text.has_value()) {
    return {};
  }
  const auto tree = source::SourceTree::parse(std::move(*text));
  const auto missing = tree.has_value() ? source::undefinable_providers(*tree) : std::vector<source::ProviderKind>();
  if (missing.empty()) {
    return {};
  }
  const std::string name(base::file_name(target.entry));
  std::string message = name + " defines " + list_of(missing) + ", so it was not run. ";
  const auto meant = misspelt(*tree, missing);
  if (meant.has_value()) {
    message += meant->hint;
  } else if (missing.size() == source::kProviderKinds) {
    message +=
        "Define these three functions in it, or in a new file that imports your model from it. "
        "`ridgeline init` writes a first version of that file; `ridgeline profile` records training steps of a "
        "script as it is, without one.";
  } else {
    message.append("Define ").append(kCounts[missing.size()]).append(" in it, or import ");
    message += missing.size() == 1 ? "it." : "them.";
  }
  RunFailure failure{protocol::failure_of(protocol::FailureKind::kProviderMissing, "load", std::move(message)), ""};
  failure.frames.push_back({target.entry, meant.has_value() ? static_cast<int>(meant->line) : 1, "", ""});
  return failure;
}

}  // namespace ridgeline::app
