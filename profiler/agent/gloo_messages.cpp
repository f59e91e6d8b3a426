#include "gloo_messages.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "append_log.h"
#include "clock.h"
#include "imported_functions.h"

namespace ridgeline::agent {

namespace {

constexpr const char* kLibrary = "/libtorch_cpu.so";
constexpr std::size_t kMaxMessages = 1U << 17U;
constexpr int kMaxSockets = 8192;
constexpr std::uint64_t kMaxPayload = std::uint64_t{1} << 40U;

/// As Gloo sends it.
struct Header {
  std::uint64_t total;  ///< with the header
  std::uint64_t kind;
  std::uint64_t slot;
  std::uint64_t offset;
  std::uint64_t length;  ///< of the payload
  std::uint64_t remote_offset;
};
static_assert(sizeof(Header) == 48);

/// One direction of a socket. Gloo uses it under a lock of its own; `busy` is against everybody else.
struct Stream {
  std::atomic_flag busy;
  std::uint64_t left;  ///< of the message that is under way
  std::uint64_t start;
  std::int64_t position;        ///< bytes that it has carried since it was connected; -1: not known
  std::int64_t start_position;  ///< of the message
  bool is_positioned;           ///< `position` was looked up in this recording
  std::size_t header_read;      ///< of a message that is received
  Header header;
};

Stream g_sent[kMaxSockets];
Stream g_received[kMaxSockets];
std::atomic<bool> g_observing{false};
std::atomic<std::uint64_t> g_lost{0};
std::mutex g_log_mutex;

AppendLog<Message>& message_log() {
  static auto* log = new AppendLog<Message>(kMaxMessages);
  return *log;
}

ImportedFunction& imported_writev() {
  static auto* function = new ImportedFunction(kLibrary, "writev");
  return *function;
}
ImportedFunction& imported_recv() {
  static auto* function = new ImportedFunction(kLibrary, "recv");
  return *function;
}

bool has_payload(const Header& header) {
  return header.kind <= static_cast<std::uint64_t>(MessageKind::kUnboundBuffer);
}

/// Whether 48 bytes are a header of Gloo's, and not others that happen to be as many.
bool is_plausible(const Header& header) {
  return header.kind <= static_cast<std::uint64_t>(MessageKind::kReceiveReady) && header.length <= kMaxPayload &&
         header.total == sizeof(Header) + (has_payload(header) ? header.length : 0);
}

void log_message(int socket, const Stream& stream, std::uint64_t end, bool sent) {
  const std::lock_guard lock(g_log_mutex);
  if (Message* message = message_log().append()) {
    *message = {stream.start,
                end,
                stream.header.slot,
                stream.header.length,
                stream.start_position,
                socket,
                static_cast<MessageKind>(stream.header.kind),
                sent};
  }
}

std::int64_t before(const Stream& stream, std::size_t bytes) {
  return stream.position < 0 ? -1 : stream.position - static_cast<std::int64_t>(bytes);
}

/// The kernel's counts of a connection; false where it has none.
bool read_info(int socket, tcp_info& info) {
  socklen_t size = sizeof(info);
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
         size >= offsetof(tcp_info, tcpi_bytes_retrans) + sizeof(info.tcpi_bytes_retrans);
}

/// Bytes that the process has written to the connection so far, while no other thread writes. -1: not known.
std::int64_t written_so_far(int socket) {
  tcp_info info{};
  return read_info(socket, info) ? static_cast<std::int64_t>(info.tcpi_bytes_sent - info.tcpi_bytes_retrans) +
                                       static_cast<std::int64_t>(info.tcpi_notsent_bytes)
                                 : -1;
}

/// Bytes that it has read from it: those received less those waiting to be read. More may arrive between the two calls.
std::int64_t read_so_far(int socket) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    tcp_info first{};
    tcp_info second{};
    int waiting = 0;
    if (!read_info(socket, first) || ::ioctl(socket, FIONREAD, &waiting) != 0 || !read_info(socket, second)) {
      return -1;
    }
    if (first.tcpi_bytes_received == second.tcpi_bytes_received) {
      return static_cast<std::int64_t>(first.tcpi_bytes_received) - waiting;
    }
  }
  return -1;
}

/// Advances the stream after a call that moved `bytes`.
void advance(Stream& stream, std::size_t bytes, std::int64_t (*so_far)(int), int socket) {
  if (!stream.is_positioned) {
    stream.is_positioned = true;
    stream.position = so_far(socket);
  } else if (stream.position >= 0) {
    stream.position += static_cast<std::int64_t>(bytes);
  }
}

/// Takes `bytes` more of the message that is under way: it is noted once it is complete.
void take(int socket, Stream& stream, std::size_t bytes, bool sent) {
  if (bytes > stream.left) {
    stream.left = 0;
    g_lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  stream.left -= bytes;
  if (stream.left == 0) {
    log_message(socket, stream, ticks(), sent);
  }
}

void wrote(int socket, Stream& stream, const iovec* parts, int count, std::size_t bytes, std::uint64_t start) {
  if (stream.left == 0) {
    std::uint64_t offered = 0;
    for (int i = 0; i < count; ++i) {
      offered += parts[i].iov_len;
    }
    if (count < 1 || parts[0].iov_len != sizeof(Header)) {
      return;  // the rest of a message that began before us, or none of Gloo's
    }
    std::memcpy(&stream.header, parts[0].iov_base, sizeof(Header));
    if (!is_plausible(stream.header) || offered != stream.header.total) {
      return;
    }
    stream.left = stream.header.total;
    stream.start = start;
    stream.start_position = before(stream, bytes);
  }
  take(socket, stream, bytes, true);
}

void received(int socket, Stream& stream, const void* data, std::size_t wanted, std::size_t bytes,
              std::uint64_t start) {
  if (stream.left > 0) {
    take(socket, stream, bytes, false);
    return;
  }
  if (wanted != sizeof(Header) - stream.header_read) {
    stream.header_read = 0;
    if (wanted != sizeof(Header)) {
      return;
    }
  }
  if (stream.header_read == 0) {
    stream.start = start;
    stream.start_position = before(stream, bytes);
  }
  std::memcpy(reinterpret_cast<char*>(&stream.header) + stream.header_read, data, bytes);
  stream.header_read += bytes;
  if (stream.header_read < sizeof(Header)) {
    return;
  }
  stream.header_read = 0;
  if (!is_plausible(stream.header)) {
    return;
  }
  stream.left = stream.header.total - sizeof(Header);
  if (stream.left == 0) {
    log_message(socket, stream, ticks(), false);
  }
}

template <typename Follow>
void follow(Stream* streams, int socket, const Follow& step) {
  if (!g_observing.load(std::memory_order_acquire)) {
    return;
  }
  if (socket < 0 || socket >= kMaxSockets || streams[socket].busy.test_and_set(std::memory_order_acquire)) {
    g_lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  step(streams[socket]);
  streams[socket].busy.clear(std::memory_order_release);
}

ssize_t observed_writev(int socket, const iovec* parts, int count) {
  const std::uint64_t start = ticks();
  const ssize_t result = ::writev(socket, parts, count);
  if (result > 0) {
    const int error = errno;
    follow(g_sent, socket, [&](Stream& stream) {
      advance(stream, static_cast<std::size_t>(result), &written_so_far, socket);
      wrote(socket, stream, parts, count, static_cast<std::size_t>(result), start);
    });
    errno = error;
  }
  return result;
}

ssize_t observed_recv(int socket, void* data, std::size_t size, int flags) {
  const std::uint64_t start = ticks();
  const ssize_t result = ::recv(socket, data, size, flags);
  if (result > 0 && (flags & MSG_PEEK) == 0) {
    const int error = errno;
    follow(g_received, socket, [&](Stream& stream) {
      advance(stream, static_cast<std::size_t>(result), &read_so_far, socket);
      received(socket, stream, data, size, static_cast<std::size_t>(result), start);
    });
    errno = error;
  }
  return result;
}

void forget(Stream* streams) {
  for (int i = 0; i < kMaxSockets; ++i) {
    if (streams[i].is_positioned) {
      streams[i].left = 0;
      streams[i].header_read = 0;
      streams[i].is_positioned = false;
    }
  }
}

std::string text_of(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return std::string(host) + ":" + port;
}

}  // namespace

std::string begin_messages() {
  end_messages();
  forget(g_sent);
  forget(g_received);
  g_lost = 0;
  {
    const std::lock_guard lock(g_log_mutex);
    message_log().truncate(0);
    if (!message_log().reserve()) {
      return "there is no address space for its messages";
    }
  }
  g_observing.store(true, std::memory_order_release);
  if (!imported_writev().replace(reinterpret_cast<void*>(&observed_writev)) ||
      !imported_recv().replace(reinterpret_cast<void*>(&observed_recv))) {
    end_messages();
    return "this LibTorch does not call writev and recv through its linkage table";
  }
  return "";
}

void end_messages() {
  imported_writev().restore();
  imported_recv().restore();
  g_observing.store(false, std::memory_order_release);
}

void stop_messages_in_child() { g_observing.store(false, std::memory_order_release); }

const Message* messages() { return message_log().begin(); }
std::size_t message_count() { return message_log().size(); }
std::uint64_t lost_messages() { return g_lost.load() + message_log().dropped(); }

Endpoints endpoints_of(int socket) {
  Endpoints ends;
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    ends.local = text_of(address, size);
  }
  size = sizeof(address);
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    ends.remote = text_of(address, size);
  }
  return ends;
}

}  // namespace ridgeline::agent
