#include "source/entry_point.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "base/text.h"
#include "source/bindings.h"
#include "source/default_value.h"
#include "source/hidden_definition.h"
#include "source/provider_names.h"
#include "source/syntax.h"

namespace ridgeline::source {

namespace {

constexpr std::array<ProviderKind, kProviderKinds> kKinds = {ProviderKind::kModel, ProviderKind::kInput,
                                                             ProviderKind::kIteration};

/// The bindings of one name, in the order of the text; never empty.
using SameName = std::vector<const Binding*>;

/// Whether only the run knows which of them counts.
bool depends_on_run(const SameName& bindings) { return bindings.back()->nested && bindings.size() > 1; }

bool can_be_called(const SameName& bindings) {
  return depends_on_run(bindings) || bindings.back()->form != BindingForm::kNotCallable;
}

bool has_signature(const Binding& binding) {
  return binding.form == BindingForm::kFunction || binding.form == BindingForm::kLambda;
}

/// What is known of one of the three providers.
class Finder {
 public:
  Finder(const SourceTree& tree, const Bindings& bindings, EntryPoint& result)
      : tree_(tree), bindings_(bindings), result_(result) {}

  void find(ProviderKind kind) {
    kind_ = kind;
    by_generation_.clear();
    for (const Binding& binding : bindings_.list) {
      if (binding.kind == kind) {
        by_generation_[binding.generation].push_back(&binding);
      }
    }
    if (by_generation_.empty()) {
      missing();
      return;
    }
    duplicates();
    const auto chosen =
        std::ranges::find_if(by_generation_, [](const auto& entry) { return can_be_called(entry.second); });
    if (chosen == by_generation_.end()) {
      const Binding& binding = *by_generation_.begin()->second.back();
      add("provider-invalid", "`" + binding.name + "` must be a function, and is " + binding.value + ".",
          binding.name_span);
      choose(by_generation_.begin()->second);
    } else {
      choose(chosen->second);
    }
  }

 private:
  void add(std::string_view code, std::string message, Span span, std::optional<Span> related = std::nullopt) {
    result_.mistakes.push_back({code, kind_, std::move(message), span, tree_.lines().line_of(span.begin), related});
  }

  /// Counted from 1, for messages.
  std::string line_of(const Binding& binding) const {
    return std::to_string(tree_.lines().line_of(binding.name_span.begin) + 1);
  }

  void choose(const SameName& bindings) {
    const Binding& binding = *bindings.back();
    result_.providers[static_cast<std::size_t>(kind_)] = Provider{kind_,
                                                                  binding.name,
                                                                  has_signature(binding),
                                                                  binding.name_span,
                                                                  binding.definition,
                                                                  tree_.lines().line_of(binding.name_span.begin)};
    const bool certain = !depends_on_run(bindings) && !binding.decorated;
    if (binding.asynchronous && certain) {
      add("provider-invalid", "`" + binding.name + "` is an `async def`. Write it as a plain `def`.",
          binding.name_span);
    }
    if (kind_ == ProviderKind::kInput) {
      batch_size(bindings, certain);
    }
  }

  void batch_size(const SameName& bindings, bool certain) {
    const Binding& binding = *bindings.back();
    if (depends_on_run(bindings)) {
      result_.batch_size.obstacle = BatchSizeObstacle::kSeveral;
    } else if (has_signature(binding)) {
      const auto& [found, mistake, message] = binding.batch_size;
      result_.batch_size = read_constant(tree_.content(), found).value_or(found);
      if (!mistake.empty() && certain) {
        add(mistake, message, found.literal == Span{} ? binding.name_span : found.literal);
      }
    }
  }

  /// As _refuse_duplicates in entry.py.
  void duplicates() {
    for (const auto& [generation, bindings] : by_generation_) {
      SameName functions;
      std::ranges::copy_if(bindings, std::back_inserter(functions), [](const Binding* binding) {
        return binding->form == BindingForm::kFunction && !binding->nested;
      });
      if (functions.size() > 1 && can_be_called(bindings)) {
        const Binding& first = *functions.front();
        const Binding& last = *functions.back();
        add("provider-duplicate",
            "`" + last.name + "` is defined twice, in lines " + line_of(first) + " and " + line_of(last) +
                ". Remove one.",
            last.name_span, first.name_span);
        return;
      }
    }
    std::vector<const Binding*> certain;  // other forms may well be second names of the same function
    for (const auto& [generation, bindings] : by_generation_) {
      if (bindings.size() == 1 && has_signature(*bindings.front()) && !bindings.front()->nested) {
        certain.push_back(bindings.front());
      }
    }
    if (certain.size() > 1) {
      std::ranges::sort(certain, {}, [](const Binding* binding) { return binding->name_span.begin; });
      const Binding& first = *certain.front();
      const Binding& last = *certain.back();
      add("provider-duplicate",
          "`" + first.name + "` (line " + line_of(first) + ") and `" + last.name + "` (line " + line_of(last) +
              ") are two definitions of one provider. Remove one.",
          last.name_span, first.name_span);
    }
  }

  void missing() {
    const bool uncertain = tree_.content().has_error() && bindings_.mentioned[static_cast<std::size_t>(kind_)];
    if (uncertain || has_star_import(tree_)) {
      return;
    }
    std::optional<Span> close;
    for (const Span name : top_functions(tree_)) {
      const std::string_view text = slice(tree_.text(), name);
      if (!provider_named(text).has_value() && resembles_provider(text, kind_)) {
        close = name;
        break;
      }
    }
    const std::string name(name_of(kind_));
    std::string message = "This file defines no `" + name + "`. ";
    message += close.has_value()
                   ? "Did you mean `" + name + "` where it says `" + std::string(slice(tree_.text(), *close)) + "`?"
                   : "Define it, or import it.";
    add("provider-missing", std::move(message), close.value_or(bindings_.list.front().name_span), close);
  }

  const SourceTree& tree_;
  const Bindings& bindings_;
  EntryPoint& result_;
  ProviderKind kind_{};
  std::map<std::size_t, SameName> by_generation_;  ///< in the order in which the runner looks for them
};

}  // namespace

std::optional<EntryPoint> find_entry_point(const SourceTree& tree) {
  Bindings bindings = visible_bindings(tree);
  if (bindings.complete && tree.content().has_error()) {
    add_hidden_definitions(tree, bindings);
  }
  if (bindings.list.empty() || !bindings.complete) {
    return std::nullopt;
  }
  EntryPoint entry_point;
  entry_point.batch_size.obstacle = BatchSizeObstacle::kElsewhere;
  Finder finder(tree, bindings, entry_point);
  for (const ProviderKind kind : kKinds) {
    finder.find(kind);
  }
  std::ranges::stable_sort(entry_point.mistakes, {}, [](const Mistake& mistake) { return mistake.span.begin; });
  return entry_point;
}

std::vector<ProviderKind> undefinable_providers(const SourceTree& tree) {
  constexpr auto kSettersOfNames = std::to_array<std::string_view>(
      {"exec(", "execfile(", "globals(", "locals(", "vars(", "setattr(", "__dict__", "__getattr__"});
  const Bindings bindings = visible_bindings(tree);
  const auto occurs = [&](std::string_view setter) { return base::contains(tree.text(), setter); };
  std::vector<ProviderKind> kinds;
  if (tree.content().has_error() || !bindings.complete || has_star_import(tree) ||
      std::ranges::any_of(kSettersOfNames, occurs)) {
    return kinds;
  }
  const std::array<bool, kProviderKinds> named = named_in_code(tree);
  std::ranges::copy_if(kKinds, std::back_inserter(kinds),
                       [&](ProviderKind kind) { return !named[static_cast<std::size_t>(kind)]; });
  return kinds;
}

std::optional<TextEdit> batch_size_edit(const EntryPoint& entry_point, std::uint64_t value) {
  return batch_size_edit(entry_point.batch_size, value);
}

}  // namespace ridgeline::source
