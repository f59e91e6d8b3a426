--- :Ridgeline and what follows it.
local options = require("ridgeline.options")
local screen = require("ridgeline.screen")
local session = require("ridgeline.session")
local signs = require("ridgeline.signs")
local text = require("ridgeline.text")

local M = {}

--- The last failure with its traceback and the last words of the process; places are such that gF follows them.
local function log(code)
  local entry = session.entry(code)
  local failure = entry and entry.failure
  local rows = {}
  local function add(words, group)
    for _, line in ipairs(vim.split(words, "\n")) do
      rows[#rows + 1] = { group and { line, group } or line }
    end
  end
  if failure then
    add(("%s [%s]"):format(failure.message, failure.kind), "DiagnosticError")
    for _, frame in ipairs(failure.frames) do
      add(("  %s:%d in %s"):format(frame.file, frame.line, frame.function_ or frame["function"]))
      add("      " .. frame.text)
    end
    if failure.output ~= "" then
      add("Printed by the profiled process:", "RidgelineTitle")
      add(failure.output)
    end
  else
    add("No profile of this file has failed.")
  end
  add("The server's own log: " .. vim.lsp.get_log_path(), "RidgelineDim")
  local buffer = screen.buffer("log", { q = "<Cmd>close<CR>" })
  screen.write(buffer, rows)
  screen.split(buffer, math.min(#rows + 1, 16))
end

local function toggle()
  local on = not (options.signs or options.hints or options.lenses)
  options.set({ signs = on, hints = on, lenses = on })
  session.each(function(buffer)
    vim.lsp.inlay_hint.enable(on, { bufnr = buffer })
    if not on then
      signs.clear(buffer)
      vim.lsp.codelens.clear(nil, buffer)
    end
    session.refresh(buffer)
  end)
  session.say(on and "figures are shown." or "figures are hidden.")
end

local COMMANDS = {
  profile = session.profile,
  cancel = session.cancel,
  breakdown = function(buffer)
    session.with_profile(buffer, require("ridgeline.breakdown").open)
  end,
  bars = function(buffer)
    session.with_profile(buffer, require("ridgeline.bars").open)
  end,
  toggle = toggle,
  log = log,
}

function M.run(arguments)
  local command = COMMANDS[arguments[1]]
  if not command or #arguments > 1 then
    return session.say(
      ("there is no :Ridgeline %s. There are: %s."):format(table.concat(arguments, " "), table.concat(M.complete("", "Ridgeline "), ", ")),
      vim.log.levels.ERROR
    )
  end
  command(session.code(vim.api.nvim_get_current_buf()))
end

function M.complete(typed, line)
  if #vim.split(vim.trim(line:sub(1, #line - #typed)), "%s+") > 1 then
    return {}
  end
  local names = vim.tbl_filter(function(name)
    return vim.startswith(name, typed)
  end, vim.tbl_keys(COMMANDS))
  table.sort(names)
  return names
end

return M
