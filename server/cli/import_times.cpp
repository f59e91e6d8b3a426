#include "cli/import_times.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/own_operations.h"
#include "app/profiling/kept_profiles.h"
#include "base/file.h"
#include "base/path.h"
#include "base/result.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "operations/table/operation_table.h"
#include "operations/table/time_csv.h"
#include "report/operation_times.h"

namespace ridgeline::cli {

namespace {

using operations::CsvFormat;
using operations::CsvOptions;
using operations::Merged;
using operations::OperationTable;

struct ImportOptions {
  std::vector<std::string> files;
  std::string format;  ///< empty: files of `export`
  CsvOptions csv;
};

base::Result<Merged> import_csv(OperationTable& table, const std::string& path, CsvOptions csv) {
  const auto text = base::read_text(path, operations::kMaxCsvBytes);
  if (!text) {
    return text.error();
  }
  csv.measured_s = app::seconds_since_1970();
  csv.source = csv.source.empty() ? std::string(base::file_name(path)) : csv.source;
  const auto rows = operations::parse_times(*text, path, csv);
  if (!rows) {
    return rows.error();
  }
  return table.add_rows(*rows);
}

int merge_into(OperationTable& table, const ImportOptions& options) {
  std::string text;
  for (const std::string& file : options.files) {
    const auto merged = options.format.empty() ? table.merge(file) : import_csv(table, file, options.csv);
    if (!merged) {
      return fail(merged.error(), kExitEntryFailed);
    }
    text += report::text_merged(file, *merged);
  }
  return write_out(text, {});
}

void take_column(std::map<std::string, std::string>& columns, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw CLI::ValidationError("--column", text + " is not NAME=COLUMN");
  }
  columns[text.substr(0, equals)] = text.substr(equals + 1);
}

void add_import_times_command(CLI::App& operations, int& exit_code) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = operations.add_subcommand("import", "Add the times of files to this machine's table.");
  command->add_option("FILES", options->files, "Files that `export` or `merge` wrote; with --format, CSV files")
      ->required();
  CLI::Option* format =
      command
          ->add_option("--format", options->format,
                       "Import CSV with the columns of this format, listed in docs/user/operations.md")
          ->check(CLI::IsMember({"operations", "matmul"}));
  const auto of_csv = [&](const std::string& name, std::string& value, const std::string& description) {
    command->add_option(name, value, description)->needs(format);
  };
  of_csv("--device", options->csv.device,
         "Device of all rows, as its driver names it, where the CSV has no such column");
  of_csv("--dtype", options->csv.dtype,
         "Type of the matrices of all rows, where the CSV has no such column; default: float32");
  of_csv("--torch", options->csv.torch, "Version of torch of all rows, where the CSV has no such column");
  of_csv("--source", options->csv.source,
         "Source of all rows, where the CSV has no such column; default: the file's name");
  command
      ->add_option("--column",
                   "Read the column NAME from the CSV's column COLUMN, as in time_ms=Latency; may be repeated")
      ->needs(format)
      ->each([options](const std::string& text) { take_column(options->csv.columns, text); })
      ->take_all();
  command->footer(
      "Examples:\n"
      "  ridgeline operations import team.sqlite\n"
      "  ridgeline operations import gemm.csv --format matmul --device \"Tesla T4\" --column time_ms=Latency");
  command->callback([options, &exit_code] {
    options->csv.format = options->format == "matmul" ? CsvFormat::kMatmul : CsvFormat::kOperations;
    auto table = app::own_operation_table();
    exit_code = table ? merge_into(*table, *options) : fail(table.error(), kExitEntryFailed);
  });
}

}  // namespace

void add_import_and_merge_commands(CLI::App& operations, int& exit_code) {
  add_import_times_command(operations, exit_code);
  auto options = std::make_shared<ImportOptions>();
  auto into = std::make_shared<std::string>();
  CLI::App* merging =
      operations.add_subcommand("merge", "Merge files of times into one, and report conflicting entries.");
  merging->add_option("--output", *into, "File to add to; created if it is missing")->required();
  merging->add_option("FILES", options->files, "Files that `export` or `merge` wrote")->required();
  merging->footer(
      "Examples:\n"
      "  ridgeline operations merge --output team.sqlite mine.sqlite yours.sqlite\n"
      "  ridgeline operations merge --output all.sqlite times/*.sqlite");
  merging->callback([options, into, &exit_code] {
    auto table = OperationTable::open(*into);
    exit_code = table ? merge_into(*table, *options) : fail(table.error(), kExitEntryFailed);
  });
}

}  // namespace ridgeline::cli
