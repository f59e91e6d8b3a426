#include "ingest/trace_stacks.h"

#include <algorithm>
#include <cctype>

namespace ridgeline::ingest {

namespace {

constexpr std::string_view kRunBackward = "<built-in method run_backward of ";

}  // namespace

FrameKey TraceStacks::frame_of(const TraceEvent& event) {
  const std::string& name = trace_.strings[event.name];
  constexpr std::string_view kModule = "nn.Module: ";
  if (name.starts_with(kModule)) {
    return module_frame(event, std::string_view(name).substr(kModule.size()));
  }
  FrameKey& frame = frames_[event.name];
  std::string_view file;
  std::string_view function;
  if (!frame.known && name.starts_with(kRunBackward)) {
    frame = {engine_code(), 0, 0, true};  // old versions of torch call it from several functions
  } else if (!frame.known && split_frame(name, file, frame.line, function)) {
    frame.code = builder_.code(files_.absolute(file), function);
    frame.line = std::max(1U, frame.line);  // some versions number a module's first instruction 0
    frame.known = true;
  }
  return frame;
}

/// "Linear_3": the class and the how manieth of it the profiler met.
FrameKey TraceStacks::module_frame(const TraceEvent& event, std::string_view name) {
  const std::uint64_t identity = (std::uint64_t{event.name} << 32U) | event.stream;
  const auto [found, inserted] = modules_.try_emplace(identity, 0);
  if (inserted) {
    const std::size_t number = name.rfind('_');
    const bool numbered = number != std::string_view::npos && number > 0 && number + 1 < name.size() &&
                          std::isdigit(static_cast<unsigned char>(name.back())) != 0;
    found->second = builder_.instance(numbered ? name.substr(0, number) : name, name);
  }
  ++module_calls_[found->second];
  static constexpr std::string_view kFile = "/site-packages/torch/nn/modules/module.py";
  return {builder_.code(kFile, "__call__"), 0, found->second, true};
}

std::uint32_t TraceStacks::call_stack(std::uint32_t string) {
  const auto [found, inserted] = call_stacks_.try_emplace(string, 0);
  if (!inserted) {
    return found->second;
  }
  std::string_view rest = trace_.strings[string];
  std::uint32_t stack = 0;
  while (!rest.empty()) {
    const std::size_t cut_at = rest.rfind(';');
    const std::string_view frame = cut_at == std::string_view::npos ? rest : rest.substr(cut_at + 1);
    rest = cut_at == std::string_view::npos ? std::string_view() : rest.substr(0, cut_at);
    std::string_view file;
    std::string_view function;
    std::uint32_t line = 0;
    if (split_frame(frame, file, line, function)) {
      stack = builder_.push_frame(stack, builder_.code(files_.absolute(file), function), std::max(1U, line), 0);
    }
  }
  return call_stacks_[string] = stack;
}

std::uint32_t TraceStacks::engine_code() {
  return builder_.code("/site-packages/torch/autograd/graph.py", "_engine_run_backward");
}

std::uint32_t TraceStacks::text(std::uint32_t string) {
  if (texts_[string] == recording::kNone) {
    texts_[string] = builder_.text(trace_.strings[string]);
  }
  return texts_[string];
}

}  // namespace ridgeline::ingest
