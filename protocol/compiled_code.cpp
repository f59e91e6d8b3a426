#include "protocol/compiled_code.h"

#include <cmath>
#include <exception>
#include <utility>

#include "protocol/json_fields.h"
#include "protocol/json_rpc.h"

namespace ridgeline::recording {

namespace {

using protocol::InvalidValue;
using protocol::Json;

/// The elements of a row, which has so many.
const Json& row_of(const Json& json, std::size_t size) {
  if (!json.is_array() || json.size() != size) {
    throw InvalidValue("a row of compiled code has the wrong length");
  }
  return json;
}

template <typename Value, typename Read>
std::vector<Value> rows(const Json& json, const char* name, Read read) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array()) {
    throw InvalidValue(std::string(name) + " is no list");
  }
  std::vector<Value> values;
  values.reserve(found->size());
  for (const Json& row : *found) {
    values.push_back(read(row));
  }
  return values;
}

std::uint32_t index_below(const Json& json, std::size_t bound) {
  const auto index = json.get<std::int64_t>();
  if (index < 0 || static_cast<std::uint64_t>(index) >= bound) {
    throw InvalidValue("an index of compiled code is out of range");
  }
  return static_cast<std::uint32_t>(index);
}

std::vector<CompiledCode::Share> shares_of(const Json& json, std::size_t stacks) {
  if (!json.is_array() || json.size() > kMostShares) {
    throw InvalidValue("an owner of compiled code has too many shares");
  }
  std::vector<CompiledCode::Share> shares;
  double sum = 0;
  for (const Json& row : json) {
    shares.push_back({row_of(row, 2)[0].get<double>(), index_below(row[1], stacks)});
    sum += shares.back().weight;
    if (!(shares.back().weight > 0)) {
      throw InvalidValue("a share of compiled code is not positive");
    }
  }
  if (!shares.empty() && !(std::abs(sum - 1) < 1e-6)) {
    throw InvalidValue("the shares of compiled code do not sum to 1");
  }
  return shares;
}

CompiledCode::File file_of(const Json& json, std::size_t owners) {
  CompiledCode::File file{row_of(json, 2)[0].get<std::string>(), {}};
  for (const Json& row : json[1]) {
    const CompiledCode::Place place{row_of(row, 3)[0].get<std::uint32_t>(), row[1].get<std::uint32_t>(),
                                    index_below(row[2], owners)};
    if (place.last < place.first || (!file.places.empty() && place.first <= file.places.back().last)) {
      throw InvalidValue("the lines of compiled code are out of order");
    }
    file.places.push_back(place);
  }
  return file;
}

CompiledCode read(const Json& json) {
  CompiledCode code;
  code.modules = rows<CompiledCode::Module>(json, "modules", [](const Json& row) {
    return CompiledCode::Module{row_of(row, 5)[0].get<std::string>(), row[1].get<std::string>(),
                                row[2].get<std::string>(), row[3].get<std::uint32_t>(), row[4].get<std::uint64_t>()};
  });
  code.frames = rows<CompiledCode::Frame>(json, "frames", [&](const Json& row) {
    const auto module = row_of(row, 4)[3].get<std::int64_t>();
    if (module != -1) {
      index_below(row[3], code.modules.size());
    }
    return CompiledCode::Frame{row[0].get<std::string>(), row[1].get<std::string>(), row[2].get<std::uint32_t>(),
                               static_cast<std::int32_t>(module)};
  });
  code.stacks = rows<std::vector<std::uint32_t>>(json, "stacks", [&](const Json& row) {
    std::vector<std::uint32_t> frames;
    for (const Json& frame : row) {
      frames.push_back(index_below(frame, code.frames.size()));
    }
    return frames;
  });
  code.owners = rows<std::vector<CompiledCode::Share>>(
      json, "owners", [&](const Json& row) { return shares_of(row, code.stacks.size()); });
  code.files =
      rows<CompiledCode::File>(json, "files", [&](const Json& row) { return file_of(row, code.owners.size()); });
  code.breaks = rows<CompiledCode::Break>(json, "breaks", [](const Json& row) {
    return CompiledCode::Break{row_of(row, 5)[0].get<std::string>(), row[1].get<std::uint32_t>(),
                               row[2].get<std::string>(), row[3].get<std::string>(), row[4].get<std::uint64_t>()};
  });
  code.compilations = rows<CompiledCode::Compilation>(json, "compilations", [](const Json& row) {
    return CompiledCode::Compilation{
        row_of(row, 7)[0].get<std::string>(),  row[1].get<std::uint32_t>(), row[2].get<std::string>(),
        row[3].get<std::uint64_t>(),           row[4].get<double>(),        row[5].get<std::uint64_t>(),
        row[6].get<std::vector<std::string>>()};
  });
  return code;
}

}  // namespace

std::string compiled_code_text(const CompiledCode& code) {
  Json json = {{"modules", Json::array()},     {"frames", Json::array()}, {"stacks", code.stacks},
               {"owners", Json::array()},      {"files", Json::array()},  {"breaks", Json::array()},
               {"compilations", Json::array()}};
  for (const CompiledCode::Module& one : code.modules) {
    json["modules"].push_back({one.type, one.name, one.file, one.line, one.calls});
  }
  for (const CompiledCode::Frame& one : code.frames) {
    json["frames"].push_back({one.file, one.function, one.line, one.module});
  }
  for (const std::vector<CompiledCode::Share>& shares : code.owners) {
    Json rows = Json::array();
    for (const CompiledCode::Share& share : shares) {
      rows.push_back({share.weight, share.stack});
    }
    json["owners"].push_back(std::move(rows));
  }
  for (const CompiledCode::File& file : code.files) {
    Json rows = Json::array();
    for (const CompiledCode::Place& place : file.places) {
      rows.push_back({place.first, place.last, place.owner});
    }
    json["files"].push_back({file.path, std::move(rows)});
  }
  for (const CompiledCode::Break& one : code.breaks) {
    json["breaks"].push_back({one.file, one.line, one.function, one.reason, one.count});
  }
  for (const CompiledCode::Compilation& one : code.compilations) {
    json["compilations"].push_back({one.file, one.line, one.function, one.count, one.seconds, one.guards, one.reasons});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

base::Result<CompiledCode> parse_compiled_code(std::string_view text) {
  try {
    return read(Json::parse(text));
  } catch (const std::exception& problem) {
    return base::error("what the recording says of compiled code is damaged: " + std::string(problem.what()));
  }
}

}  // namespace ridgeline::recording
