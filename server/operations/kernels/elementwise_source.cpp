#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "operations/kernels/elementwise_plan.h"
#include "operations/kernels/kernel_source.h"

namespace ridgeline::operations {

namespace {

constexpr std::string_view kBounds = R"code(
typedef int Integers __attribute__((vector_size(kVector * 4), aligned(4), may_alias));

inline Vector all(float value) { return Vector{} + value; }
inline Vector bounded(Vector x, float least, float most) {
  x = x < least ? all(least) : x;
  return x > most ? all(most) : x;
}
)code";

constexpr std::string_view kRelu = R"code(
inline Vector relu(Vector x) { return x < 0.0f ? Vector{} : x; }
)code";

// exp is the polynomial of Cephes' expf; tanh and erf are Eigen's rational approximations.
constexpr std::string_view kExp = R"code(
// 2^n e^r with n an integer and |r| <= log(2) / 2; in two factors, since 2^n may be no normal number.
inline Vector exp(Vector x) {
  x = bounded(x, -104.0f, 89.0f);
  const Vector shifted = x * 1.44269504f + 12582912.0f;
  const Vector n = shifted - 12582912.0f;
  const Integers power = (Integers)shifted - 0x4B400000;
  const Integers half = power >> 1;
  const Vector r = x - n * 0.693359375f + n * 2.12194440e-4f;
  Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  return p * (Vector)((half + 127) << 23) * (Vector)((power - half + 127) << 23);
}
)code";

constexpr std::string_view kSigmoid = R"code(
inline Vector sigmoid(Vector x) { return 1.0f / (1.0f + exp(-x)); }
)code";

constexpr std::string_view kTanh = R"code(
inline Vector tanh(Vector x) {
  const Vector near = bounded(x, -7.90531110763549805f, 7.90531110763549805f);
  const Vector s = near * near;
  Vector p = s * -2.76076847742355e-16f + 2.00018790482477e-13f;
  p = p * s + -8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  Vector q = s * 1.19825839466702e-06f + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  return s < 1.6e-7f ? x : near * p / q;
}
)code";

constexpr std::string_view kGelu = R"code(
inline Vector gelu(Vector x) {
  const Vector near = bounded(x * 0.707106781f, -4.0f, 4.0f);
  const Vector s = near * near;
  Vector p = s * -2.72614225801306e-10f + 2.77068142495902e-08f;
  p = p * s + -2.10102402082508e-06f;
  p = p * s + -5.69250639462346e-05f;
  p = p * s + -7.34990630326855e-04f;
  p = p * s + -2.95459980854025e-03f;
  p = p * s + -1.60960333262415e-02f;
  Vector q = s * -1.45660718464996e-05f + -2.13374055278905e-04f;
  q = q * s + -1.68282697438203e-03f;
  q = q * s + -7.37332916720468e-03f;
  q = q * s + -1.42647390514189e-02f;
  return 0.5f * x * (1.0f + near * p / q);  // near * p / q is erf
}
)code";

constexpr std::string_view kLoops = R"code(
template <long Count>
inline void compute(@POINTERS@, float* __restrict result) {
@STEPS@}

// Columns from `j` to `end` of one row.
inline void row(@POINTERS@, float* __restrict result, long j, long end) {
  for (; j + kStepColumns <= end; j += kStepColumns) {
#pragma GCC unroll 8
    for (long i = j; i < j + kStepColumns; i += kVector) compute<kVector>(@AT_I@, result + i);
  }
  for (; j + kVector <= end; j += kVector) compute<kVector>(@AT_J@, result + j);
  if constexpr (kColumns % kVector > 0) {
    if (j < end) compute<kColumns % kVector>(@AT_J@, result + j);
  }
}

}  // namespace

extern "C" int ridgeline_elementwise(@POINTERS@, float* __restrict result) {
#if RIDGELINE_PARALLEL
#pragma omp parallel for num_threads(kThreads)
#endif
  for (long part = 0; part < kRowParts * kColumnParts; ++part) {
    const long first = part / kColumnParts * kPartRows;
    const long columns_end = smaller(kColumns, (part % kColumnParts + 1) * kPartColumns);
    for (long j = part % kColumnParts * kPartColumns; j < columns_end; j += kColumnBlock)
      for (long i = first; i < smaller(kRows, first + kPartRows); ++i)
        row(@AT_ROW@, result + i * kColumns, j, smaller(columns_end, j + kColumnBlock));
  }
  return 0;
}
)code";

std::string functions(const Expression& expression) {
  const bool sigmoid = uses(expression, Function::kSigmoid);
  const bool exp = sigmoid || uses(expression, Function::kExp);
  const bool tanh = uses(expression, Function::kTanh);
  const bool gelu = uses(expression, Function::kGelu);
  const std::array<std::pair<bool, std::string_view>, 6> all = {{{uses(expression, Function::kRelu), kRelu},
                                                                 {exp || tanh || gelu, kBounds},
                                                                 {exp, kExp},
                                                                 {sigmoid, kSigmoid},
                                                                 {tanh, kTanh},
                                                                 {gelu, kGelu}}};
  std::string text(kLoadFunction);
  for (const auto& [is_used, function] : all) {
    text += is_used ? function : "";
  }
  return text;
}

/// The operands' names, each written as `form` says, separated by commas.
template <typename Form>
std::string operand_list(const Expression& expression, const Form& form) {
  std::string text;
  for (const Operand& operand : expression.operands) {
    text += (text.empty() ? "" : ", ") + form(operand);
  }
  return text;
}

std::string steps(const Expression& expression) {
  std::string text;
  for (const Operand& operand : expression.operands) {
    text += fmt::format("  const Vector {0} = load<Count>({0}_at);\n", operand.name);
  }
  for (std::size_t i = 0; i < expression.steps.size(); ++i) {
    text += fmt::format("  const Vector t{} = {};\n", i, step_text(expression, expression.steps[i], "f"));
  }
  return text + fmt::format("  __builtin_memcpy(result, &t{}, Count * 4);\n", expression.steps.size() - 1);
}

}  // namespace

std::string elementwise_source(const ElementwisePlan& plan) {
  const Expression& expression = plan.shape.expression;
  const auto at = [&](std::string_view index) {
    return operand_list(expression, [&](const Operand& one) { return fmt::format("{}_at + {}", one.name, index); });
  };
  std::string text = beginning(elementwise_text(plan.shape), plan.threads > 1,
                               {{"kRows", plan.rows},
                                {"kColumns", plan.columns},
                                {"kVector", plan.vector_elements},
                                {"kStepColumns", plan.step_columns()},
                                {"kColumnBlock", plan.column_block},
                                {"kThreads", plan.threads},
                                {"kRowParts", plan.row_parts},
                                {"kColumnParts", plan.column_parts},
                                {"kPartRows", plan.part_rows()},
                                {"kPartColumns", plan.part_columns()}});
  text += functions(expression) + std::string(kLoops);
  replace_all(text, "@POINTERS@", operand_list(expression, [](const Operand& one) {
                return fmt::format("const float* __restrict {}_at", one.name);
              }));
  replace_all(text, "@STEPS@", steps(expression));
  replace_all(text, "@AT_I@", at("i"));
  replace_all(text, "@AT_J@", at("j"));
  replace_all(text, "@AT_ROW@", operand_list(expression, [](const Operand& one) {
                return fmt::format("{}_at{}", one.name, one.is_row ? "" : " + i * kColumns");
              }));
  return text;
}

}  // namespace ridgeline::operations
