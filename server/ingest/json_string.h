// What stands between the quotes of a string in JSON.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::ingest {

/// `raw` with its escapes resolved. False where one of them is none of JSON's; `text` is then of no use. A path of
/// Windows that was written without escapes is taken as it is, also where its backslashes happen to be escapes of JSON,
/// as in C:\new\train.py.
bool unescape(std::string_view raw, std::string& text);

/// `text` with U+FFFD in place of each byte that is not UTF-8.
std::string valid_utf8(std::string_view text);
bool is_valid_utf8(std::string_view text);

}  // namespace ridgeline::ingest
