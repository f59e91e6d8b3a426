#include "worker/versions.h"

#include <algorithm>
#include <cstdio>
#include <regex>
#include <utility>

namespace ridgeline::worker {

namespace {

/// The minor versions of CPython 3 that profiler/agent/frames_3NN.h describe.
constexpr int kOldestPython = 10;
constexpr int kNewestPython = 14;

/// The minor versions of torch that `./dev matrix` runs: docs/dev/compatibility.md.
using TorchMinor = std::pair<int, int>;
constexpr TorchMinor kOldestTorch = {2, 4};
constexpr TorchMinor kNewestTorch = {2, 15};

/// torch/utils/cpp_extension.py: 2.9 builds extensions as C++17, 2.13 as C++20, and 2.15 no longer compiles as C++17.
constexpr TorchMinor kLastCpp17Torch = {2, 9};

std::string python_range() {
  return "CPython 3." + std::to_string(kOldestPython) + " to 3." + std::to_string(kNewestPython);
}

std::string torch_range() {
  return "torch " + std::to_string(kOldestTorch.first) + "." + std::to_string(kOldestTorch.second) + " to " +
         std::to_string(kNewestTorch.first) + "." + std::to_string(kNewestTorch.second);
}

/// Nothing when the version does not begin with two numbers.
std::optional<TorchMinor> minor_of(const std::string& version) {
  TorchMinor minor;
  if (std::sscanf(version.c_str(), "%4d.%4d", &minor.first, &minor.second) != 2) {  // NOLINT(cert-err34-c): bounded
    return std::nullopt;
  }
  return minor;
}

/// The ABI flags in a tag such as `cpython-313td-x86_64-linux-gnu`: `td`.
std::string abi_flags(const std::string& python_tag) {
  const std::size_t dash = std::min(python_tag.find('-'), python_tag.size());
  const std::string version = python_tag.substr(dash, python_tag.find('-', dash + 1) - dash);
  return version.substr(std::min(version.find_last_of("-0123456789") + 1, version.size()));
}

protocol::Failure unsupported(protocol::FailureKind kind, const std::string& message) {
  return protocol::failure_of(kind, "start", message);
}

}  // namespace

std::string built_for(const std::string& torch) {
  static const std::regex release(R"((\d+\.\d+)\.\d+(\+(cpu|cu\d+|rocm[0-9.]+|xpu))?)");
  std::smatch match;
  return std::regex_match(torch, match, release) ? match[1].str() : torch;
}

std::optional<protocol::Failure> unsupported(const protocol::WorkerEnvironment& environment) {
  const std::string python = environment.implementation + " " + environment.python;
  if (environment.implementation != "CPython" || environment.python_minor < kOldestPython ||
      environment.python_minor > kNewestPython) {
    return unsupported(protocol::FailureKind::kPythonUnsupported, "Ridgeline cannot read the stack frames of " +
                                                                      python + ". It works with " + python_range() +
                                                                      ": name another interpreter with --python.");
  }
  const std::string flags = abi_flags(environment.python_tag);
  if (!flags.empty()) {
    const std::string build = flags.find('t') != std::string::npos ? "free-threaded" : "debug";
    return unsupported(protocol::FailureKind::kPythonUnsupported,
                       "Ridgeline cannot read the objects of a " + build + " build of " + python +
                           ". It works with the usual build of " + python_range() +
                           ": name another interpreter with --python.");
  }
  const std::optional<TorchMinor> torch = minor_of(environment.torch);
  if (torch.has_value() && *torch < kOldestTorch) {
    return unsupported(protocol::FailureKind::kTorchUnsupported,
                       "torch " + environment.torch + " is too old. Ridgeline works with " + torch_range() +
                           ": install one of these, or name another interpreter with --python.");
  }
  return std::nullopt;
}

std::string untested_torch(const protocol::WorkerEnvironment& environment) {
  const std::optional<TorchMinor> torch = minor_of(environment.torch);
  if (torch.has_value() && *torch <= kNewestTorch) {
    return {};
  }
  return "This version of Ridgeline was tested with " + torch_range() + ", and not with torch " + environment.torch +
         ".";
}

std::string cpp_standard(const protocol::WorkerEnvironment& environment) {
  const std::optional<TorchMinor> torch = minor_of(environment.torch);
  return torch.has_value() && *torch <= kLastCpp17Torch ? "c++17" : "c++20";
}

}  // namespace ridgeline::worker
