#include "report/device_description.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "operations/device/device_file.h"
#include "report/units.h"

namespace ridgeline::report {

namespace {

using operations::Device;
using operations::Figure;
using operations::FigureSource;
using operations::Rate;

/// "274 GFLOP/s".
std::string per_second(double value, std::string_view unit) {
  constexpr std::array<std::pair<double, std::string_view>, 4> kPrefixes = {
      {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}}};
  for (const auto& [scale, prefix] : kPrefixes) {
    if (value >= scale) {
      return fmt::format("{} {}{}/s", figure(value / scale), prefix, unit);
    }
  }
  return fmt::format("{} {}/s", figure(value), unit);
}

std::string source_note(FigureSource source) {
  return source == FigureSource::kMeasured ? "" : fmt::format("  ({})", operations::source_name(source));
}

std::string rate_row(std::string_view name, std::string_view size, const Rate& rate, std::string_view unit) {
  return fmt::format("  {:<14}{:>10}{:>16}{:>16}{}\n", name, size,
                     rate.one_unit ? per_second(rate.one_unit->value, unit) : "–", per_second(rate.all.value, unit),
                     source_note(rate.all.source));
}

std::string heading(std::string_view name, const Device& device, std::string_view size) {
  const std::string_view unit = device.kind == operations::DeviceKind::kCpu ? "core" : "unit";
  return fmt::format("{:<16}{:>10}{:>16}{:>16}\n", name, size, fmt::format("1 {}", unit),
                     fmt::format("{} {}s", device.compute_units, unit));
}

std::string figure_line(std::string_view name, const std::optional<Figure>& value, double scale,
                        std::string_view unit) {
  return value ? fmt::format("{:<16}{} {}{}\n", name, figure(value->value * scale), unit, source_note(value->source))
               : std::string();
}

}  // namespace

std::string text_device(const Device& device) {
  std::string text = fmt::format("{}\n\n", printable(device.name));
  text += figure_line("Clock", device.clock_hz, 1e-9, "GHz");
  text += fmt::format("{:<16}{:.0f} bits\n", "Vectors", device.vector_bytes * 8);
  if (device.memory_capacity_bytes) {
    text += fmt::format("{:<16}{}{}\n", "Memory", bytes(device.memory_capacity_bytes->value),
                        source_note(device.memory_capacity_bytes->source));
  }
  text += figure_line("Latency", device.memory_latency_ns, 1, "ns, a load from the memory");
  text += figure_line("Launch", device.launch_ns, 1e-3, "µs");
  text += figure_line("Power", device.power_w, 1, "W");
  text += "\n" + heading("Peak", device, "");
  for (const operations::Peak& peak : device.peaks) {
    text += rate_row(printable(peak.dtype), "", peak.flop_per_s, "FLOP");
  }
  text += "\n" + heading("Bandwidth", device, "size");
  for (const operations::MemoryLevel& level : device.levels) {
    const std::string size = bytes(level.capacity_bytes);
    text += level.bytes_per_s
                ? rate_row(printable(level.name), size, *level.bytes_per_s, "B")
                : fmt::format("  {:<14}{:>10}{:>16}{:>16}\n", printable(level.name), size, "–", "not known");
  }
  if (device.stream_triad_bytes_per_s) {
    text += rate_row("STREAM triad", "", {*device.stream_triad_bytes_per_s}, "B");
  }
  return text;
}

}  // namespace ridgeline::report
