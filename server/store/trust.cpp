#include "store/trust.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

namespace ridgeline::store {

namespace {

using nlohmann::json;

constexpr std::size_t kMostTrusted = 1024;
constexpr const char* kFile = "/trust.json";

}  // namespace

bool identify(Trusted& trusted) {
  struct stat status {};
  // The repository's own folder is made anew with every clone; the project's may stay.
  const std::string repository = trusted.project_root + "/.git";
  if (::stat(repository.c_str(), &status) != 0 && ::stat(trusted.project_root.c_str(), &status) != 0) {
    return false;
  }
  trusted.device = status.st_dev;
  trusted.inode = status.st_ino;
  return true;
}

std::vector<Trusted> read_trust(const std::string& folder) {
  std::vector<Trusted> all;
  std::ifstream file(folder + kFile);
  const json value = json::parse(file, nullptr, false);
  if (!value.is_object() || !value.contains("trusted") || !value["trusted"].is_array()) {
    return all;
  }
  for (const json& one : value["trusted"]) {
    try {
      if (!one.at("device").is_number_unsigned() || !one.at("inode").is_number_unsigned()) {
        continue;
      }
      all.push_back({one.at("entry").get<std::string>(), one.at("projectRoot").get<std::string>(),
                     one.at("device").get<std::uint64_t>(), one.at("inode").get<std::uint64_t>()});
    } catch (const json::exception&) {
      continue;  // written by hand, perhaps: it trusts nobody
    }
  }
  return all;
}

bool add_trust(const std::string& folder, const Trusted& trusted, std::string& error) {
  std::vector<Trusted> all = read_trust(folder);
  std::erase_if(all, [&](const Trusted& one) { return one.entry == trusted.entry; });
  all.push_back(trusted);
  json array = json::array();
  for (auto one = all.size() > kMostTrusted ? all.end() - kMostTrusted : all.begin(); one != all.end(); ++one) {
    array.push_back(
        {{"entry", one->entry}, {"projectRoot", one->project_root}, {"device", one->device}, {"inode", one->inode}});
  }
  const std::string text =
      json{{"trusted", std::move(array)}}.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  std::string path = folder + kFile + ".XXXXXX";
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  const bool written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = file >= 0 && ::close(file) == 0;
  if (!written || !closed || ::rename(path.c_str(), (folder + kFile).c_str()) != 0) {
    error = "trust could not be kept in " + folder + ": " + std::strerror(errno);
    ::unlink(path.c_str());
    return false;
  }
  return true;
}

bool is_trusted(const std::string& folder, const Trusted& trusted) {
  const std::vector<Trusted> all = read_trust(folder);
  return std::ranges::find(all, trusted) != all.end();
}

}  // namespace ridgeline::store
