#include "session/uri.h"

#include <algorithm>
#include <utility>

#include "base/path.h"

namespace ridgeline::session {

namespace {

constexpr std::string_view kScheme = "file:";

bool is_letter(char letter) { return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'); }

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

bool is_plain(char letter) {
  return is_letter(letter) || (letter >= '0' && letter <= '9') ||
         std::string_view("-._~/").find(letter) != std::string_view::npos;
}

std::optional<unsigned> hex_digit(char digit) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t value = kDigits.find(lower(digit));
  return value == std::string_view::npos ? std::nullopt : std::optional(static_cast<unsigned>(value));
}

std::optional<std::string> decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded.push_back(text[i]);
      continue;
    }
    const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = high.has_value() ? hex_digit(text[i + 2]) : std::nullopt;
    if (!low.has_value()) {
      return std::nullopt;
    }
    decoded.push_back(static_cast<char>(*high * 16 + *low));
    i += 2;
  }
  return decoded.find('\0') == std::string::npos ? std::optional(std::move(decoded)) : std::nullopt;
}

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

}  // namespace

std::optional<std::string> path_of_uri(std::string_view uri) {
  const bool is_file =
      uri.size() > kScheme.size() && std::equal(kScheme.begin(), kScheme.end(), uri.begin(),
                                                [](char wanted, char letter) { return wanted == lower(letter); });
  if (!is_file) {
    return std::nullopt;
  }
  uri.remove_prefix(kScheme.size());
  uri = uri.substr(0, uri.find_first_of("?#"));
  std::string_view host;
  if (uri.starts_with("//")) {
    uri.remove_prefix(2);
    host = uri.substr(0, uri.find('/'));
    uri.remove_prefix(host.size());
  }
  std::optional<std::string> path = decode(uri);
  if (!path.has_value() || !path->starts_with('/')) {
    return std::nullopt;
  }
  // Another machine's: \\host\share of Windows.
  const bool is_here = host.empty() || host == "localhost";
  return is_here ? with_small_drive(std::move(*path)) : "//" + std::string(host) + *path;
}

std::string uri_of_path(std::string_view path) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri = path.starts_with("//") ? "file:" : "file://";
  for (const char letter : path) {
    if (is_plain(letter)) {
      uri.push_back(letter);
    } else {
      const auto byte = static_cast<unsigned char>(letter);
      uri.append({'%', kDigits[byte >> 4U], kDigits[byte & 0xFU]});
    }
  }
  return uri;
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

}  // namespace ridgeline::session
