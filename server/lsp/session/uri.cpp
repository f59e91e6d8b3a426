#include "lsp/session/uri.h"

#include <algorithm>
#include <boost/url/encode.hpp>
#include <boost/url/grammar/lut_chars.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <boost/url/url_view.hpp>
#include <utility>

#include "base/path.h"

namespace ridgeline::lsp {

namespace {

namespace urls = boost::urls;

/// Not encoded in what we write: as VS Code does.
constexpr auto kPlain = urls::unreserved_chars + urls::grammar::lut_chars('/');
/// May stand in a URI that we read. Some editors leave blanks, brackets and what is not ASCII as they are.
constexpr auto kAllowed = urls::unreserved_chars + urls::grammar::lut_chars("/:@!$&'()*+,;=");

bool is_letter(char letter) { return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'); }

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

/// /C:/work → /c:/work: one drive has one name.
std::string with_small_drive(std::string path) {
  if (path.size() >= 3 && path[0] == '/' && is_letter(path[1]) && path[2] == ':') {
    path[1] = lower(path[1]);
  }
  return path;
}

/// A folder as a user writes it, as it stands in a URI: C:\work\ → /c:/work.
std::string normal_folder(std::string folder) {
  if (folder.size() >= 2 && is_letter(folder[0]) && folder[1] == ':') {
    std::replace(folder.begin(), folder.end(), '\\', '/');
    folder.insert(folder.begin(), '/');
  }
  while (folder.size() > 1 && folder.back() == '/') {
    folder.pop_back();
  }
  return with_small_drive(std::move(folder));
}

bool is_in(std::string_view path, std::string_view folder) { return path == folder || base::is_below(path, folder); }

std::string moved(const std::vector<PathMap>& maps, std::string path, std::string PathMap::*from,
                  std::string PathMap::*to) {
  const PathMap* best = nullptr;
  for (const PathMap& map : maps) {
    if (is_in(path, map.*from) && (best == nullptr || (map.*from).size() > (best->*from).size())) {
      best = &map;
    }
  }
  if (best == nullptr) {
    return path;
  }
  std::string rest = path.substr((best->*from).size());
  if (!rest.empty() && rest.front() != '/') {
    rest.insert(rest.begin(), '/');  // `from` was "/"
  }
  const std::string& folder = best->*to;
  return folder == "/" && !rest.empty() ? rest : folder + rest;
}

/// Encodes what a URI must not hold, and leaves what is encoded already.
std::string encode_rest(std::string_view uri) {
  std::string encoded;
  for (std::size_t begin = 0; begin <= uri.size();) {
    const std::size_t end = std::min(uri.find('%', begin), uri.size());
    encoded += urls::encode(uri.substr(begin, end - begin), kAllowed);
    if (end < uri.size()) {
      encoded += '%';
    }
    begin = end + 1;
  }
  return encoded;
}

}  // namespace

std::optional<std::string> path_of_uri(std::string_view uri) {
  const std::string strict = encode_rest(uri.substr(0, uri.find_first_of("?#")));
  const auto parsed = urls::parse_uri(strict);
  if (!parsed || parsed->scheme_id() != urls::scheme::file) {
    return std::nullopt;
  }
  std::string path = parsed->path();
  if (!path.starts_with('/') || path.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  // Another machine's: \\host\share of Windows.
  const std::string host = parsed->host();
  const bool is_here = host.empty() || host == "localhost";
  return is_here ? with_small_drive(std::move(path)) : "//" + host + path;
}

std::string uri_of_path(std::string_view path) {
  return (path.starts_with("//") ? "file:" : "file://") + urls::encode(path, kPlain);
}

std::optional<PathMap> parse_path_map(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size()) {
    return std::nullopt;
  }
  return PathMap{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

PathMaps::PathMaps(std::vector<PathMap> maps) {
  for (PathMap& map : maps) {
    add(std::move(map));
  }
}

void PathMaps::add(PathMap map) {
  maps_.push_back({normal_folder(std::move(map.local)), normal_folder(std::move(map.remote))});
}

std::string PathMaps::to_ours(std::string path) const {
  return moved(maps_, std::move(path), &PathMap::local, &PathMap::remote);
}

std::string PathMaps::to_theirs(std::string path) const {
  return moved(maps_, std::move(path), &PathMap::remote, &PathMap::local);
}

}  // namespace ridgeline::lsp
