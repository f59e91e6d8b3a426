#include "ingest/nsys_rows.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"
#include "ingest/import_error.h"
#include "ingest/json_string.h"
#include "ingest/nsys_text.h"
#include "ingest/trace_strings.h"

namespace ridgeline::ingest {

namespace {

using store::ForeignRow;
using store::ForeignTables;

// NVTX_EVENTS.eventType
constexpr std::int64_t kPushPopRange = 59;
constexpr std::int64_t kStartEndRange = 60;

constexpr std::uint32_t kNoEvent = 0xffffffffU;  ///< of CUDA: "no such stream" and "no such event" likewise
constexpr std::size_t kMostGpus = 1024;

std::uint32_t small(std::optional<std::int64_t> value, std::uint32_t otherwise) {
  return value.has_value() && *value >= 0 && *value < kNoNumber ? static_cast<std::uint32_t>(*value) : otherwise;
}

/// A number of calls and what they launch.
std::uint64_t id(std::optional<std::int64_t> value) {
  return value.has_value() && *value >= 0 ? static_cast<std::uint64_t>(*value) : kNoId;
}

class RowReader {
 public:
  RowReader(ForeignTables& tables, const TraceLimits& limits)
      : tables_(tables), limits_(limits), strings_(rows_.trace.strings, limits.string_bytes) {
    rows_.trace.source = TraceSource::kNsightSystems;
  }

  NsysRows run() {
    read_strings();
    read_processes();
    read_ranges();
    read_calls();
    read_kernels();
    read_graphs();
    read_copies();
    read_sets();
    read_synchronisations();
    read_devices();
    rows_.trace.losses.too_many += strings_.lost();
    rows_.trace.damage.not_utf8 = strings_.replaced();
    return std::move(rows_);
  }

 private:
  // ---- what rows have in common ------------------------------------------------------------------------------------

  std::uint32_t text(std::string_view text) { return strings_.index(text); }

  std::uint32_t text_of(std::optional<std::int64_t> id) const {
    const auto found = id.has_value() ? ids_.find(*id) : ids_.end();
    return found == ids_.end() ? 0 : found->second;
  }

  std::uint32_t thread(std::optional<std::int64_t> number) {
    const auto identity = static_cast<std::uint64_t>(std::max<std::int64_t>(0, number.value_or(0)));
    const auto [found, inserted] = threads_.try_emplace(identity, rows_.trace.threads.size());
    if (inserted) {
      if (rows_.trace.threads.size() >= limits_.threads) {
        throw ImportError(fmt::format("The report has more than {} threads, the limit of an import.", limits_.threads));
      }
      rows_.trace.threads.push_back(identity);
    }
    return static_cast<std::uint32_t>(found->second);
  }

  /// Whether the times are some; else it is counted.
  bool set_times(TraceEvent& event, std::optional<std::int64_t> start, std::optional<std::int64_t> end) {
    constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max() / 2;
    if (!start.has_value() || !end.has_value() || *start < 0 || *end > kLatest) {
      ++rows_.trace.losses.without_time;
      return false;
    }
    if (*end < *start) {
      ++rows_.trace.losses.negative;
      return false;
    }
    event.start = static_cast<std::uint64_t>(*start);
    event.end = static_cast<std::uint64_t>(*end);
    return true;
  }

  void add(const TraceEvent& event) {
    if (rows_.trace.events.size() >= limits_.events) {
      throw ImportError(
          fmt::format("The report has more than {} events, the limit of an import. Record or export a shorter part of "
                      "the run: nsys "
                      "profile --duration or --capture-range.",
                      limits_.events));
    }
    rows_.trace.events.push_back(event);
  }

  // ---- names -------------------------------------------------------------------------------------------------------

  void read_strings() {
    tables_.read("StringIds", {"id", "value"}, [&](const ForeignRow& row) {
      if (const auto id = row.integer(0); id.has_value() && ids_.size() < limits_.events) {
        ids_.try_emplace(*id, text(row.text(1)));
      }
    });
  }

  void read_processes() {
    tables_.read("PROCESSES", {"globalPid", "name"}, [&](const ForeignRow& row) {
      if (const auto id = row.integer(0); id.has_value() && rows_.process_names.size() < limits_.threads) {
        rows_.process_names.try_emplace(process_of(static_cast<std::uint64_t>(*id)), valid_utf8(row.text(1)));
      }
    });
  }

  // ---- the host ----------------------------------------------------------------------------------------------------

  void read_ranges() {
    const std::vector<std::string> columns = {"start",  "end",       "eventType",    "text",
                                              "textId", "globalTid", "endGlobalTid", "domainId"};
    tables_.read("NVTX_EVENTS", columns, [&](const ForeignRow& row) {
      const auto type = row.integer(2);
      const bool elsewhere = row.integer(6).has_value() && row.integer(6) != row.integer(5);
      if (type != kPushPopRange && (type != kStartEndRange || elsewhere)) {
        return;
      }
      TraceEvent event;
      if (!set_times(event, row.integer(0), row.integer(1))) {
        return;
      }
      const std::string_view direct = row.text(3);
      event.name = direct.empty() ? text_of(row.integer(4)) : text(direct);
      event.thread = thread(row.integer(5));
      const bool own_domain = row.integer(7).value_or(0) == 0;
      describe(event, own_domain);
      if (own_domain && event.kind == EventKind::kAnnotation && event.name != 0) {
        rows_.user_ranges.push_back(static_cast<std::uint32_t>(rows_.trace.events.size()));
      }
      add(event);
    });
  }

  /// Operations of PyTorch are in NVTX's own domain.
  void describe(TraceEvent& event, bool own_domain) {
    event.kind = EventKind::kAnnotation;
    if (!own_domain) {
      return;
    }
    const auto [known, inserted] = descriptions_.try_emplace(event.name);
    Description& description = known->second;
    if (inserted) {
      const RangeText range = range_text(rows_.trace.strings[event.name]);
      description.is_operation = range.is_operation;
      description.sequence = range.sequence;
      description.forward_thread = range.is_autograd_node ? 1 : 0;  // it is not recorded: taken to be one
      description.name = range.is_operation ? strings_.index(std::string(range.name)) : event.name;
    }
    if (description.is_operation) {
      event.kind = EventKind::kOp;
      event.name = description.name;
      event.sequence = description.sequence;
      event.number = description.forward_thread;
    }
  }

  void read_calls() {
    const std::vector<std::string> columns = {"start", "end", "nameId", "globalTid", "correlationId"};
    tables_.read("CUPTI_ACTIVITY_KIND_RUNTIME", columns, [&](const ForeignRow& row) {
      TraceEvent event;
      if (!set_times(event, row.integer(0), row.integer(1))) {
        return;
      }
      event.kind = EventKind::kCall;
      event.name = call_text(text_of(row.integer(2)));
      event.thread = thread(row.integer(3));
      event.correlation = id(row.integer(4));
      calls_.insert(key_of(event));
      add(event);
    });
  }

  std::uint32_t call_text(std::uint32_t name) {
    const auto [found, inserted] = call_names_.try_emplace(name, 0);
    if (inserted) {
      found->second = strings_.index(std::string(call_name(rows_.trace.strings[name])));
    }
    return found->second;
  }

  std::pair<std::uint64_t, std::uint64_t> process_and_correlation(const TraceEvent& event) const {
    return {process_of(rows_.trace.threads[event.thread]), event.correlation};
  }

  std::uint64_t key_of(const TraceEvent& event) const {
    const auto [process, correlation] = process_and_correlation(event);
    return (process >> 24U) * 0x9E3779B97F4A7C15ULL ^ correlation;
  }

  /// As a rule the call is among CUDA's calls. Where these were not recorded, the wait is a call by itself, of no known
  /// thread: of a stream, of an event, or of all streams. An event that a stream waits for is none of the host's waits.
  void read_synchronisations() {
    const std::vector<std::string> columns = {"start", "end", "globalPid", "correlationId", "streamId", "eventId"};
    tables_.read("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns, [&](const ForeignRow& row) {
      TraceEvent event;
      event.kind = EventKind::kCall;
      event.thread = thread(row.integer(2));
      event.correlation = id(row.integer(3));
      const bool of_stream = small(row.integer(4), kNoEvent) != kNoEvent;
      const std::uint32_t cuda_event = small(row.integer(5), kNoEvent);
      const bool of_event = cuda_event != kNoEvent && cuda_event != 0;
      if (calls_.contains(key_of(event)) || (of_stream && of_event) ||
          !set_times(event, row.integer(0), row.integer(1))) {
        return;
      }
      event.name = text(of_stream  ? "cudaStreamSynchronize"
                        : of_event ? "cudaEventSynchronize"
                                   : "cudaDeviceSynchronize");
      add(event);
    });
  }

  // ---- the device --------------------------------------------------------------------------------------------------

  bool set_activity(TraceEvent& event, const ForeignRow& row) {
    event.device = small(row.integer(2), 0);
    event.stream = small(row.integer(3), 0);
    event.correlation = id(row.integer(4));
    if (!set_times(event, row.integer(0), row.integer(1))) {
      return false;
    }
    event.thread = thread(row.integer(5));
    return true;
  }

  static std::vector<std::string> activity_columns(const std::vector<std::string>& more) {
    std::vector<std::string> columns = {"start", "end", "deviceId", "streamId", "correlationId", "globalPid"};
    columns.insert(columns.end(), more.begin(), more.end());
    return columns;
  }

  void read_kernels() {
    const auto columns = activity_columns({"demangledName", "shortName", "mangledName"});
    tables_.read("CUPTI_ACTIVITY_KIND_KERNEL", columns, [&](const ForeignRow& row) {
      TraceEvent event;
      event.kind = EventKind::kKernel;
      if (set_activity(event, row)) {
        for (int column = 6; column < 9 && event.name == 0; ++column) {
          event.name = text_of(row.integer(column));
        }
        add(event);
      }
    });
  }

  /// Graphs that were traced as a whole, which Nsight Systems does unless it is told otherwise: each launch is one
  /// activity, as a kernel is.
  void read_graphs() {
    tables_.read("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", activity_columns({"graphId"}), [&](const ForeignRow& row) {
      TraceEvent event;
      event.kind = EventKind::kKernel;
      if (set_activity(event, row)) {
        event.name = text(fmt::format("CUDA graph {}", row.integer(6).value_or(0)));
        add(event);
        ++rows_.trace.whole_graphs;
      }
    });
  }

  void read_copies() {
    const auto columns = activity_columns({"bytes", "copyKind", "srcKind", "dstKind"});
    tables_.read("CUPTI_ACTIVITY_KIND_MEMCPY", columns, [&](const ForeignRow& row) {
      TraceEvent event;
      event.kind = EventKind::kCopy;
      if (set_activity(event, row)) {
        event.bytes = row.integer(6).value_or(0);
        event.name =
            text(copy_name(row.integer(7).value_or(0), row.integer(8).value_or(-1), row.integer(9).value_or(-1)));
        add(event);
      }
    });
  }

  void read_sets() {
    tables_.read("CUPTI_ACTIVITY_KIND_MEMSET", activity_columns({"bytes"}), [&](const ForeignRow& row) {
      TraceEvent event;
      event.kind = EventKind::kSet;
      if (set_activity(event, row)) {
        event.bytes = row.integer(6).value_or(0);
        event.name = text("Memset (Device)");
        add(event);
      }
    });
  }

  /// Activities have CUDA's number of a device, which cuDevice is, where there is one.
  void read_devices() {
    tables_.read("TARGET_INFO_GPU", {"cuDevice", "id", "name", "totalMemory"}, [&](const ForeignRow& row) {
      const std::uint32_t index = small(row.integer(0), small(row.integer(1), kNoNumber));
      if (index != kNoNumber && rows_.trace.devices.size() < kMostGpus) {
        const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.integer(3).value_or(0)));
        rows_.trace.devices.push_back({index, valid_utf8(base::cut_utf8(row.text(2), 256)), bytes});
      }
    });
  }

  struct Description {
    std::uint32_t name = 0;
    std::int64_t sequence = -1;
    std::uint64_t forward_thread = 0;
    bool is_operation = false;
  };

  ForeignTables& tables_;
  const TraceLimits& limits_;
  NsysRows rows_;
  TraceStrings strings_;
  std::unordered_map<std::int64_t, std::uint32_t> ids_;  ///< of StringIds
  std::unordered_map<std::uint64_t, std::size_t> threads_;
  std::unordered_map<std::uint32_t, Description> descriptions_;  ///< by text of a range
  std::unordered_map<std::uint32_t, std::uint32_t> call_names_;
  std::unordered_set<std::uint64_t> calls_;  ///< key_of() each
};

}  // namespace

NsysRows read_nsys_rows(ForeignTables& tables, const TraceLimits& limits) { return RowReader(tables, limits).run(); }

}  // namespace ridgeline::ingest
