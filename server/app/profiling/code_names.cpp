#include "app/profiling/code_names.h"

#include <algorithm>

namespace ridgeline::app {

namespace {

/// Whether `c` can be in a Python identifier; scripts other than Latin are left to Python.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_identifier(std::string_view name) {
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

std::string why_without_lines(const protocol::NamedPackage& package) {
  if (package.imported) {
    return "it has no Python code";
  }
  return "nothing of that name was imported; name a package as `import` does" +
         (package.similar.empty() ? "" : ", such as " + package.similar);
}

}  // namespace

std::string code_name_problem(std::string_view name) {
  constexpr std::size_t kLongest = 256;
  bool is_name = name.size() <= kLongest;
  for (std::string_view rest = name; is_name;) {
    const std::size_t dot = rest.find('.');
    is_name = is_identifier(rest.substr(0, dot));
    if (dot == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(dot + 1);
  }
  return is_name ? "" : "\"" + std::string(name.substr(0, kLongest)) + "\" is not the import name of a package";
}

std::vector<std::string> normalised(std::vector<std::string> names) {
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

std::vector<analysis::CodePackage> imported_code(const std::vector<protocol::NamedPackage>& packages,
                                                 std::vector<std::string>& warnings) {
  std::vector<analysis::CodePackage> code;
  for (const protocol::NamedPackage& package : packages) {
    if (package.places.empty()) {
      warnings.push_back("The lines of " + package.name + " are not shown: " + why_without_lines(package) + ".");
    } else {
      code.push_back({package.name, package.places});
    }
  }
  return code;
}

}  // namespace ridgeline::app
