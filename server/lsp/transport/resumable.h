// A Transport that outlives its connections: both sides number their messages, keep those that the other has not
// acknowledged, and send them again over the next connection. Neither the session nor the editor sees the break.
//
// On a connection, frames hold messages (JSON, which begins with '{' or '[') or one of
//
//   link ID RECEIVED    the first frame each way: which link this is, and how many messages have been received so far
//   gone                instead of that answer: the link no longer exists
//   ack RECEIVED        how many messages have been received so far
//   end                 no more messages will come; the link is over
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lsp/transport/transport.h"

namespace ridgeline::lsp {

/// The first frame of a link's connection.
struct LinkGreeting {
  std::string id;  ///< 32 hexadecimal digits: whoever knows them may resume the link
  std::uint64_t received = 0;
};
std::string encode(const LinkGreeting& greeting);
/// Nothing when the frame is not a greeting.
std::optional<LinkGreeting> parse_greeting(std::string_view frame);
inline constexpr std::string_view kLinkGone = "gone";

/// Lives on the loop's thread; made by make_shared.
class Resumable : public Transport, public std::enable_shared_from_this<Resumable> {
 public:
  explicit Resumable(boost::asio::io_context& loop) : loop_(loop), ack_timer_(loop) {}

  /// Resumes over a connection on which the greetings have been exchanged; the previous connection is closed.
  /// `other_received`: from the other side's greeting.
  void attach(std::shared_ptr<Transport> connection, std::uint64_t other_received);
  /// Called when a connection ends but the link does not; `reason` as in Transport::Handlers::on_end.
  void on_detach(ReasonHandler action) { on_detach_ = std::move(action); }
  /// How many messages have been received so far.
  std::uint64_t received() const { return received_; }
  bool attached() const { return connection_ != nullptr; }
  /// Ends the link as if the other side had ended it.
  void give_up(const std::string& reason);

  void start(Handlers handlers) override;
  void send(std::string message) override;
  void close() override;
  void limit_messages(std::size_t bytes) override;
  bool idle() const override { return unacknowledged_.empty() || over_; }

 private:
  void read();
  void receive(std::string frame);
  void acknowledge_soon();
  void drop_acknowledged(std::uint64_t count);

  boost::asio::io_context& loop_;
  std::shared_ptr<Transport> connection_;  ///< null between two connections
  std::shared_ptr<Handlers> handlers_;
  ReasonHandler on_detach_;
  std::deque<std::string> unacknowledged_;
  std::size_t waiting_bytes_ = 0;   ///< in unacknowledged_
  std::uint64_t acknowledged_ = 0;  ///< messages that the other side has; they are no longer kept
  std::uint64_t received_ = 0;
  boost::asio::steady_timer ack_timer_;
  bool ack_waits_ = false;
  std::size_t limit_ = kMaxMessageBytes;
  bool over_ = false;
};

}  // namespace ridgeline::lsp
