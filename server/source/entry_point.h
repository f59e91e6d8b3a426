// The providers of an entry file (docs/user/entry-points.md), as far as they can be seen in its text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "source/batch_size.h"
#include "source/source_tree.h"
#include "source/span_text.h"

namespace ridgeline::source {

enum class ProviderKind : std::uint8_t { kModel, kInput, kIteration };
constexpr std::size_t kProviderKinds = 3;

/// "model_provider", "input_provider", "iteration_provider".
std::string_view name_of(ProviderKind kind);

/// The statement of the file that provides one of the three.
struct Provider {
  ProviderKind kind{};
  std::string name;      ///< as written: "skyline_input_provider"
  bool defined = false;  ///< by a `def` or a lambda; else it is assigned or imported, and its signature is elsewhere
  Span name_span;        ///< the name after `def`, before `=`, or in the import
  Span definition;       ///< the whole statement, decorators included
  std::size_t line = 0;  ///< of the name
};

/// What the runner would refuse. `code` is the runner's, of docs/user/errors.md: "provider-missing",
/// "provider-duplicate", "provider-invalid", "batch-size-missing", "batch-size-invalid".
struct Mistake {
  std::string_view code;
  ProviderKind kind{};
  std::string message;   ///< what is wrong and what to do
  Span span;             ///< where to show it
  std::size_t line = 0;  ///< of the span's first byte
  /// provider-missing: the name that was probably meant to be `name_of(kind)`. provider-duplicate: the other one's.
  std::optional<Span> related;
};

struct EntryPoint {
  /// By kind: the statement that counts when several provide it (the last, of the first generation of names).
  std::array<std::optional<Provider>, kProviderKinds> providers;
  BatchSize batch_size;
  std::vector<Mistake> mistakes;  ///< in the order of the text

  const std::optional<Provider>& provider(ProviderKind kind) const { return providers[static_cast<std::size_t>(kind)]; }
};

/// Nothing when the file has none of the providers: then it is not an entry file.
///
/// What counts is what the module has after it ran: statements of the file, also inside `if`, `try`, `with` and loops,
/// but not in functions and classes, `if TYPE_CHECKING:` and `if __name__ == "__main__":`. What is uncertain is not
/// reported as a mistake: a decorator may change a signature, a star import may define a provider.
///
/// Also finds a provider that a mistake elsewhere, such as an open bracket above it, hides from the syntax tree.
/// Pure. The time depends on what is near the names of providers, not on the rest of the file.
std::optional<EntryPoint> find_entry_point(const SourceTree& tree);

/// The providers that running the file cannot give it: it is valid Python, their names occur in comments at most, it
/// imports no names that it does not mention, and it does not set names by their text (exec, globals, setattr and the
/// like). Pure.
std::vector<ProviderKind> undefinable_providers(const SourceTree& tree);

/// batch_size_edit() for the entry point's batch size.
std::optional<TextEdit> batch_size_edit(const EntryPoint& entry_point, std::uint64_t value);

}  // namespace ridgeline::source
