// A whole session of the server for assistants: lines of JSON-RPC, of either revision of its protocol or neither.
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "assistant/mcp_server.h"
#include "lsp/transport/local_pair.h"
#include "tests/fuzz/client.h"

using namespace ridgeline;

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  fuzz::make_cache();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static boost::asio::io_context loop;
  static editor::Server server(loop);
  static const lsp::Service service = fuzz::service_of(server);
  static const std::string folder = std::filesystem::temp_directory_path().string();
  fuzz::Input input(data, size);
  auto [ours, theirs] = lsp::make_local_pair(loop);
  ours->start({[](const std::string&) {}, [](const std::string&) {}});
  assistant::McpServer mcp(loop, theirs, service, {folder, false, "/bin/true", ""}, [] {});
  mcp.start();
  while (!input.empty()) {
    ours->send(std::string(input.until('\n')));
    fuzz::poll(loop);
  }
  mcp.stop();
  ours->close();
  fuzz::poll(loop);
  return 0;
}
