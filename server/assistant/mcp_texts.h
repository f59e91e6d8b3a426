// What the server tells assistants about itself: instructions, prompts, and the skill.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "protocol/json_rpc.h"

namespace ridgeline::assistant {

using protocol::Json;

/// For the model, of the whole server.
extern const char* const kInstructions;

/// SKILL.md, as `ridgeline init --assistant` writes it.
std::string skill();

/// prompts/list.
Json prompts();
/// prompts/get; nothing: there is no such prompt. `file`: the entry point.
std::optional<Json> prompt(const std::string& name, const std::string& file);

/// A profile that was made in this session, as the tool answered it.
struct KeptAnswer {
  std::string profile_id;
  std::string file;  ///< as the project names it
  std::string text;
};

/// An entry of resources/list. `file`: in quotes.
Json profile_resource(const std::string& profile_id, const std::string& file, const std::string& description);
/// The id in the address of a profile; nothing: it is none.
std::optional<std::string> profile_id_of(const std::string& uri);

/// resources/list, without what is stored; the newest profiles first.
Json resources(const std::deque<KeptAnswer>& profiles);
/// The text and the MIME type of a resource; nothing: there is none.
std::optional<std::pair<std::string, std::string>> resource(const std::string& uri,
                                                            const std::deque<KeptAnswer>& profiles);

}  // namespace ridgeline::assistant
