#include "ingest/file_format.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace ridgeline::ingest {

namespace {

using base::contains;
using namespace std::literals;

struct Format {
  std::string_view prefix;
  const char* message;
};

constexpr const char* kExpected =
    "Ridgeline imports the JSON that profiler.export_chrome_trace(\"trace.json.gz\") writes.";

constexpr std::array kFormats = {
    Format{"PK\x03\x04"sv, "The file is a zip archive: unpack it (unzip FILE) and import the trace that it holds."},
    Format{"PK\x05\x06"sv, "The file is an empty zip archive."},
    Format{"\xFD"
           "7zXZ\0"sv,
           "The file is compressed by xz: decompress it first (xz -d FILE). The only compression that is read directly "
           "is gzip."},
    Format{"\x28\xB5\x2F\xFD"sv,
           "The file is compressed by zstd: decompress it first (zstd -d FILE). The only compression that is read "
           "directly is gzip."},
    Format{"BZh"sv,
           "The file is compressed by bzip2: decompress it first (bzip2 -d FILE). The only compression that is read "
           "directly is gzip."},
    Format{"\x04\x22\x4D\x18"sv,
           "The file is compressed by lz4: decompress it first (lz4 -d FILE). The only compression that is read "
           "directly is gzip."},
    Format{"7z\xBC\xAF\x27\x1C"sv,
           "The file is a 7z archive: unpack it (7z x FILE) and import the trace that it holds."},
    Format{"Rar!"sv, "The file is a RAR archive: unpack it and import the trace that it holds."},
    Format{"\x1f\x8b"sv, "The file is compressed twice: decompress it once (gzip -d) before it is imported."},
    Format{"PAR1"sv, "The file is a Parquet table, not a trace."},
    Format{"ARROW1"sv, "The file is an Arrow table, not a trace."},
    Format{"\x89HDF"sv, "The file is an HDF5 file, not a trace."},
    Format{"\x93NUMPY"sv, "The file is a NumPy array, not a trace."},
    Format{"\x89PNG"sv, "The file is an image, not a trace."},
    Format{"%PDF"sv, "The file is a PDF, not a trace."},
    Format{"\x7F"
           "ELF"sv,
           "The file is a program, not a trace."},
    Format{"version https://git-lfs"sv,
           "The file is a Git LFS pointer instead of the trace: fetch the trace itself (git lfs pull)."},
    Format{"SQLite format 3"sv, "The file is a compressed SQLite database: decompress it first (gzip -d FILE)."},
};

constexpr std::string_view kTarMark = "ustar";
constexpr std::size_t kTarMarkAt = 257;

/// Whether the text is UTF-16 or UTF-32, with a byte order mark or without.
bool has_wide_characters(std::string_view first) {
  return first.starts_with("\xFF\xFE"sv) || first.starts_with("\xFE\xFF"sv) || first.starts_with("\0\0\xFE\xFF"sv) ||
         (first.size() > 3 && (first[0] == '{' || first[0] == '[') && first[1] == '\0') ||
         (first.size() > 3 && first[0] == '\0' && (first[1] == '{' || first[1] == '['));
}

/// Pickle protocols 2 to 5 whose first opcode is one that pickles start with.
bool is_pickle(std::string_view first) {
  return first.size() > 2 && first[0] == '\x80' && first[1] >= 2 && first[1] <= 5 &&
         "\x95}](cX\x8a"sv.find(first[2]) != std::string_view::npos;
}

/// A protobuf message whose first field is number 1 and length-delimited, as in XSpace and Perfetto's Trace.
bool is_protobuf(std::string_view first) {
  return first.size() > 2 && first[0] == '\n' && std::isspace(static_cast<unsigned char>(first[1])) == 0 &&
         first[1] != '{' && first[1] != '[' && (first[1] < ' ' || first[2] < ' ');
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return lower;
}

}  // namespace

std::optional<std::string> foreign_format(std::string_view first) {
  if (first.starts_with("PK\x03\x04") && contains(first, "data.pkl")) {
    return "The file is what torch.save() writes, such as a checkpoint, not a trace. " + std::string(kExpected);
  }
  for (const Format& format : kFormats) {
    if (first.starts_with(format.prefix)) {
      return format.message;
    }
  }
  if (first.size() > kTarMarkAt && first.substr(kTarMarkAt).starts_with(kTarMark)) {
    return "The file is a tar archive: unpack it (tar -xf FILE) and import the trace that it holds.";
  }
  if (has_wide_characters(first)) {
    return "The file is UTF-16 or UTF-32 text, as PowerShell writes when output is redirected. Convert it to UTF-8: "
           "iconv -f UTF-16 -t UTF-8 FILE > trace.json";
  }
  if (is_pickle(first)) {
    return "The file is a Python pickle, as torch.cuda.memory._dump_snapshot() and torch.save() write, not a trace. " +
           std::string(kExpected);
  }
  if (is_protobuf(first)) {
    return "The file is a binary protobuf message, such as a .xplane.pb of TensorFlow or JAX, or a Perfetto "
           "recording. " +
           std::string(kExpected);
  }
  const std::string text = lower_case(first.substr(std::min(first.find_first_not_of(" \t\r\n"), first.size())));
  if (text.starts_with("<!doctype html") || text.starts_with("<html") || text.starts_with("<?xml")) {
    return "The file is a web page or XML, not a trace: if it was downloaded, a web page was saved instead of the "
           "file (look for a link to the raw file).";
  }
  return std::nullopt;
}

}  // namespace ridgeline::ingest
