// A chain of operations on elements, such as `relu(x * y + b[1000])`, read into steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridgeline::operations {

enum class Function : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide, kRelu, kSigmoid, kTanh, kExp, kGelu };

/// An operand, the result of an earlier step, or a number.
struct Term {
  enum class Kind : std::uint8_t { kOperand, kStep, kNumber };
  Kind kind = Kind::kNumber;
  std::size_t index = 0;  ///< of the operand or of the step
  double number = 0;      ///< finite as a float32
  bool operator==(const Term&) const = default;
};

struct Step {
  Function function = Function::kAdd;
  Term left;
  Term right;  ///< of the first four functions
  bool operator==(const Step&) const = default;
};

struct Operand {
  char name = 'x';
  bool is_row = false;  ///< one row, which each row of the result takes: torch's broadcasting
  bool operator==(const Operand&) const = default;
};

struct Expression {
  std::string text;               ///< as it was written, with single spaces
  std::vector<Operand> operands;  ///< in the order of their first use; at least one
  std::vector<Step> steps;        ///< at least one; the last one is the result
  bool operator==(const Expression&) const = default;
};

/// Operands are letters, `b[COLUMNS]` is a row; +, -, *, /, parentheses, numbers, and the functions above.
/// An error names what is wrong where.
base::Result<Expression> parse_expression(std::string_view text, std::int64_t columns);

/// Without the sizes of rows: an expression of Python.
std::string python_text(const Expression& expression);

/// "x * t0", "relu(t1)": t0 is the first step. Valid in Python and, with the suffix "f" of numbers, in C++.
std::string step_text(const Expression& expression, const Step& step, std::string_view number_suffix);

bool uses(const Expression& expression, Function function);

}  // namespace ridgeline::operations
