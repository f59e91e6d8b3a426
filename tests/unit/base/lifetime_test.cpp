#include "base/lifetime.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

namespace ridgeline::base {
namespace {

TEST(Lifetime, GuardsWhatIsDoneLater) {
  int done = 0;
  std::optional<Lifetime> lifetime(std::in_place);
  const std::function<void(int)> later = lifetime->guard([&](int by) { done += by; });
  later(2);
  EXPECT_EQ(done, 2);
  lifetime.reset();
  later(2);
  EXPECT_EQ(done, 2);
}

TEST(Lifetime, IsNotThatOfTheOneThatTakesItsPlace) {
  bool done = false;
  std::optional<Lifetime> lifetime(std::in_place);
  const std::function<void()> later = lifetime->guard([&] { done = true; });
  lifetime.emplace();
  later();
  EXPECT_FALSE(done);
}

}  // namespace
}  // namespace ridgeline::base
