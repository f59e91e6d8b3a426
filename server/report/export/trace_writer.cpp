#include "report/export/trace_writer.h"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace ridgeline::report {

namespace {

std::string quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

}  // namespace

void TraceWriter::begin(std::string_view phase, Track track, std::string_view name) {
  text_ += fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"name":{})", phase, track.process, track.thread, quoted(name));
}

void TraceWriter::name_process(std::uint64_t process, std::string_view name) {
  begin("M", {process, 0}, "process_name");
  text_ += fmt::format(R"(,"args":{{"name":{}}})", quoted(name));
  end();
}

void TraceWriter::name_track(Track track, std::string_view name) {
  begin("M", track, "thread_name");
  text_ += fmt::format(R"(,"args":{{"name":{}}})", quoted(name));
  end();
  begin("M", track, "thread_sort_index");
  text_ += fmt::format(R"(,"args":{{"sort_index":{}}})", track.thread);
  end();
}

void TraceWriter::slice(Track track, std::string_view name, std::string_view category, TraceSpan span,
                        const Arguments& arguments) {
  begin("X", track, name);
  text_ += fmt::format(R"(,"cat":"{}","ts":{},"dur":{},"args":{{)", category, microseconds(span.start),
                       microseconds(span.end - span.start));
  bool is_first = true;
  for (const auto& [key, value] : arguments) {
    if (!value.empty()) {
      text_ += fmt::format(R"({}"{}":{})", is_first ? "" : ",", key, quoted(value));
      is_first = false;
    }
  }
  text_ += "}";
  end();
}

void TraceWriter::counter(std::uint64_t process, std::string_view name, std::uint64_t time, std::uint64_t bytes) {
  begin("C", {process, 0}, name);
  text_ += fmt::format(R"(,"ts":{},"args":{{"bytes":{}}})", microseconds(time), bytes);
  end();
}

void TraceWriter::arrow(Track from, std::uint64_t from_time, Track to, std::uint64_t to_time) {
  ++arrows_;
  for (const bool is_start : {true, false}) {
    begin(is_start ? "s" : "f", is_start ? from : to, "launch");
    text_ += fmt::format(R"(,"cat":"launch","id":{},"ts":{}{})", arrows_, microseconds(is_start ? from_time : to_time),
                         is_start ? "" : R"(,"bp":"e")");
    end();
  }
}

std::string TraceWriter::take(std::string_view description) && {
  if (text_.ends_with(",\n")) {
    text_.erase(text_.size() - 2);
  }
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"exporter\":\"ridgeline\",\"times\":{}}},\n",
                     quoted(description)) +
         "\"traceEvents\":[\n" + std::move(text_) + "\n]}\n";
}

}  // namespace ridgeline::report
