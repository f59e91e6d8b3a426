--- :Ridgeline and its subcommands.
local options = require("ridgeline").options
local screen = require("ridgeline.screen")
local session = require("ridgeline.session")

local M = {}

--- The last failure with its traceback, as locations that gF opens, and the last output of the process.
local function log(code)
  local entry, rows = session.entry(code), {}
  local function add(text, group)
    for _, line in ipairs(vim.split(text, "\n")) do
      rows[#rows + 1] = { group and { line, group } or line }
    end
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
  add("The server's own log is " .. vim.lsp.get_log_path(), "RidgelineDim")
  local buffer = screen.buffer("log", code, { q = { screen.close, 0 } })
  screen.write(buffer, rows)
  screen.open(buffer, { split = "below", win = -1, height = math.min(#rows + 1, 16) })
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
  local command, all = COMMANDS[arguments[1]], table.concat(M.complete("", ""), ", ")
  if not command or #arguments > 1 then
    return session.say(("there is no :Ridgeline %s. The subcommands are %s."):format(table.concat(arguments, " "), all), "ERROR")
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
