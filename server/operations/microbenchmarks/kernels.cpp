#include "operations/microbenchmarks/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
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
  __m512 sums[kChains] = {};  // NOLINT: all in registers, once the loops over them are unrolled
#pragma GCC unroll 12
  for (__m512& sum : sums) {
    asm volatile("" : "+v"(sum));  // equal ones would be computed once
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (__m512& sum : sums) {
      sum = _mm512_dpbf16_ps(sum, left, right);
    }
  }
  __m512 total = _mm512_setzero_ps();
#pragma GCC unroll 12
  for (const __m512& sum : sums) {
    total += sum;
  }
  *sink = _mm512_cvtss_f32(total);
  return static_cast<double>(kChains) * 16 * 2 * 2 * static_cast<double>(rounds);
}
}  // namespace avx512

#elif defined(__aarch64__)

/// BFMMLA: the products of two matrices of two rows and four columns, added to four sums. SVE's does not do more in a
/// cycle: its registers have 128 bits, too, or 256 and half as many units.
[[gnu::target("arch=armv8.6-a")]] double multiply_add_bfloat16(std::int64_t rounds, float* sink) {
  constexpr int kChains = 20;
  bfloat16x8_t left = vdupq_n_bf16(vcvth_bf16_f32(0.5F));
  bfloat16x8_t right = left;
  asm volatile("" : "+w"(left), "+w"(right));
  float32x4_t sums[kChains] = {};  // NOLINT: all in registers, once the loop over them is unrolled
#pragma GCC unroll 20
  for (float32x4_t& sum : sums) {
    asm volatile("" : "+w"(sum));  // equal ones would be computed once
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 20
    for (float32x4_t& sum : sums) {
      sum = vbfmmlaq_f32(sum, left, right);
    }
  }
  float32x4_t total = vdupq_n_f32(0);
  for (const float32x4_t& sum : sums) {
    total = vaddq_f32(total, sum);
  }
  *sink = vaddvq_f32(total);
  return static_cast<double>(kChains) * 4 * 4 * 2 * static_cast<double>(rounds);
}

#endif

Kernels choose() {
  decltype(Kernels::multiply_add_bfloat16) bfloat16 = nullptr;
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
#elif defined(__aarch64__)
  constexpr std::string_view kBaseline = "NEON";
  if ((::getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0) {
    bfloat16 = multiply_add_bfloat16;
  }
#else
  constexpr std::string_view kBaseline = "128 bits";
#endif
  return {
      kBaseline,      baseline::kVectorBytes, baseline::multiply_add_float32, baseline::multiply_add_float64, bfloat16,
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
#elif defined(__aarch64__)
  return dtype == "float16" && (::getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0;
#else
  return dtype == "bfloat16" || dtype == "float16";
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
