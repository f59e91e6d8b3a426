--- What each line of a training step costs, as measured by the Ridgeline language server. |ridgeline.txt|
local M = {}

--- What is shown. Read when needed: `setup` may be called at any time, or never.
M.options = {
  signs = true, -- time and memory in the sign column
  figures = true, -- time and memory at the end of costly lines
  lenses = true, -- the server's code lenses, beside the providers
  threshold = 0.01, -- share of time or of memory from which a line is costly
}

--- Sets the options, and starts the server for Python files, those that are open too.
---@param chosen table? options, and of the server: `cmd`, `root_markers` and `settings`, its section `ridgeline`
function M.setup(chosen)
  chosen = chosen or {}
  for name, value in pairs(M.options) do
    M.options[name] = vim.F.if_nil(chosen[name], value)
  end
  local settings = chosen.settings and { ridgeline = chosen.settings }
  M.config = { cmd = chosen.cmd, root_markers = chosen.root_markers, settings = settings }
  if vim.lsp.config then
    vim.lsp.config("ridgeline", M.config)
    return vim.lsp.enable("ridgeline")
  end
  vim.api.nvim_create_autocmd("FileType", { -- 0.10
    group = vim.api.nvim_create_augroup("ridgeline.start", {}),
    pattern = "python",
    callback = function(event)
      if vim.bo[event.buf].buftype == "" then require("ridgeline.session").start(event.buf) end
    end,
  })
end

--- A short description of the state of the current buffer; "" when there is none. It is text, not a format: show it with
--- `%{v:lua.require'ridgeline'.statusline()}`.
function M.statusline()
  local session, text = require("ridgeline.session"), require("ridgeline.text")
  local buffer = vim.api.nvim_get_current_buf()
  local entry, summary, stale = session.entry(buffer), session.summary(buffer), session.stale_note(buffer)
  if session.progress(buffer) then return session.progress(buffer) end
  local failed = entry and entry.state == "failed" and "profile failed" or ""
  if not summary or summary.timeMs == 0 then return failed end -- a kept profile whose step has not been timed
  local speed = text.timed(text.figure(summary.samplesPerSecond), summary)
  local figures = ("%s samples/s · %s"):format(speed, text.bytes(summary.peakBytes))
  local trial = entry and entry.trial
  local trying = trial and trial.running and " · trying batch size " .. trial.batchSize or ""
  return figures .. (stale and " (" .. stale .. ")" or "") .. trying
end

return M
