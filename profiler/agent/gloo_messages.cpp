#include "gloo_messages.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
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
  std::size_t header_read;  ///< of a message that is received
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
                socket,
                static_cast<MessageKind>(stream.header.kind),
                sent};
  }
}

void wrote(int socket, Stream& stream, const iovec* parts, int count, std::size_t bytes, std::uint64_t start) {
  if (stream.left == 0) {
    std::uint64_t offered = 0;
    for (int i = 0; i < count; ++i) offered += parts[i].iov_len;
    if (count < 1 || parts[0].iov_len != sizeof(Header)) {
      return;  // the rest of a message that began before us, or none of Gloo's
    }
    std::memcpy(&stream.header, parts[0].iov_base, sizeof(Header));
    if (!is_plausible(stream.header) || offered != stream.header.total) {
      return;
    }
    stream.left = stream.header.total;
    stream.start = start;
  }
  if (bytes > stream.left) {
    stream.left = 0;
    g_lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  stream.left -= bytes;
  if (stream.left == 0) {
    log_message(socket, stream, ticks(), true);
  }
}

void received(int socket, Stream& stream, const void* data, std::size_t wanted, std::size_t bytes,
              std::uint64_t start) {
  if (stream.left > 0) {
    if (bytes > stream.left) {
      stream.left = 0;
      g_lost.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    stream.left -= bytes;
    if (stream.left == 0) {
      log_message(socket, stream, ticks(), false);
    }
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
    follow(g_sent, socket,
           [&](Stream& stream) { wrote(socket, stream, parts, count, static_cast<std::size_t>(result), start); });
    errno = error;
  }
  return result;
}

ssize_t observed_recv(int socket, void* data, std::size_t size, int flags) {
  const std::uint64_t start = ticks();
  const ssize_t result = ::recv(socket, data, size, flags);
  if (result > 0 && (flags & MSG_PEEK) == 0) {
    const int error = errno;
    follow(g_received, socket,
           [&](Stream& stream) { received(socket, stream, data, size, static_cast<std::size_t>(result), start); });
    errno = error;
  }
  return result;
}

void forget(Stream* streams) {
  for (int i = 0; i < kMaxSockets; ++i) {
    if (streams[i].left != 0 || streams[i].header_read != 0) {
      streams[i].left = 0;
      streams[i].header_read = 0;
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
