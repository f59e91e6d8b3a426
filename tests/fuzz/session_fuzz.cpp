// A whole session of the language server: lines of JSON-RPC, from `initialize` on or not.
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "tests/fuzz/client.h"

using namespace ridgeline;

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  fuzz::make_cache();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // One server for all sessions, as in a daemon: a session leaves nothing behind that breaks the next one.
  static boost::asio::io_context loop;
  static editor::Server server(loop);
  static const lsp::Service service = fuzz::service_of(server);
  fuzz::Input input(data, size);
  const auto client = std::make_shared<fuzz::Client>();
  auto session = fuzz::begin(loop, service, client);
  while (!input.empty()) {
    client->say(input.until('\n'));
    fuzz::poll(loop);
  }
  session->end("the input is over");
  session.reset();
  fuzz::poll(loop);
  return 0;
}
