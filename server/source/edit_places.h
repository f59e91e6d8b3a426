// Where in a text edits of it go: nodes by what they are, calls by what they call, lines by how they begin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "source/source_tree.h"
#include "source/span_text.h"
#include "source/syntax.h"

namespace ridgeline::source {

/// In the order of the text; or why there are none, a sentence.
using Edits = base::Result<std::vector<TextEdit>>;

/// Nodes that match, in the order of the text.
std::vector<Node> nodes_in(Node root, base::FunctionRef<bool(Node)> matches);

bool is_call(Node node);
bool is_trivia(Node node);

/// The last part of what is called: "SGD" of `torch.optim.SGD(...)`.
std::string_view callee_name(const SourceTree::Content& content, Node call);

/// The blanks that the line of `offset` begins with.
std::string_view indentation_at(const SourceTree::Content& content, std::size_t offset);

std::string_view line_end_of(const SourceTree::Content& content);

bool begins_line(const SourceTree::Content& content, std::size_t offset);

/// Whether nothing else stands on the lines of what is in `span`, before it or behind it.
bool has_lines_of_its_own(const SourceTree::Content& content, Span span);

/// The arguments of an `argument_list`, in order.
std::vector<Node> arguments_of(Node list);

/// The arguments of a call, in order, where there are some and all are written there; or why they cannot be
/// edited, a sentence.
base::Result<std::vector<Node>> written_arguments(const SourceTree::Content& content, Node call);

/// The keyword argument of that name among these; none: there is none.
Node keyword_argument(const SourceTree::Content& content, const std::vector<Node>& arguments, std::string_view name);

/// Adds an argument behind the last one of the call, as those before it are laid out.
TextEdit argument_added(const SourceTree::Content& content, Node call, const std::string& argument);

/// Whether the file has `import torch`.
bool imports_torch(const SourceTree::Content& content);

}  // namespace ridgeline::source
