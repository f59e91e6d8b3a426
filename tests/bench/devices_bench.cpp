// How long an answer for 20 devices takes, once the steps are listed. Prints JSON.
// `ridgeline_devices_bench FOLDER [CACHE]`: where a table of operation times is made, and left; and a cache folder with
// what `ridgeline operations train` kept.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "app/profiling/step_on_devices.h"
#include "operations/table/operation_table.h"

namespace {

using namespace ridgeline;

constexpr std::size_t kDevices = 20;
constexpr int kShapes = 50;  // of each of five operators: as many distinct operations as large models have
constexpr int kRounds = 21;

std::string tensor(int rows, int columns) {
  return fmt::format("\"t:float32:{},{}:{},1:cuda\"", rows, columns, columns);
}

/// A step of about 2,000 operations, 250 distinct ones.
protocol::Captured step_of(int batch_size) {
  protocol::Captured captured;
  captured.batch_size = batch_size;
  protocol::CapturedStep& step = captured.step.emplace();
  for (int i = 0; i < kShapes; ++i) {
    const int rows = batch_size * 128;
    const int columns = 256 + 64 * i;
    const std::string x = tensor(rows, columns);
    step.keys.push_back(fmt::format(R"(["aten::mm.default",[{},{}],{{}}])", x, tensor(columns, 1024)));
    step.keys.push_back(fmt::format(R"(["aten::add.Tensor",[{},{}],{{}}])", x, x));
    step.keys.push_back(fmt::format(R"(["aten::gelu.default",[{}],{{}}])", x));
    step.keys.push_back(fmt::format(R"(["aten::_softmax.default",[{},-1,false],{{}}])", x));
    step.keys.push_back(fmt::format(R"(["aten::threshold_backward.default",[{},{},0],{{}}])", x, x));
  }
  for (int i = 0; i < 8 * static_cast<int>(step.keys.size()); ++i) {
    step.operations.push_back({.key = i % static_cast<int>(step.keys.size())});
  }
  return captured;
}

/// Times of every second operation on two devices.
bool fill(operations::OperationTable& table, const std::vector<protocol::Captured>& captured) {
  std::vector<operations::OperationTime> times;
  for (const protocol::Captured& one : captured) {
    for (std::size_t i = 0; i < one.step->keys.size(); i += 2) {
      times.push_back({.key = one.step->keys[i], .ns = 1e6, .low = 9e5, .high = 1.1e6, .samples = 3});
    }
  }
  return table.add({"Tesla T4", 1, "2.1.0"}, times, 1).has_value() &&
         table.add({"NVIDIA A100-PCIE-40GB", 1, "2.1.0"}, times, 1).has_value();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fputs("usage: ridgeline_devices_bench FOLDER [CACHE]\n", stderr);
    return 2;
  }
  auto table = operations::OperationTable::open(std::string(arguments[1]) + "/devices.sqlite");
  const std::vector<protocol::Captured> captured = {step_of(16), step_of(32), step_of(64), step_of(128)};
  auto estimators = count > 2
                        ? app::kept_estimators(arguments[2])
                        : base::Result<std::vector<operations::Estimators>>(std::vector<operations::Estimators>());
  if (!table || !fill(*table, captured) || !estimators) {
    std::fputs("the table or the estimators cannot be read\n", stderr);
    return 1;
  }
  std::vector<app::NamedDevice> devices = app::all_data_sheets();
  devices.resize(kDevices);
  std::vector<double> ms;
  for (int i = 0; i < kRounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto predicted = app::on_devices(captured, devices, *table, *estimators);
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    if (!predicted || predicted->size() != kDevices) {
      std::fputs("there is no answer\n", stderr);
      return 1;
    }
  }
  std::ranges::sort(ms);
  fmt::print(
      "[{{\"devices\": {}, \"operations\": {}, \"estimators\": {}, \"medianMs\": {:.1f}, \"worstMs\": {:.1f}}}]\n",
      kDevices, captured.front().step->operations.size(), estimators->size(), ms[kRounds / 2], ms.back());
  return 0;
}
