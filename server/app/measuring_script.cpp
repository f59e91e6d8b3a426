#include "app/measuring_script.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "worker/embedded_sources.h"

namespace ridgeline::app {

namespace {

// Each imports only those before it.
constexpr std::array<std::string_view, 7> kModules = {
    "common.timing",          "common.failure",        "measure.operation_key",    "measure.operation_times",
    "machine.machine_limits", "common.processor_name", "measure.measure_elsewhere"};
constexpr std::string_view kArmProcessors = "profiler/runner/ridgeline_runner/common/arm_processors.json";

constexpr std::string_view kHead = R"(#!/usr/bin/env python3
"""Times operations of PyTorch on this machine, and writes them as CSV: python3 THIS_FILE --output times.csv.
Then, where Ridgeline is: ridgeline operations import times.csv --format operations.

Made by `ridgeline operations plan`. Needs Python and torch. Of a model it knows the shapes of operations only.
"""
import json
import sys
import types

PLAN = json.loads()";

constexpr std::string_view kTail = R"()
def package(name):
    if name not in sys.modules:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    return sys.modules[name]


package("ridgeline_runner")
for path, source in PLAN["modules"]:
    folder, name = path.split(".")
    module = types.ModuleType(f"ridgeline_runner.{path}")
    module.__file__ = f"{folder}/{name}.py"
    sys.modules[module.__name__] = module
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    setattr(package(f"ridgeline_runner.{folder}"), name, module)
sys.exit(sys.modules["ridgeline_runner.measure.measure_elsewhere"].main(PLAN))
)";

std::string_view text_of_file(std::string_view path) {
  const auto files = worker::embedded_files();
  const auto found = std::ranges::find(files, path, &base::EmbeddedFile::path);
  return found == files.end() ? std::string_view() : found->content;
}

std::string_view source_of(std::string_view module) {
  std::string path = "profiler/runner/ridgeline_runner/" + std::string(module) + ".py";
  path[path.find('.')] = '/';
  return text_of_file(path);
}

}  // namespace

std::string measuring_script(const std::vector<std::string>& keys, double seconds) {
  nlohmann::json modules = nlohmann::json::array();
  for (const std::string_view module : kModules) {
    modules.push_back({module, source_of(module)});
  }
  const nlohmann::json plan = {{"modules", std::move(modules)},
                               {"keys", keys},
                               {"seconds", seconds},
                               {"armProcessors", nlohmann::json::parse(text_of_file(kArmProcessors), nullptr, false)}};
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  // JSON as a JSON text in ASCII, which is a literal of Python's too.
  const std::string literal = nlohmann::json(plan.dump(-1, ' ', true, kReplace)).dump(-1, ' ', true, kReplace);
  return std::string(kHead) + literal + std::string(kTail);
}

}  // namespace ridgeline::app
