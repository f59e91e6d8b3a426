#include "source/script_slice.h"

#include <algorithm>
#include <utility>

namespace ridgeline::source {

namespace {

bool is_assignment_or_call(const ScriptStatement& statement) {
  return !statement.node.exists() || statement.node.is("expression_statement") || statement.is_import;
}

/// Wraps for several processes: the profile is of one.
bool only_distributes(const ScriptStatement& statement) {
  return std::ranges::any_of(statement.names.calls, [](const CalledName& call) {
    return call.name == "prepare" || call.name == "DistributedDataParallel" || call.name == "DDP" ||
           call.name == "init_process_group";
  });
}

}  // namespace

bool have_common(const NameSet& one, const NameSet& other) {
  const bool smaller = one.size() <= other.size();
  const NameSet& few = smaller ? one : other;
  const NameSet& many = smaller ? other : one;
  return std::ranges::any_of(few, [&](std::string_view name) { return many.contains(name); });
}

void Slice::merge(const Slice& other) {
  statements.insert(other.statements.begin(), other.statements.end());
  imported.insert(other.imported.begin(), other.imported.end());
  missing.insert(other.missing.begin(), other.missing.end());
}

bool Slicer::is_imported(const ScriptStatement& statement) const {
  const StatementNames& names = statement.names;
  return import_ && statement.of_module && !statement.is_import && !have_common(names.writes, models_) &&
         !have_common(names.changes, models_) && !have_common(names.reads, models_);
}

Slice Slicer::slice(const NameSet& roots, const NameSet& given) const {
  constexpr int kMaxPasses = 32;
  Slice slice;
  NameSet of_definitions;  // they may be used above the place where they are defined
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const std::size_t before = slice.statements.size() + slice.imported.size() + of_definitions.size();
    NameSet needed = roots;
    needed.insert(of_definitions.begin(), of_definitions.end());
    const auto without_given = [&] {
      std::erase_if(needed, [&](std::string_view name) { return given.contains(name); });
    };
    without_given();
    for (std::size_t i = script_.statements.size(); i > 0; --i) {
      const ScriptStatement& statement = script_.statements[i - 1];
      const StatementNames& names = statement.names;
      if (only_distributes(statement)) {
        continue;
      }
      const bool writes = have_common(names.writes, needed);
      if (!writes && !have_common(names.changes, needed)) {
        continue;
      }
      if (is_imported(statement)) {
        for (const std::string_view name : names.writes) {
          if (needed.erase(name) > 0) {
            slice.imported.insert(name);
          }
        }
        continue;
      }
      const bool imports_only = std::ranges::all_of(names.changes, [&](std::string_view name) {
        return std::ranges::any_of(script_.statements, [&](const ScriptStatement& other) {
          return other.is_import && other.names.writes.contains(name);
        });
      });
      if (!writes && imports_only) {
        continue;  // `torch.manual_seed(0)`
      }
      slice.statements.insert(i - 1);
      if (is_assignment_or_call(statement) || statement.is_definition) {
        std::erase_if(needed, [&](std::string_view name) { return names.writes.contains(name); });
      }
      NameSet& readers = statement.is_definition ? of_definitions : needed;
      readers.insert(names.reads.begin(), names.reads.end());
      needed.insert(names.reads.begin(), names.reads.end());
      without_given();
    }
    slice.missing = std::move(needed);
    if (slice.statements.size() + slice.imported.size() + of_definitions.size() == before) {
      break;
    }
  }
  return slice;
}

StepBody step_body(const TrainingScript& script) {
  StepBody body;
  for (std::size_t i = script.body.size(); i > 0; --i) {
    const ScriptStatement& statement = script.body[i - 1];
    const StatementNames& names = statement.names;
    if (!is_part_of_step(script, names) && !have_common(names.writes, body.exposed) &&
        !have_common(names.changes, body.exposed)) {
      continue;
    }
    body.statements.insert(body.statements.begin(), &statement);
    if (is_assignment_or_call(statement) || statement.node.is("with_statement")) {
      std::erase_if(body.exposed, [&](std::string_view name) { return names.writes.contains(name); });
    }
    body.exposed.insert(names.reads.begin(), names.reads.end());
    body.writes.insert(names.writes.begin(), names.writes.end());
  }
  return body;
}

}  // namespace ridgeline::source
