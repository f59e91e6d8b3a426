// Names of modules and parameters as the model itself has them, from those of recordings.
#pragma once

#include <string>

namespace ridgeline::jobs {

/// The path of a recorded module in its model: "blocks.0" for "Net.blocks.0", "" for the model itself. A name that says
/// which of several models it is in, such as "Net[1].blocks.0", is returned as it is.
inline std::string path_in_model(const std::string& name) {
  const std::size_t dot = name.find('.');
  if (name.substr(0, dot).ends_with(']')) {
    return name;
  }
  return dot == std::string::npos ? "" : name.substr(dot + 1);
}

/// The path of the module that a parameter belongs to.
inline std::string module_of(const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

/// Whether the module is the other one, or inside it. Everything is inside "", the model.
inline bool is_inside(const std::string& module, const std::string& outer) {
  if (outer.empty() || module == outer) {
    return true;
  }
  return module.size() > outer.size() && module.starts_with(outer) && module[outer.size()] == '.';
}

}  // namespace ridgeline::jobs
