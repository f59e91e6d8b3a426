#include "report/device_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "report/units.h"
#include "report/wording.h"

namespace ridgeline::report {
namespace {

using analysis::DeviceTime;
using analysis::LineCost;
using analysis::Profile;

constexpr std::size_t kShownKernels = 8;
constexpr std::size_t kShownLines = 8;
constexpr std::array<const char*, analysis::kWaitCount> kWaitLabels = {"device-bound",  "overlapped", "copying",
                                                                       "synchronising", "host-bound", "Python"};

/// Columns of both tables, as "name  time  share  and the rest".
void heading(Page& page, std::string_view name, int name_width, std::string_view rest) {
  page.line();
  page.line("  " + page.bold(left(name, name_width) + right("DEVICE", 10) + "   SHARE" + std::string(rest)));
}

std::string cells(std::string_view name, int name_width, double ms, double whole) {
  return "  " + left(clip(name, name_width - 2), name_width) + right(duration(ms), 10) +
         right(share(ratio(ms, whole)), 8);
}

void lines_table(Page& page, const Profile& profile, const Places& places, const SourceLines& source) {
  std::vector<const LineCost*> lines;
  for (const LineCost& line : profile.lines) {
    if (line.device.ms > kNegligible * profile.iteration.ms.value) {
      lines.push_back(&line);
    }
  }
  std::stable_sort(lines.begin(), lines.end(), [](auto* a, auto* b) { return a->device.ms > b->device.ms; });
  lines.resize(std::min(lines.size(), kShownLines));
  if (lines.empty()) {
    return;
  }
  const int name_width = page.width() - 2 - 18 - 36;
  heading(page, "LINE", name_width, "       TOTAL      COPIES  HOST WAITS");
  for (const LineCost* line : lines) {
    std::string code = printable(source ? source(line->location).value_or("") : "");
    code.erase(0, code.find_first_not_of(' '));
    const auto part = [](double ms) { return ms > 0 ? duration(ms) : std::string("–"); };
    page.line(
        cells(places.name(line->location) + "  " + code, name_width, line->device.ms, profile.iteration.ms.value) +
        right(part(line->device.total_ms), 12) + right(part(line->device.copy_ms), 12) +
        right(part(line->device.wait_ms), 12));
  }
}

void kernels_table(Page& page, const Profile& profile, const Places& places) {
  const std::vector<analysis::Kernel>& kernels = profile.device->kernels;
  const int name_width = page.width() - 2 - 18 - 42;
  if (!kernels.empty()) {
    heading(page, "KERNEL", name_width, "   LAUNCHES      MEAN  MOSTLY ON");
  }
  for (std::size_t i = 0; i < std::min(kernels.size(), kShownKernels); ++i) {
    const analysis::Kernel& kernel = kernels[i];
    page.line(cells(short_kernel(printable(kernel.name)), name_width, kernel.ms, profile.iteration.ms.value) +
              right(count(kernel.launches), 11) + right(duration(kernel.mean_ms), 10) + "  " +
              page.dim(clip_front(places.name(kernel.location), 19)));
  }
  if (kernels.size() > kShownKernels) {
    page.line(page.dim(fmt::format("  … {} more", kernels.size() - kShownKernels)));
  }
}

/// Where the bracket that closes the last character opens; npos when none does.
std::size_t opening_of_end(std::string_view text, char open, char close) {
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    depth += text[i] == close ? 1 : text[i] == open ? -1 : 0;
    if (depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::string short_kernel(std::string_view name) {
  if (const std::size_t clone = name.find(" [clone"); clone != std::string_view::npos) {
    name = name.substr(0, clone);
  }
  for (const auto& [open, close] : {std::pair{'(', ')'}, {'<', '>'}}) {
    const std::size_t begin = name.ends_with(close) ? opening_of_end(name, open, close) : std::string_view::npos;
    if (begin != std::string_view::npos && begin > 0) {
      name = name.substr(0, begin);
    }
  }
  // What stands before the last blank outside brackets is the return type.
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    depth += name[i] == '>' || name[i] == ')' ? 1 : name[i] == '<' || name[i] == '(' ? -1 : 0;
    if (name[i] == ' ' && depth == 0) {
      name.remove_prefix(i + 1);
      break;
    }
  }
  for (const std::string_view prefix : {"at::native::", "(anonymous namespace)::", "at::cuda::"}) {
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
    }
  }
  return std::string(name);
}

std::vector<Item> device_items(const Profile& profile) {
  if (!profile.device) {
    return {};
  }
  const DeviceTime& device = *profile.device;
  const double whole = profile.iteration.ms.value;
  std::vector<Item> items = {{"a kernel runs for", share(ratio(device.kernel_ms, whole))},
                             {"copies alone", share(ratio(device.copy_ms, whole))},
                             {"idle", device.idle_is_known() ? share(ratio(device.idle_ms, whole)) : "unknown"},
                             {"kernels launched", count(device.launches)}};
  if (device.peak_reserved_bytes) {
    items.push_back({"reserved at most", bytes(static_cast<double>(*device.peak_reserved_bytes))});
  }
  if (profile.allocator) {
    const analysis::AllocatorSetup& setup = profile.allocator->setup;
    items.push_back({fmt::format("of {} the context and others hold", bytes(static_cast<double>(setup.device_bytes))),
                     bytes(static_cast<double>(setup.device_bytes - setup.available_bytes))});
  }
  return items;
}

std::vector<Item> wait_items(const Profile& profile) {
  std::vector<Item> items;
  if (!profile.device || !profile.device->idle_is_known()) {
    return items;
  }
  for (std::size_t i = 0; i < profile.device->waits.size(); ++i) {
    const double ms = profile.device->waits[i];
    if (ms > 0) {
      items.push_back({kWaitLabels[i], share(ratio(ms, profile.iteration.ms.value))});
    }
  }
  return items;
}

void device_figures(Page& page, const Profile& profile) {
  if (!profile.device) {
    return;
  }
  page.flow("  " + page.bold(left(fmt::format("device {}", profile.device->device), kBeside - 2)), kBeside,
            device_items(profile));
  if (const std::vector<Item> waits = wait_items(profile); !waits.empty()) {
    page.flow("  " + page.bold(left("waits", kBeside - 2)), kBeside, waits);
  }
}

void device_tables(Page& page, const Profile& profile, const Places& places, const SourceLines& source) {
  if (!profile.device) {
    return;
  }
  lines_table(page, profile, places, source);
  kernels_table(page, profile, places);
}

}  // namespace ridgeline::report
