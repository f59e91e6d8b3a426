// Included once for each instruction set, in a namespace of its own, with RIDGELINE_TARGET, the attribute of its
// functions, and kVectorBytes.

using Floats [[gnu::vector_size(kVectorBytes)]] = float;
using Doubles [[gnu::vector_size(kVectorBytes)]] = double;

// Twelve chains: two multiply-adds a cycle of four to five cycles each need eight to ten, and sixteen registers are all
// that the smaller instruction sets have.
#define RIDGELINE_CHAINS(step) \
  step(0) step(1) step(2) step(3) step(4) step(5) step(6) step(7) step(8) step(9) step(10) step(11)

#define RIDGELINE_MULTIPLY_ADD(name, Vector, Element)                               \
  RIDGELINE_TARGET double name(std::int64_t rounds, float* sink) {                  \
    Vector factor = Vector{} + Element(0.999F);                                     \
    Vector added = Vector{} + Element(0.001F);                                      \
    asm volatile("" : "+m"(factor), "+m"(added)); /* not known when compiled */     \
    RIDGELINE_CHAINS(RIDGELINE_BEGIN_##Vector)                                      \
    for (std::int64_t i = 0; i < rounds; ++i) {                                     \
      RIDGELINE_CHAINS(RIDGELINE_STEP)                                              \
    }                                                                               \
    Vector total = Vector{};                                                        \
    RIDGELINE_CHAINS(RIDGELINE_TAKE)                                                \
    *sink = static_cast<float>(total[0]);                                           \
    return 12.0 * 2 * kVectorBytes / sizeof(Element) * static_cast<double>(rounds); \
  }

#define RIDGELINE_BEGIN_Floats(n) Floats chain##n = added * (float(n) + 1.0F);
#define RIDGELINE_BEGIN_Doubles(n) Doubles chain##n = added * (double(n) + 1.0);
#define RIDGELINE_STEP(n) chain##n = chain##n * factor + added;
#define RIDGELINE_TAKE(n) total += chain##n;

RIDGELINE_MULTIPLY_ADD(multiply_add_float32, Floats, float)
RIDGELINE_MULTIPLY_ADD(multiply_add_float64, Doubles, double)

#undef RIDGELINE_TAKE
#undef RIDGELINE_STEP
#undef RIDGELINE_BEGIN_Doubles
#undef RIDGELINE_BEGIN_Floats
#undef RIDGELINE_MULTIPLY_ADD
#undef RIDGELINE_CHAINS

RIDGELINE_TARGET void read(const float* data, std::size_t count, float* sink) {
  const auto* vectors = reinterpret_cast<const Floats*>(data);
  const std::size_t end = count / (kVectorBytes / sizeof(float));
  Floats a = Floats{};
  Floats b = Floats{};
  Floats c = Floats{};
  Floats d = Floats{};
  for (std::size_t i = 0; i < end; i += 8) {
    a += vectors[i];
    b += vectors[i + 1];
    c += vectors[i + 2];
    d += vectors[i + 3];
    a += vectors[i + 4];
    b += vectors[i + 5];
    c += vectors[i + 6];
    d += vectors[i + 7];
  }
  const Floats total = a + b + c + d;
  *sink = total[0];
}

RIDGELINE_TARGET void triad(float* a, const float* b, const float* c, std::size_t count) {
  auto* to = reinterpret_cast<Floats*>(a);
  const auto* from = reinterpret_cast<const Floats*>(b);
  const auto* scaled = reinterpret_cast<const Floats*>(c);
  const std::size_t end = count / (kVectorBytes / sizeof(float));
  for (std::size_t i = 0; i < end; i += 2) {
    to[i] = from[i] + scaled[i] * 3.0F;
    to[i + 1] = from[i + 1] + scaled[i + 1] * 3.0F;
  }
}
