#include "ingest/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ingest/import_error.h"

namespace ridgeline::ingest {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16U;
constexpr unsigned kFirstByte = 0x1f;  ///< of gzip

/// Reads ahead by a chunk, so that the first bytes can be looked at.
class Decompressor {
 public:
  Decompressor(ByteSource source, std::uint64_t most_bytes, Compression* found)
      : source_(std::move(source)), left_(most_bytes), input_(kChunk), found_(found == nullptr ? own_ : *found) {}
  ~Decompressor() {
    if (open_) {
      inflateEnd(&stream_);
    }
  }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  std::size_t read(std::span<char> buffer) {
    if (!started_) {
      start();
    }
    const std::size_t count = open_ ? inflate_into(buffer) : copy_into(buffer);
    if (count > left_) {
      throw ImportError("The trace is larger than the limit of an import.");
    }
    left_ -= count;
    return count;
  }

 private:
  void start() {
    started_ = true;
    while (end_ < 2 && fill_more()) {
    }
    if (end_ < 2 || byte(0) != kFirstByte || byte(1) != 0x8b) {
      return;
    }
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) {
      throw ImportError("There is not enough memory to decompress the trace.");
    }
    open_ = true;
    found_ = Compression::kWhole;
  }

  unsigned byte(std::size_t index) const { return static_cast<unsigned char>(input_[index]); }

  /// Behind what is there; false at the end.
  bool fill_more() {
    const std::size_t count = source_(std::span(input_).subspan(end_));
    end_ += count;
    return count > 0;
  }

  bool refill() {
    begin_ = end_ = 0;
    return fill_more();
  }

  std::size_t copy_into(std::span<char> buffer) {
    if (begin_ == end_) {
      return source_(buffer);
    }
    const std::size_t count = std::min(buffer.size(), end_ - begin_);
    std::copy_n(input_.begin() + static_cast<std::ptrdiff_t>(begin_), count, buffer.begin());
    begin_ += count;
    return count;
  }

  std::size_t inflate_into(std::span<char> buffer) {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(buffer.size(), 1U << 30U));
    const uInt room = stream_.avail_out;
    while (stream_.avail_out == room && found_ == Compression::kWhole) {
      if (begin_ == end_ && !refill()) {
        found_ = is_between_members_ ? found_ : Compression::kCutOff;
        return 0;
      }
      if (is_between_members_ && has_members_) {
        if (byte(begin_) != kFirstByte) {
          found_ = Compression::kMoreBehind;
          return 0;
        }
        inflateReset(&stream_);
      }
      is_between_members_ = false;
      stream_.next_in = reinterpret_cast<Bytef*>(input_.data() + begin_);
      stream_.avail_in = static_cast<uInt>(end_ - begin_);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      begin_ = end_ - stream_.avail_in;
      if (result == Z_STREAM_END) {
        is_between_members_ = has_members_ = true;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        found_ = Compression::kDamaged;
      }
    }
    return room - stream_.avail_out;
  }

  ByteSource source_;
  std::uint64_t left_;
  std::vector<char> input_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  z_stream stream_{};
  bool started_ = false;
  bool open_ = false;                ///< it is compressed
  bool is_between_members_ = false;  ///< the end may come here
  bool has_members_ = false;         ///< one was read to its end
  Compression own_ = Compression::kNone;
  Compression& found_;
};

}  // namespace

ByteSource decompressed(ByteSource source, std::uint64_t most_bytes, Compression* found) {
  auto decompressor = std::make_shared<Decompressor>(std::move(source), most_bytes, found);
  return [decompressor](std::span<char> buffer) { return decompressor->read(buffer); };
}

}  // namespace ridgeline::ingest
