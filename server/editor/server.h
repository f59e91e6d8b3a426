// The server: what all sessions share, and the table of its methods.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/function_ref.h"
#include "base/lifetime.h"
#include "editor/batch_size_writer.h"
#include "editor/entries.h"
#include "editor/profiling_flow.h"
#include "editor/trials.h"
#include "editor/what_if_flow.h"
#include "editor/workspace.h"
#include "lsp/session/method_table.h"
#include "lsp/session/session.h"

namespace ridgeline::editor {

/// Outlives its sessions. Lives on the loop.
class Server : public lsp::SessionListener, private EntriesListener, private Trials::Ports {
 public:
  explicit Server(boost::asio::io_context& loop);

  /// For the sessions; refers to this server.
  const lsp::Service& service() const { return service_; }
  /// Ends the profiles and their worker, and what is read of texts, so that the loop can run out of work.
  void stop() {
    trial_timer_.cancel();
    entries_.stop();
    thread_.stop();
  }

  void initialized(lsp::Session& session) override;
  void ended(lsp::Session& session) override;
  void document_opened(lsp::Session& session, const lsp::Document& document) override;
  void document_changed(lsp::Session& session, const lsp::Document& document,
                        std::span<const lsp::ByteEdit> edits) override;
  void document_saved(lsp::Session& session, const lsp::Document& document) override;
  void document_closed(lsp::Session& session, const lsp::Document& document) override;
  void configuration_changed(lsp::Session& session) override;

 private:
  struct Client {
    Client(lsp::Session& session, Entries& entries, SourceThread& thread)
        : workspace(session, entries, thread), writer(workspace) {}
    Workspace workspace;
    BatchSizeWriter writer;
  };

  Client& client_of(lsp::Session& session);
  void files_changed(lsp::Session& session, const protocol::Json& params);
  void entry_changed(const Entry& entry) override;
  void phase_changed(const Entry& entry) override;
  void wake_at(Trials::Clock::time_point at) override;
  void decide(const Trials::Document& document, Trials::DecisionHandler decided) override;
  void cancel(const std::string& path) override;
  void explain(const std::string& path, int batch_size, const std::string& why) override;
  base::Task<void> decide_trial_of(Trials::Document document, Trials::DecisionHandler decided);
  std::optional<TrialDecision> decision_on(const Trials::Document& document, base::FunctionRef<bool()> has_consent);

  lsp::Service service_;
  SourceThread thread_;
  std::map<std::uint64_t, std::unique_ptr<Client>> clients_;  ///< by the session's id
  Entries entries_;
  ProfilingFlow flow_;
  WhatIfFlow what_if_;
  boost::asio::steady_timer trial_timer_;
  Trials trials_;
  base::Lifetime lifetime_;
};

}  // namespace ridgeline::editor
