// What the recorder knows of code that torch.compile generated: JSON in the recording's column `compiled_code`, written
// by step/compiled_code.py of the runner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridgeline::recording {

struct CompiledCode {
  struct Module {
    std::string type;
    std::string name;  ///< dotted, in its model
    std::string file;  ///< where its class is defined
    std::uint32_t line = 0;
    std::uint64_t calls = 1;  ///< in the traced code
  };
  struct Frame {
    std::string file;
    std::string function;
    std::uint32_t line = 0;
    std::int32_t module = -1;  ///< whose call this frame is; -1: none's
  };
  /// A part of what an owner does.
  struct Share {
    double weight = 0;  ///< all of an owner's sum to 1
    std::uint32_t stack = 0;
  };
  /// Lines of a generated file, both from 1, and who owns what they do.
  struct Place {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::uint32_t owner = 0;
  };
  struct File {
    std::string path;
    std::vector<Place> places;  ///< ascending, none overlaps another
  };
  /// Where a graph ended because the compiler could not go on.
  struct Break {
    std::string file;
    std::uint32_t line = 0;
    std::string function;
    std::string reason;
    std::uint64_t count = 0;
  };
  /// A function that was compiled.
  struct Compilation {
    std::string file;
    std::uint32_t line = 0;  ///< its first
    std::string function;
    std::uint64_t count = 0;
    double seconds = 0;                ///< all of them together, with the backward pass where torch says so
    std::uint64_t guards = 0;          ///< that are checked before each call of the newest
    std::vector<std::string> reasons;  ///< why it was compiled again
  };

  std::vector<Module> modules;
  std::vector<Frame> frames;
  std::vector<std::vector<std::uint32_t>> stacks;  ///< of frames, outermost first
  std::vector<std::vector<Share>> owners;          ///< the largest share first; none: not known
  std::vector<File> files;
  std::vector<Break> breaks;
  std::vector<Compilation> compilations;
};

inline constexpr std::size_t kMostShares = 32;  ///< of one owner

/// The text that parse_compiled_code() reads.
std::string compiled_code_text(const CompiledCode& code);

/// Checks all indices. The error is a clause without a full stop.
base::Result<CompiledCode> parse_compiled_code(std::string_view text);

}  // namespace ridgeline::recording
