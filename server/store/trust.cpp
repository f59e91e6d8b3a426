#include "store/trust.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/file.h"

namespace ridgeline::store {

namespace {

using nlohmann::json;

constexpr std::size_t kMostTrusted = 1024;
constexpr const char* kFile = "/trust.json";

json to_json(const FileIdentity& place) {
  return {{"fileSystem", place.file_system}, {"inode", place.inode}, {"birthNs", place.birth_ns}};
}

std::uint64_t number_in(const json& object, const char* name) {
  const json& value = object.at(name);
  if (!value.is_number_unsigned()) {
    throw json::type_error::create(302, "a number above 0 is expected", &object);
  }
  return value.get<std::uint64_t>();
}

FileIdentity place_from(const json& value) {
  return {number_in(value, "fileSystem"), number_in(value, "inode"), number_in(value, "birthNs")};
}

json to_json(const ProjectIdentity& agreed) {
  json value = {{"entry", agreed.entry}, {"projectRoot", agreed.project_root}, {"places", json::array()}};
  for (const FileIdentity& place : agreed.places) {
    value["places"].push_back(to_json(place));
  }
  if (agreed.mark.has_value()) {
    value["mark"] = {{"digits", agreed.mark->digits}, {"file", to_json(agreed.mark->file)}};
  }
  return value;
}

/// Throws json::exception.
ProjectIdentity agreed_from(const json& value) {
  ProjectIdentity agreed;
  agreed.entry = value.at("entry").get<std::string>();
  agreed.project_root = value.at("projectRoot").get<std::string>();
  for (const json& place : value.at("places")) {
    agreed.places.push_back(place_from(place));
  }
  if (value.contains("mark")) {
    agreed.mark = Mark{value["mark"].at("digits").get<std::string>(), place_from(value["mark"].at("file"))};
  }
  agreed.lasting = true;
  return agreed;
}

}  // namespace

std::vector<ProjectIdentity> read_trust(const std::string& folder) {
  std::vector<ProjectIdentity> all;
  std::ifstream file(folder + kFile);
  const json value = json::parse(file, nullptr, false);
  if (!value.is_object() || !value.contains("trusted") || !value["trusted"].is_array()) {
    return all;
  }
  for (const json& one : value["trusted"]) {
    try {
      all.push_back(agreed_from(one));
    } catch (const json::exception&) {
      continue;  // of an older version, or edited by hand: nothing is trusted
    }
  }
  return all;
}

base::Result<void> add_trust(const std::string& folder, const ProjectIdentity& agreed) {
  std::vector<ProjectIdentity> all = read_trust(folder);
  std::erase_if(all, [&](const ProjectIdentity& one) { return one.entry == agreed.entry; });
  all.push_back(agreed);
  json array = json::array();
  for (auto one = all.size() > kMostTrusted ? all.end() - kMostTrusted : all.begin(); one != all.end(); ++one) {
    array.push_back(to_json(*one));
  }
  const std::string text =
      json{{"trusted", std::move(array)}}.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  if (const auto problem = base::write_atomically(folder + kFile, text, base::FileAccess::kOwner)) {
    return base::error("the permission could not be stored in " + folder + ": " + problem.message());
  }
  return {};
}

bool is_trusted(const std::string& folder, const ProjectIdentity& now) {
  return now.lasting &&
         std::ranges::any_of(read_trust(folder), [&](const ProjectIdentity& agreed) { return covers(agreed, now); });
}

bool was_trusted(const std::string& folder, const std::string& entry) {
  return std::ranges::any_of(read_trust(folder), [&](const ProjectIdentity& agreed) { return agreed.entry == entry; });
}

}  // namespace ridgeline::store
