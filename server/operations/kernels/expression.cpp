#include "operations/kernels/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "operations/kernels/words.h"

namespace ridgeline::operations {

namespace {

constexpr std::size_t kMostCharacters = 400;
constexpr std::array<std::pair<std::string_view, Function>, 5> kFunctions = {{{"relu", Function::kRelu},
                                                                              {"sigmoid", Function::kSigmoid},
                                                                              {"tanh", Function::kTanh},
                                                                              {"exp", Function::kExp},
                                                                              {"gelu", Function::kGelu}}};
constexpr std::array<std::pair<char, Function>, 4> kOperators = {
    {{'+', Function::kAdd}, {'-', Function::kSubtract}, {'*', Function::kMultiply}, {'/', Function::kDivide}}};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

double computed(Function function, double left, double right) {
  switch (function) {
    case Function::kAdd:
      return left + right;
    case Function::kSubtract:
      return left - right;
    case Function::kMultiply:
      return left * right;
    default:
      return left / right;
  }
}

/// Recursive descent. The first problem ends it.
class Parser {
 public:
  Parser(std::string_view text, std::int64_t columns) : text_(text), columns_(columns) {}

  base::Result<Expression> run() {
    const Term result = sum();
    if (!problem_ && at_ < text_.size()) {
      fail("an operator is missing");
    }
    if (!problem_ && result.kind != Term::Kind::kStep) {
      fail("there is nothing to compute");
    }
    if (problem_) {
      return base::error(*problem_);
    }
    expression_.text = std::string(text_);
    return std::move(expression_);
  }

 private:
  void fail(const std::string& what) {
    if (!problem_) {
      problem_ = fmt::format("{}: {} at '{}'", in_quotes(text_), what,
                             at_ < text_.size() ? text_.substr(at_, 20) : std::string_view("its end"));
    }
  }

  void skip_spaces() { at_ = std::min(text_.find_first_not_of(' ', at_), text_.size()); }

  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    const bool is_there = peek() == c;
    at_ += is_there ? 1 : 0;
    return is_there;
  }

  void expect(char c) {
    if (!take(c)) {
      fail(fmt::format("'{}' is missing", c));
    }
  }

  Term number(double value) {
    if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) {
      fail("a number is not finite");
    }
    return {Term::Kind::kNumber, 0, value};
  }

  Term step(Function function, const Term& left, const Term& right = {}) {
    if (problem_) {
      return {};
    }
    if (left.kind == Term::Kind::kNumber && right.kind == Term::Kind::kNumber) {
      return number(computed(function, left.number, right.number));
    }
    expression_.steps.push_back({function, left, right});
    return {Term::Kind::kStep, expression_.steps.size() - 1, 0};
  }

  /// Terms of a precedence, with their operators from the left.
  template <typename Next>
  Term binary(std::string_view operators, const Next& next) {
    Term left = next();
    while (!problem_ && peek() != '\0' && operators.find(peek()) != std::string_view::npos) {
      const char sign = text_[at_++];
      const auto* found = std::ranges::find(kOperators, sign, &std::pair<char, Function>::first);
      const Term right = next();
      left = step(found->second, left, right);
    }
    return left;
  }

  Term sum() {
    return binary("+-", [this] { return binary("*/", [this] { return signed_term(); }); });
  }

  Term signed_term() {
    if (!take('-')) {
      return term();
    }
    const Term negated = signed_term();
    return step(Function::kMultiply, {Term::Kind::kNumber, 0, -1}, negated);
  }

  Term term() {
    const char c = peek();
    if (take('(')) {
      const Term inside = sum();
      expect(')');
      return inside;
    }
    if (is_digit(c) || c == '.') {
      return read_number();
    }
    if (is_letter(c)) {
      return named();
    }
    fail("an operand, a number or a function is missing");
    return {};
  }

  Term read_number() {
    double value = 0;
    const auto [end, problem] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (problem != std::errc()) {
      fail("a number cannot be read");
      return {};
    }
    const Term result = number(value);
    at_ = static_cast<std::size_t>(end - text_.data());
    return result;
  }

  Term named() {
    const auto* const first = text_.begin() + static_cast<std::ptrdiff_t>(at_);
    const std::string_view name(first, std::find_if_not(first, text_.end(), is_letter));
    const auto* found = std::ranges::find(kFunctions, name, &std::pair<std::string_view, Function>::first);
    if (found == kFunctions.end() && name.size() > 1) {
      fail("neither an operand (one letter) nor one of relu, sigmoid, tanh, exp, gelu");
      return {};
    }
    at_ += name.size();
    if (found == kFunctions.end()) {
      return operand(name.front());
    }
    expect('(');
    const Term inside = sum();
    expect(')');
    if (inside.kind == Term::Kind::kNumber) {
      fail("a function has a number instead of an operand");
    }
    return step(found->second, inside);
  }

  Term operand(char name) {
    bool is_row = false;
    if (take('[')) {
      const std::size_t end = std::min(text_.find(']', at_), text_.size());
      const auto words = words_of(text_.substr(at_, end - at_));
      const auto size = read_size(words.size() == 1 ? words.front() : "");
      if (!size || *size != columns_) {
        fail(fmt::format("a row has as many elements as the result has columns, {}", columns_));
      }
      at_ = end;
      expect(']');
      is_row = true;
    }
    const auto found = std::ranges::find(expression_.operands, name, &Operand::name);
    if (found == expression_.operands.end()) {
      expression_.operands.push_back({name, is_row});
      return {Term::Kind::kOperand, expression_.operands.size() - 1, 0};
    }
    if (found->is_row != is_row) {
      fail(fmt::format("'{}' is a row in one place and a matrix in another", name));
    }
    return {Term::Kind::kOperand, static_cast<std::size_t>(found - expression_.operands.begin()), 0};
  }

  std::string_view text_;
  std::int64_t columns_;
  std::size_t at_ = 0;
  Expression expression_;
  std::optional<std::string> problem_;
};

std::string term_text(const Expression& expression, const Term& term, std::string_view number_suffix) {
  switch (term.kind) {
    case Term::Kind::kOperand:
      return std::string(1, expression.operands[term.index].name);
    case Term::Kind::kStep:
      return fmt::format("t{}", term.index);
    default:
      return fmt::format("{:#.9g}{}", term.number, number_suffix);
  }
}

}  // namespace

base::Result<Expression> parse_expression(std::string_view text, std::int64_t columns) {
  std::string spaced;
  for (const std::string_view word : words_of(text)) {
    spaced += (spaced.empty() ? "" : " ") + std::string(word);
  }
  if (spaced.size() > kMostCharacters) {
    return base::error(fmt::format("{}: an expression has at most {} characters", in_quotes(spaced), kMostCharacters));
  }
  return Parser(spaced, columns).run();
}

std::string python_text(const Expression& expression) {
  std::string text;
  bool is_inside = false;
  for (const char c : expression.text) {
    is_inside = is_inside || c == '[';
    if (!is_inside) {
      text += c;
    }
    is_inside = is_inside && c != ']';
  }
  return text;
}

std::string step_text(const Expression& expression, const Step& step, std::string_view number_suffix) {
  const std::string left = term_text(expression, step.left, number_suffix);
  const auto* named = std::ranges::find(kFunctions, step.function, &std::pair<std::string_view, Function>::second);
  if (named != kFunctions.end()) {
    return fmt::format("{}({})", named->first, left);
  }
  const auto* sign = std::ranges::find(kOperators, step.function, &std::pair<char, Function>::second);
  return fmt::format("{} {} {}", left, sign->first, term_text(expression, step.right, number_suffix));
}

bool uses(const Expression& expression, Function function) {
  return std::ranges::find(expression.steps, function, &Step::function) != expression.steps.end();
}

}  // namespace ridgeline::operations
