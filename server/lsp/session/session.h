// One client, from `initialize` to `exit`: lifecycle, dispatch, documents, and what we ask of the client.
//
// All of it lives on one Asio loop; no call blocks. What the server can do comes from outside, as a Service.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "lsp/session/cancel.h"
#include "lsp/session/documents.h"
#include "lsp/session/method_table.h"
#include "lsp/session/process_watch.h"
#include "lsp/session/progress.h"
#include "lsp/session/uri.h"
#include "lsp/transport/transport.h"
#include "protocol/client_capabilities.h"
#include "protocol/json_rpc.h"
#include "protocol/lsp.h"

namespace ridgeline::lsp {

struct SessionOptions {
  PathMaps path_maps;
  /// Watches initialize.processId; a test passes its own.
  WatchProcess watch_process = watch_process_end;
};

/// What a client answers to a request of ours.
using ClientAnswer = Outcome;
using AnswerHandler = std::function<void(ClientAnswer)>;

class Session : public std::enable_shared_from_this<Session> {
 public:
  /// 0 after `shutdown`, else 1: what a process that served only this session exits with.
  using OnEnd = std::function<void(int exit_code)>;

  Session(boost::asio::io_context& loop, std::shared_ptr<Transport> transport, const Service& service,
          SessionOptions options, OnEnd on_end);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Begins to listen. `on_end` is called once, from the loop, never from inside a call to the session.
  void start();
  /// Ends it as `exit` would: requests are cancelled, callbacks dropped, the listener notified, pending
  /// output sent, the transport closed.
  void end(std::string_view reason);

  std::uint64_t id() const { return id_; }  ///< of all sessions of this process, never reused
  boost::asio::io_context& loop() { return loop_; }
  /// Between the client's `initialized` and the end.
  bool running() const { return state_ == State::kRunning; }
  /// The client has sent `initialize`, at some time.
  bool was_initialized() const { return was_initialized_; }
  /// Valid once the client has sent `initialize`.
  const protocol::InitializeParams& client() const { return client_; }
  const protocol::ClientCapabilities& capabilities() const { return client_.capabilities; }
  PositionEncoding encoding() const { return encoding_; }
  const std::vector<protocol::WorkspaceFolder>& folders() const { return folders_; }
  /// Our section of the client's settings; null until it has come.
  const protocol::Json& settings() const { return settings_; }
  const Documents& documents() const { return documents_; }

  /// Our path of the client's URI, through the path maps and, as runs and figures know files, symbolic links. Nothing
  /// when it is no file.
  std::optional<std::string> path_of(std::string_view uri) const;
  /// The client's URI of our path: as the client wrote it where it has the file open.
  std::string uri_of(const std::string& path) const;

  void notify(std::string method, protocol::Json params);
  /// `callback` is called once, when the client answers; not at all if the session ends before. Returns the id.
  std::int64_t request(std::string method, protocol::Json params, AnswerHandler callback = {});
  /// Asks the client to cancel a request of ours. It still answers.
  void cancel_request(std::int64_t id);
  /// client/registerCapability. The caller has checked the client's dynamicRegistration. A refusal of the client is
  /// logged.
  void register_capabilities(std::vector<protocol::Registration> registrations);

  /// window/logMessage, and our own log.
  void log(protocol::MessageType type, const std::string& text);
  /// window/showMessage.
  void show(protocol::MessageType type, const std::string& text);
  /// window/showMessageRequest: the title that was chosen, or nothing: dismissed, or the client answers with an error.
  /// LSP has no capability for it: eglot answers without announcing anything.
  void ask(protocol::MessageType type, const std::string& text, const std::vector<std::string>& choices,
           std::function<void(std::optional<std::string>)> callback);

 private:
  friend class Progress;
  enum class State : std::uint8_t { kStarted, kInitializing, kRunning, kShutDown, kEnded };
  struct PendingRequest {
    std::uint64_t serial = 0;  ///< an id may be reused once it was answered
    std::string method;
    CancelSource cancel;
    bool dropped = false;  ///< nobody will answer it
  };

  // session.cpp: lifecycle, what goes out and what comes in
  void receive(const std::string& text);
  void initialize(const protocol::RequestId& id, const protocol::Json& params);
  protocol::Json server_capabilities() const;
  void on_initialized(const protocol::Json& params);
  void watch_client_process();
  void send(const protocol::Message& message);
  void send_answer(const std::optional<protocol::RequestId>& id, Outcome outcome);
  /// Runs a callback; an exception that it throws is logged.
  void guarded(std::string_view what, base::FunctionRef<void()> body);
  void notify_listener(std::string_view what, base::FunctionRef<void(SessionListener&)> body);

  // dispatch.cpp: requests and their answers
  void handle(protocol::Request request);
  void handle(protocol::Notification notification);
  void handle(protocol::Response response);
  /// What has to be answered instead of running the request; nothing when it may run.
  std::optional<protocol::ResponseError> refusal(const protocol::Request& request) const;
  void dispatch(const protocol::Request& request, const RequestHandler& handler);
  void answer(const protocol::RequestId& id, std::uint64_t serial, std::optional<Outcome> outcome);
  void cancel(const protocol::Json& params);
  void cancel_all();

  // client_state.cpp: documents, folders, settings
  using OwnHandler = void (Session::*)(const protocol::Json& params);
  static OwnHandler own_handler(std::string_view method);
  void add_path_maps();
  void set_trace(const protocol::Json& params);
  void cancel_progress(const protocol::Json& params);
  void change_folders(const protocol::Json& params);
  void change_configuration(const protocol::Json& params);
  void pull_configuration();
  void take_settings(protocol::Json settings);
  void open_document(const protocol::Json& params);
  void change_document(const protocol::Json& params);
  void save_document(const protocol::Json& params);
  void close_document(const protocol::Json& params);

  boost::asio::io_context& loop_;
  std::shared_ptr<Transport> transport_;
  const Service& service_;
  SessionOptions options_;
  OnEnd on_end_;
  std::uint64_t id_;
  State state_ = State::kStarted;
  bool was_initialized_ = false;
  protocol::InitializeParams client_;
  PositionEncoding encoding_ = PositionEncoding::kUtf16;
  std::vector<protocol::WorkspaceFolder> folders_;
  protocol::Json settings_;
  Documents documents_;
  std::map<protocol::RequestId, PendingRequest> pending_;
  std::uint64_t last_serial_ = 0;
  std::uint64_t dispatching_ = 0;  ///< serial of the request whose handler runs now
  std::map<std::int64_t, std::pair<std::string, AnswerHandler>> asked_;  ///< with the method
  std::int64_t last_asked_ = 0;
  std::map<protocol::ProgressToken, std::weak_ptr<Progress::State>> progress_;
  std::int64_t last_token_ = 0;
  std::shared_ptr<void> client_process_;
};

}  // namespace ridgeline::lsp
