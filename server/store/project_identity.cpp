#include "store/project_identity.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "store/repository_mark.h"

namespace ridgeline::store {

namespace {

std::string folder_of(const std::string& entry) { return std::filesystem::path(entry).parent_path().string(); }

bool has_birth(const FileIdentity& place) { return place.birth_ns != 0; }

}  // namespace

std::optional<ProjectIdentity> identify(const std::string& entry, const std::string& project_root,
                                        const IdentityOf& identity_of) {
  ProjectIdentity identity;
  identity.entry = entry;
  identity.project_root = project_root;
  const std::string folder = folder_of(entry);
  const std::optional<Repository> repository = find_repository(folder);
  identity.in_repository = repository.has_value();
  identity.anchor = repository.has_value() ? repository->dot_git : entry;
  for (const std::string& place : {project_root, folder, identity.anchor}) {
    const std::optional<FileIdentity> found = identity_of(place);
    if (!found.has_value()) {
      return std::nullopt;
    }
    identity.places.push_back(*found);
  }
  bool marked_here = false;
  if (repository.has_value()) {
    const std::optional<std::string> digits = read_mark(*repository);
    const std::optional<FileIdentity> file = digits.has_value() ? identity_of(mark_file(*repository)) : std::nullopt;
    if (file.has_value()) {
      identity.mark = Mark{*digits, *file};
      // Goes with the entry's folder, whatever the file system remembers.
      marked_here = repository->dot_git == repository->folder && repository->dot_git == folder + "/.git";
    }
  }
  identity.lasting = marked_here || std::ranges::all_of(identity.places, has_birth);
  return identity;
}

void leave_mark_for(const std::string& entry) {
  if (const std::optional<Repository> repository = find_repository(folder_of(entry))) {
    leave_mark(*repository);
  }
}

bool covers(const ProjectIdentity& agreed, const ProjectIdentity& now) {
  return agreed.entry == now.entry && agreed.project_root == now.project_root && agreed.places == now.places &&
         (!agreed.mark.has_value() || agreed.mark == now.mark);
}

bool covers_but_for_the_file(const ProjectIdentity& agreed, const ProjectIdentity& now) {
  if (agreed.in_repository || now.in_repository) {
    return false;
  }
  ProjectIdentity same_file = now;
  same_file.places.back() = agreed.places.back();
  return covers(agreed, same_file);
}

}  // namespace ridgeline::store
