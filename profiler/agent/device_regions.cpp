#include "device_regions.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <deque>
#include <exception>
#include <mutex>
#include <optional>

#include "recorder.h"

namespace ridgeline::agent {

namespace {

constexpr std::size_t kMaxRegions = 200'000;

std::uint64_t ns_between(const c10::Event& first, const c10::Event& second) {
  const double ms = first.elapsedTime(second);
  return ms > 0 ? static_cast<std::uint64_t>(ms * 1e6) : 0;
}

struct Base {
  c10::Event event;
  std::uint64_t tick;
};

struct Pending {
  c10::Event begin;
  std::optional<c10::Event> end;
  std::size_t base;
  std::uint32_t op;
  std::uint16_t thread;
};

/// Guarded by the mutex, except the number of the device, which control functions set.
struct Regions {
  std::int16_t device = 0;
  std::mutex mutex;
  std::deque<Base> bases;
  std::deque<Pending> pending;
  std::vector<DeviceRegion> done;
  std::uint64_t lost = 0;
};

Regions& all() {
  static auto* regions = new Regions;  // threads may end after main does
  return *regions;
}

/// An event of the device's present stream, as the calling thread has it.
c10::Event mark(std::int16_t index) {
  const c10::Device device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index));
  c10::Event event(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT);  // the flag that keeps the time
  event.record(c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).getStream(device));
  return event;
}

}  // namespace

std::string attach_regions(std::int16_t device) {
  try {
    mark(device);
  } catch (const std::exception& error) {
    return std::string(error.what()).substr(0, 200);
  }
  all().device = device;
  state().recording_regions = true;
  return "";
}

void detach_regions() { state().recording_regions = false; }

void region_begin(std::uint16_t thread, std::uint32_t op) {
  Regions& regions = all();
  const std::lock_guard lock(regions.mutex);
  if (regions.bases.empty() || regions.pending.size() == kMaxRegions) {
    regions.lost += regions.bases.empty() ? 0U : 1U;
    return;
  }
  try {
    regions.pending.push_back({mark(regions.device), std::nullopt, regions.bases.size() - 1, op, thread});
  } catch (const std::exception&) {
    ++regions.lost;
  }
}

void region_end(std::uint16_t thread, std::uint32_t op) {
  Regions& regions = all();
  const std::lock_guard lock(regions.mutex);
  for (auto region = regions.pending.rbegin(); region != regions.pending.rend(); ++region) {
    if (region->thread != thread) {
      continue;
    }
    try {
      if (region->op == op && !region->end.has_value()) {
        region->end.emplace(mark(regions.device));
      }
    } catch (const std::exception&) {  // it stays without an end, and is lost
    }
    return;
  }
}

void begin_regions() {
  Regions& regions = all();
  const std::lock_guard lock(regions.mutex);
  regions.bases.clear();
  regions.pending.clear();
  regions.done.clear();
  regions.lost = 0;
}

void begin_regions_of_iteration() {
  if (!state().recording_regions) {
    return;
  }
  Regions& regions = all();
  const std::lock_guard lock(regions.mutex);
  try {
    regions.bases.push_back({mark(regions.device), ticks()});
  } catch (const std::exception&) {  // the regions of this iteration are then relative to the previous one's base
  }
}

void end_regions() {
  Regions& regions = all();
  const std::lock_guard lock(regions.mutex);
  const auto device = static_cast<std::uint32_t>(regions.device);
  for (const Pending& region : regions.pending) {
    const Base& base = regions.bases[region.base];
    try {
      if (region.end.has_value() && region.end->query()) {
        const std::uint64_t start = ns_between(base.event, region.begin);
        const std::uint64_t length = ns_between(region.begin, *region.end);
        regions.done.push_back({base.tick, start, start + length, region.op, device, region.thread});
        continue;
      }
    } catch (const std::exception&) {  // lost, as one without an end
    }
    ++regions.lost;
  }
  regions.pending.clear();
  regions.bases.clear();
}

const std::vector<DeviceRegion>& regions() { return all().done; }
std::uint64_t lost_regions() { return all().lost; }

}  // namespace ridgeline::agent
