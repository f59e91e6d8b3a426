--- :Ridgeline and its subcommands.
local options = require("ridgeline").options
local screen = require("ridgeline.screen")
local session = require("ridgeline.session")
local text = require("ridgeline.text")

local M = {}

--- The warnings of the profile; the last failure with its traceback, as locations that gF opens; the last output of the process; the last messages.
local function log(code)
  local entry, rows = session.entry(code), {}
  local function add(lines, group)
    for _, line in ipairs(vim.split(lines, "\n")) do
      rows[#rows + 1] = { group and { line, group } or line }
    end
  end
  local summary = session.summary(code)
  if summary and #summary.warnings > 0 then add("Warnings of the profile:", "RidgelineTitle") end
  for _, warning in ipairs(summary and summary.warnings or {}) do
    add(warning)
  end
  local failure = entry and entry.failure
  add(failure and ("%s [%s]"):format(failure.message, failure.kind) or "No profile of this file has failed.")
  for _, frame in ipairs(failure and failure.frames or {}) do
    add(("  %s:%d in %s\n      %s"):format(frame.file, frame.line, frame["function"], frame.text))
  end
  if failure and failure.output ~= "" then
    add("Last output of the process:", "RidgelineTitle")
    add(failure.output)
  end
  local output = session.output(code)
  if output ~= "" then
    add("Output of the script:", "RidgelineTitle")
    add(vim.trim(output))
  end
  if #session.messages > 0 then add("Messages:", "RidgelineTitle") end
  for _, message in ipairs(session.messages) do
    add(message)
  end
  add("The server's own log is " .. vim.lsp.log.get_filename(), "RidgelineDim")
  local buffer = screen.buffer("log", code, { q = { screen.close, 0 } })
  screen.write(buffer, rows)
  local window = screen.open(buffer, { split = "below", win = -1, height = math.min(#rows + 1, 16) })
  vim.wo[window].wrap, vim.wo[window].linebreak = true, true
end

local function toggle()
  local on = not (options.signs or options.figures or options.lenses)
  options.signs, options.figures, options.lenses = on, on, on
  session.each(function(buffer)
    if not on then vim.lsp.codelens.clear(nil, buffer) end
    session.refresh(buffer)
  end)
  session.say(on and "figures are shown." or "figures are hidden.")
end

local COMMANDS = {
  profile = function(code, ...) session.profile(code, { arguments = select("#", ...) > 0 and { ... } or nil }) end,
  code = function(code, ...) session.show_code(code, { ... }) end,
  cancel = session.cancel,
  init = session.init,
  breakdown = function(code) session.with_profile(code, require("ridgeline.breakdown").open) end,
  costliest = function(code, kind, order)
    session.with_profile(code, function(profiled) require("ridgeline.costliest").open(profiled, kind, order) end)
  end,
  bars = function(code) session.with_profile(code, require("ridgeline.bars").open) end,
  ["what-if"] = function(code)
    session.with_server(code, function() require("ridgeline.what_if").open(code) end)
  end,
  devices = session.compare_devices,
  job = session.show_job,
  ["job-optimize"] = session.optimize_job,
  toggle = toggle,
  log = log,
}

local WHAT = {
  { "profile", "profile this entry point, or run this training script and profile it" },
  { "code", "profile again, with figures for the lines of a package" },
  { "init", "open an entry point for this training script" },
  { "cancel", "stop the running profile" },
  { "breakdown", "the module tree" },
  { "costliest", "the lines that cost most, as a quickfix list" },
  { "bars", "throughput and memory as movable bars" },
  { "what-if", "what changes of the step would bring" },
  { "devices", "the step on other devices, predicted" },
  { "job", "what the ranks of a recorded job did and waited for" },
  { "job-optimize", "the fastest strategy that a search finds for that job" },
  { "toggle", "hide or show the figures beside the code" },
  { "log", "warnings, the last failure, output and messages" },
}

--- A row for each subcommand; Enter runs the one at the cursor.
local function list(code)
  local function run()
    local name = vim.api.nvim_get_current_line():match("^%S+")
    screen.close(0)
    M.run({ name })
  end
  local buffer = screen.buffer("commands", code, { q = { screen.close, 0 }, ["<CR>"] = { run } })
  local rows = vim.tbl_map(function(what) return { { ("%-14s"):format(what[1]), "RidgelineTitle" }, what[2] } end, WHAT)
  screen.write(buffer, rows)
  screen.open(buffer, { split = "below", win = -1, height = #rows })
end

-- One word of each group, in any order; without one, the group's first.
local ARGUMENTS = { costliest = { { "lines", "operations", "modules" }, { "time", "memory" } } }

-- Their words are handed on as they are.
local FREE = { profile = true, devices = true, job = true, ["job-optimize"] = true }

--- The words of a group that can still be typed; none where one of them has been.
local function open_words(group, typed)
  local has_one = vim.iter(typed):any(function(word) return vim.list_contains(group, word) end)
  return has_one and {} or group
end

--- A word for each group; nil where a word is in no group, or a group has two.
local function choose(groups, typed)
  local chosen = vim.tbl_map(function(group) return group[1] end, groups)
  for i, word in ipairs(typed) do
    local before, found = vim.list_slice(typed, 1, i - 1), nil
    for j, group in ipairs(groups) do
      if vim.list_contains(open_words(group, before), word) then found = j end
    end
    if not found then return nil end
    chosen[found] = word
  end
  return chosen
end

--- What follows `code`: names of packages, between blanks or commas.
local function packages_in(typed)
  return vim.iter(typed):map(function(word) return vim.split(word, ",", { trimempty = true }) end):flatten():totable()
end

---@param arguments string[]
function M.run(arguments)
  local name, typed = arguments[1], vim.list_slice(arguments, 2)
  local here = vim.api.nvim_get_current_buf()
  local code = vim.b[here].ridgeline_code or here
  if not name then return list(code) end
  if name == "code" then return COMMANDS.code(code, unpack(packages_in(typed))) end
  local command, groups = COMMANDS[name], ARGUMENTS[name] or {}
  local chosen = FREE[name] and typed or choose(groups, typed)
  if command and not chosen and #groups > 0 then
    local choices = vim.tbl_map(function(group) return table.concat(group, "|") end, groups)
    return session.say((":Ridgeline %s takes %s"):format(name, table.concat(choices, " and ")), "ERROR")
  end
  if not command or not chosen then
    local shown = command and table.concat(arguments, " ") or name
    return session.say(("there is no :Ridgeline %s. See :help :Ridgeline"):format(text.cut(shown, 16)), "ERROR")
  end
  command(code, unpack(chosen))
end

function M.complete(typed, before)
  local name, arguments = before:match("Ridgeline%s+(%S+)%s+(.*)")
  local words = vim.tbl_keys(COMMANDS)
  if name == "code" then
    local summary = session.summary(vim.api.nvim_get_current_buf())
    words = summary and vim.list_extend(vim.deepcopy(summary.code), summary.libraries) or {}
  elseif name then
    local complete = vim.split(arguments:sub(1, #arguments - #typed), "%s+", { trimempty = true })
    words = vim
      .iter(ARGUMENTS[name] or {})
      :map(function(group) return open_words(group, complete) end)
      :flatten()
      :totable()
  end
  words = vim.tbl_filter(function(word) return vim.startswith(word, typed) end, words)
  table.sort(words)
  return words
end

return M
