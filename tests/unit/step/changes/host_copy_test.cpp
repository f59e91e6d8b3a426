#include "step/changes/host_copy.h"

#include <gtest/gtest.h>

namespace ridgeline::step {
namespace {

TEST(HostCopy, IsAwaitedUnlessItMustNotBlock) {
  EXPECT_EQ(host_copy(R"(["aten::copy_.default",["t:float32:4:1:pinned","t:float32:4:1:cuda"],{}])"),
            HostCopy::kAwaited);
  EXPECT_EQ(host_copy(R"(["aten::copy_.default",["t:float32:4:1:cuda","t:float32:4:1",false],{}])"),
            HostCopy::kAwaited);
  EXPECT_EQ(host_copy(R"(["aten::copy_.default",["t:float32:4:1:pinned","t:float32:4:1:cuda",true],{}])"),
            HostCopy::kLaunched);
  EXPECT_EQ(host_copy(R"(["aten::_to_copy.default",["t:float32:4:1:cuda"],{"device":"v:device:cpu"}])"),
            HostCopy::kAwaited);
  EXPECT_EQ(host_copy(R"(["aten::_to_copy.default",["t:float32:4:1:pinned"],)"
                      R"({"dtype":"d:float32","device":"v:device:cuda:0","non_blocking":true}])"),
            HostCopy::kLaunched);
}

TEST(HostCopy, IsBetweenAHostAndADevice) {
  for (const char* key : {R"(["aten::copy_.default",["t:float32:4:1:cuda","t:float16:4:1:cuda"],{}])",
                          R"(["aten::copy_.default",["t:float32:4:1:pinned","t:float32:4:1"],{}])",
                          R"(["aten::_to_copy.default",["t:float32:4:1:cuda"],{"dtype":"d:float16"}])",
                          R"(["aten::_to_copy.default",["t:float32:4:1:cuda"],{"device":"v:device:cuda:0"}])",
                          R"(["aten::add.Tensor",["t:float32:4:1:cuda","t:float32:4:1"],{}])",
                          R"(["aten::copy_.default",["t:float32:4:1:cuda)", R"(["aten::copy_.)", ""}) {
    EXPECT_EQ(host_copy(key), HostCopy::kNone) << key;
  }
}

}  // namespace
}  // namespace ridgeline::step
