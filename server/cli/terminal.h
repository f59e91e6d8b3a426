// What a command says on standard error: the one place that text from outside (hosts, paths, exceptions) goes through.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::cli {

/// Lines stay lines; each is made safe for a terminal (protocol/shown_text.h) and ends with a newline.
std::string printable_lines(std::string_view text);

/// Whether TERM says that the terminal knows no escape sequences.
bool is_dumb_terminal();

/// A report or a failure's text on standard error as it is, and flushed. It is printable.
void write_to_error(std::string_view printable);

/// "ridgeline: TEXT" and a newline on standard error, made printable, and flushed. Further lines of the text are
/// indented: none can pass for a message of ours.
void print_error(std::string_view text);

/// Each line of `text` as a warning of ours.
void warn(std::string_view text);

}  // namespace ridgeline::cli
