#include "operations/microbenchmarks/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ridgeline::operations {

namespace {

namespace baseline {  // SSE2, NEON
constexpr int kVectorBytes = 16;
#define RIDGELINE_TARGET
#include "operations/microbenchmarks/kernel_bodies.h"
#undef RIDGELINE_TARGET
}  // namespace baseline

#if defined(__x86_64__)

namespace avx2 {
constexpr int kVectorBytes = 32;
#define RIDGELINE_TARGET [[gnu::target("avx2,fma")]]
#include "operations/microbenchmarks/kernel_bodies.h"
#undef RIDGELINE_TARGET
}  // namespace avx2

namespace avx512 {
constexpr int kVectorBytes = 64;
#define RIDGELINE_TARGET [[gnu::target("avx512f,prefer-vector-width=512")]]
#include "operations/microbenchmarks/kernel_bodies.h"
#undef RIDGELINE_TARGET

/// VDPBF16PS: two products for each of sixteen sums.
[[gnu::target("avx512f,avx512bf16")]] double multiply_add_bfloat16(std::int64_t rounds, float* sink) {
  constexpr int kChains = 12;
  __m512bh left = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5F), _mm512_set1_ps(0.25F));
  __m512bh right = left;
  asm volatile("" : "+m"(left), "+m"(right));
  __m512 a = _mm512_setzero_ps();
  __m512 b = a, c = a, d = a, e = a, f = a, g = a, h = a, i = a, j = a, k = a, l = a;
  for (std::int64_t round = 0; round < rounds; ++round) {
    a = _mm512_dpbf16_ps(a, left, right);
    b = _mm512_dpbf16_ps(b, left, right);
    c = _mm512_dpbf16_ps(c, left, right);
    d = _mm512_dpbf16_ps(d, left, right);
    e = _mm512_dpbf16_ps(e, left, right);
    f = _mm512_dpbf16_ps(f, left, right);
    g = _mm512_dpbf16_ps(g, left, right);
    h = _mm512_dpbf16_ps(h, left, right);
    i = _mm512_dpbf16_ps(i, left, right);
    j = _mm512_dpbf16_ps(j, left, right);
    k = _mm512_dpbf16_ps(k, left, right);
    l = _mm512_dpbf16_ps(l, left, right);
  }
  *sink = _mm512_cvtss_f32(a + b + c + d + e + f + g + h + i + j + k + l);
  return static_cast<double>(kChains) * 16 * 2 * 2 * static_cast<double>(rounds);
}
}  // namespace avx512

#endif

Kernels choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    return {"AVX-512",
            avx512::kVectorBytes,
            avx512::multiply_add_float32,
            avx512::multiply_add_float64,
            __builtin_cpu_supports("avx512bf16") ? avx512::multiply_add_bfloat16 : nullptr,
            avx512::read,
            avx512::triad};
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {"AVX2",     avx2::kVectorBytes, avx2::multiply_add_float32, avx2::multiply_add_float64, nullptr,
            avx2::read, avx2::triad};
  }
  constexpr std::string_view kBaseline = "SSE2";
#else
  constexpr std::string_view kBaseline = "128 bits";
#endif
  return {
      kBaseline,      baseline::kVectorBytes, baseline::multiply_add_float32, baseline::multiply_add_float64, nullptr,
      baseline::read, baseline::triad};
}

#if defined(__x86_64__)
/// CPUID.(EAX=7, ECX=0).EDX, and of ECX=1 EAX: Intel's manual, volume 2.
bool cpuid_bit(unsigned subleaf, bool edx, unsigned bit) {
  unsigned eax = 7;
  unsigned ebx = 0;
  unsigned ecx = subleaf;
  unsigned found = 0;
  asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(found));
  return (((edx ? found : eax) >> bit) & 1U) != 0;
}
#endif

}  // namespace

const Kernels& kernels() {
  static const Kernels kChosen = choose();
  return kChosen;
}

bool has_matrix_units(std::string_view dtype) {
#if defined(__x86_64__)
  if (dtype == "bfloat16") {
    return cpuid_bit(0, true, 22);  // AMX-BF16
  }
  return dtype == "float16" && (cpuid_bit(1, false, 21) || cpuid_bit(0, true, 23));  // AMX-FP16, AVX512-FP16
#else
  return dtype == "bfloat16" || dtype == "float16";  // ARM's dot products and SME are not used
#endif
}

void add_chain(std::int64_t additions) {
  std::uint64_t total = 1;
  std::uint64_t step = 3;
  for (std::int64_t i = 0; i < additions; i += 8) {
    for (int k = 0; k < 8; ++k) {
      total += step;
      asm volatile("" : "+r"(total), "+r"(step));
    }
  }
}

const void* follow(const void* const* first, std::int64_t steps) {
  const void* at = first;
  for (std::int64_t i = 0; i < steps; ++i) {
    at = *static_cast<const void* const*>(at);
  }
  return at;
}

}  // namespace ridgeline::operations
