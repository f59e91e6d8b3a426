// How --help shows options: the kind of value in the words of users, not the types and validators of the library.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace ridgeline::cli {

/// For an app; its subcommands inherit it. The value of an option is SIZE, N, SECONDS, FILE and the like, a choice is
/// `text|json`, and a default is in brackets.
std::shared_ptr<CLI::Formatter> help_format();

}  // namespace ridgeline::cli
