// Gloo's messages between ranks, observed at its sockets: which peer, what tag, how many bytes, from when to when.
//
// Gloo's TCP transport writes each message by `writev` (a header of 48 bytes, then the payload) and reads it by `recv`,
// header first (gloo/transport/tcp/pair.cc, Pair::write and Pair::read; the header is Op::preamble of pair.h). Both are
// observed for LibTorch's own calls, and only between begin_messages() and end_messages(): outside of them the library
// calls the system's functions as ever. Nothing is changed of what is sent or received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline::agent {

enum class MessageKind : std::uint8_t {
  kBuffer = 0,         ///< a payload for a registered buffer
  kUnboundBuffer = 1,  ///< a payload, matched by its slot
  kSendReady = 2,      ///< "I have a payload for this slot"
  kReceiveReady = 3,   ///< "I have posted a receive for this slot"
};

struct Message {
  std::uint64_t start;    ///< ticks: of its first byte, before the system call
  std::uint64_t end;      ///< ticks: of its last byte
  std::uint64_t slot;     ///< Gloo's: the kind of the collective, its tag, and a part of it
  std::uint64_t bytes;    ///< of the payload, or of the announced one
  std::int64_t position;  ///< of its first byte among all that the connection has carried this way; -1: not known
  std::int32_t socket;
  MessageKind kind;
  bool sent;  ///< otherwise it was received
};

/// Begins to observe, and forgets earlier messages. Returns why that is not possible, or an empty string. Caller: a
/// control function.
std::string begin_messages();
/// Ends it; the messages stay until the next begin.
void end_messages();
/// For a forked child, in which other threads may have held our lock.
void stop_messages_in_child();

const Message* messages();
std::size_t message_count();
/// Messages that did not fit, or whose socket was used in a way that we do not follow.
std::uint64_t lost_messages();

/// "127.0.0.1:41233" of both ends of a connected socket; empty where there is none.
struct Endpoints {
  std::string local;
  std::string remote;
};
Endpoints endpoints_of(int socket);

}  // namespace ridgeline::agent
