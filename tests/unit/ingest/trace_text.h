// Traces in a few words, and what is made of them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "ingest/import_trace.h"
#include "ingest/read_trace.h"

namespace ridgeline::ingest::testing {

/// A source of the text, `chunk` bytes at a time.
inline ByteSource bytes_of(std::string text, std::size_t chunk = 7) {
  return [text = std::move(text), chunk, at = std::size_t{0}](std::span<char> buffer) mutable {
    const std::size_t count = std::min({chunk, buffer.size(), text.size() - at});
    text.copy(buffer.data(), count, at);
    at += count;
    return count;
  };
}

inline std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 32, '\0');
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// A complete event; times in microseconds.
inline std::string event(std::string_view category, std::string_view name, double ts, double dur,
                         std::string_view args = "", int tid = 10) {
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
                     category, name, tid, ts, dur, args);
}

inline std::string memory(double ts, std::uint64_t address, std::int64_t bytes, std::uint64_t total,
                          std::uint64_t reserved = 0, int device = -1) {
  return fmt::format(
      R"({{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":10,"ts":{:.3f},"args":{{"Addr":{},)"
      R"("Bytes":{},"Total Allocated":{},"Total Reserved":{},"Device Id":{},"Device Type":{}}}}})",
      ts, address, bytes, total, reserved, device, device < 0 ? 0 : 1);
}

inline std::string trace_of(const std::vector<std::string>& events, std::string_view head = "") {
  std::string text = fmt::format(R"({{"schemaVersion":1,{}"traceEvents":[)", head);
  for (std::size_t i = 0; i < events.size(); ++i) {
    text += (i > 0 ? "," : "") + events[i];
  }
  return text + "]}";
}

inline Trace read(const std::vector<std::string>& events) { return read_trace(bytes_of(trace_of(events))); }

/// Imported for the project /project, which has model.py and train.py.
inline analysis::RunInput import(const std::vector<std::string>& events, std::string_view head = "") {
  ImportOptions options{"/traces/t.json", "/project", "/elsewhere", {}, 4};
  options.exists = [](const std::string& path) { return path == "/project/model.py" || path == "/project/train.py"; };
  return import_trace(read_trace(bytes_of(trace_of(events, head))), options);
}

}  // namespace ridgeline::ingest::testing
