// What messages of the Model Context Protocol say: versions, capabilities, tools, answers of the person. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/json_rpc.h"
#include "protocol/lsp.h"

namespace ridgeline::assistant {

using protocol::Json;

inline constexpr const char* kModernVersion = "2026-07-28";
inline constexpr std::array<const char*, 2> kLegacyVersions = {"2025-11-25", "2025-06-18"};
inline constexpr int kUnsupportedVersion = -32022;
inline constexpr const char* kMetaVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr const char* kMetaCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr const char* kMetaLogLevel = "io.modelcontextprotocol/logLevel";

/// The input schema of the tool `more`, which is not in the table.
extern const char* const kMoreInput;

/// Newest first.
Json supported_versions();
Json server_info();
Json server_capabilities();
/// tools/list, with `more`.
Json tool_list();

/// Whether a client with these capabilities can ask the person by a form.
bool can_ask(const Json& capabilities);
/// Whether an elicitation's answer, which is untrusted, is the person's consent.
bool is_consent(const Json& answer);
/// What the client calls the request's progress; nothing: it wants none.
std::optional<Json> progress_token_of(const protocol::Request& request);

/// The names of levels, and their order: less is less severe. Unknown ones are above all.
const char* level_of(protocol::MessageType type);
int severity(std::string_view level);

/// What a failed request of the language server says, with the user's frames and the last output.
std::string failure_text(const protocol::ResponseError& error);

}  // namespace ridgeline::assistant
