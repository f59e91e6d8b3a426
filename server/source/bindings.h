// Every statement of a file that gives a provider's name a value.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "source/default_value.h"
#include "source/entry_point.h"
#include "source/source_tree.h"

namespace ridgeline::source {

enum class BindingForm : std::uint8_t {
  kFunction,
  kLambda,
  kElsewhere,    ///< a call, an import, a class: something that may be callable
  kNotCallable,  ///< a literal, a module
};

struct Binding {
  ProviderKind kind{};
  std::size_t generation = 0;
  std::string name;
  BindingForm form{};
  bool nested = false;  ///< in a branch or a loop, so that it may not run
  bool decorated = false;
  bool asynchronous = false;
  Span name_span;
  Span definition;
  std::string value;        ///< kNotCallable: what it is, "an integer"
  DefaultValue batch_size;  ///< of an input provider that is a function or a lambda
};

/// A text that names providers more often than this is not an entry file. Each name is looked up in the tree.
constexpr std::size_t kMaxProviderNames = 1024;

struct Bindings {
  std::vector<Binding> list;  ///< in the order of the text
  /// By kind: whether any of its names occurs in the text, also in comments and in what is not Python.
  std::array<bool, kProviderKinds> mentioned{};
  bool complete = true;  ///< false: there are more than kMaxProviderNames, and these are the first
};

/// Those that the syntax tree contains; hidden_definition.h adds the others. Only statements that name a provider are
/// visited; the rest of the file takes no time.
Bindings visible_bindings(const SourceTree& tree);

/// By kind: whether any of its names occurs outside of comments. Visits the nodes around each of the names.
std::array<bool, kProviderKinds> named_in_code(const SourceTree& tree);

/// The names of the functions at the top level of the file. Visits all statements of the top level.
std::vector<Span> top_functions(const SourceTree& tree);

/// Whether the file imports names that it does not mention: `from x import *`.
bool has_star_import(const SourceTree& tree);

}  // namespace ridgeline::source
