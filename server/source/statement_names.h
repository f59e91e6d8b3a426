// Which names a piece of Python reads, assigns and calls.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "source/syntax.h"

namespace ridgeline::source {

/// Slices of the text.
using NameSet = std::set<std::string_view>;

/// `optimizer.step(...)`: the root is "optimizer", the name "step". A plain call has no root.
struct CalledName {
  std::string_view root;
  std::string_view name;
};

struct StatementNames {
  NameSet reads;    ///< from outside of the statement's own functions, classes and comprehensions
  NameSet writes;   ///< assigned as a whole: also by `import`, `def`, `class`, `for` and `with`
  NameSet changes;  ///< assigned in part (`x.y = 1`, `x[0] = 1`), or a statement calls a method of them (`x.append(1)`)
  std::vector<CalledName> calls;  ///< in the order of the text, wherever they stand
};

/// The names in a statement or an expression. Needs no recursion; time in proportion to the node, but for a logarithm.
StatementNames names_in(const SourceTree::Content& content, Node node);

/// The first name of `a.b(c)[d].e`: "a"; empty when it begins with something else.
std::string_view root_name(const SourceTree::Content& content, Node expression);

/// The last name of what a call calls: "Conv2d" of `nn.Conv2d(...)`; empty when it is not a name.
std::string_view called_name(const SourceTree::Content& content, Node call);

}  // namespace ridgeline::source
