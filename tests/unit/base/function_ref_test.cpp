#include "base/function_ref.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace ridgeline::base {
namespace {

int twice(FunctionRef<int(int)> function) { return function(function(1)); }

std::string text_of(FunctionRef<std::string(const std::string&)> function) { return function("a"); }

TEST(FunctionRef, CallsWhatItRefersToAndDoesNotCopyIt) {
  int calls = 0;
  auto counting = [&calls, only = std::make_unique<int>(2)](int value) mutable {
    ++calls;
    return value + (*only)++;
  };
  EXPECT_EQ(twice(counting), 6) << "1 + 2, then + 3: the state is that of the function itself";
  EXPECT_EQ(calls, 2);
}

TEST(FunctionRef, TakesConstFunctionsAndThoseThatAreKeptElsewhere) {
  const auto constant = [](const std::string& text) { return text + "b"; };
  EXPECT_EQ(text_of(constant), "ab");
  const std::function<std::string(const std::string&)> kept = constant;
  EXPECT_EQ(text_of(kept), "ab");
}

int successor(int value) { return value + 1; }

TEST(FunctionRef, TakesAFunctionByItsName) {
  EXPECT_EQ(twice(successor), 3);
  EXPECT_EQ(twice(&successor), 3) << "a pointer to it, which lives as long as the call";
}

TEST(FunctionRef, CopiesReferToTheSameFunctionAndResultsMayBeIgnored) {
  int last = 0;
  const auto set = [&last](std::unique_ptr<int> value) { return last = *value; };
  const FunctionRef<void(std::unique_ptr<int>)> first = set;
  const FunctionRef<void(std::unique_ptr<int>)> second = first;  // NOLINT(performance-unnecessary-copy-initialization)
  second(std::make_unique<int>(5));
  EXPECT_EQ(last, 5);
}

static_assert(!std::is_constructible_v<FunctionRef<int(int)>, int>, "what cannot be called is no function");

}  // namespace
}  // namespace ridgeline::base
