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
  profile = session.profile,
  cancel = session.cancel,
  breakdown = function(code) session.with_profile(code, require("ridgeline.breakdown").open) end,
  bars = function(code) session.with_profile(code, require("ridgeline.bars").open) end,
  toggle = toggle,
  log = log,
}

---@param arguments string[]
function M.run(arguments)
  local command = COMMANDS[arguments[1]]
  if not command or #arguments > 1 then
    local typed = command and table.concat(arguments, " ") or arguments[1]
    return session.say(("there is no :Ridgeline %s. See :help :Ridgeline"):format(text.cut(typed, 16)), "ERROR")
  end
  local here = vim.api.nvim_get_current_buf()
  command(vim.b[here].ridgeline_code or here)
end

function M.complete(typed, before)
  if before:match("Ridgeline%s+%S+%s") then return {} end
  local names = vim.tbl_filter(function(name) return vim.startswith(name, typed) end, vim.tbl_keys(COMMANDS))
  table.sort(names)
  return names
end

return M
