--- What each line of a training step costs, from the Ridgeline language server. |ridgeline.txt|
local options = require("ridgeline.options")

local M = {}

---@class ridgeline.Options
---@field cmd string[]? the server; { "ridgeline", "serve" }
---@field root_markers string[]? names of files that stand in a project's root
---@field settings table? the section `ridgeline` of the server's settings
---@field signs boolean? @field hints boolean? @field lenses boolean? @field threshold number?

--- Sets the options and starts the server for Python files, now and later.
---@param chosen ridgeline.Options?
function M.setup(chosen)
  chosen = chosen or {}
  options.set(chosen)
  M.config = { cmd = chosen.cmd, root_markers = chosen.root_markers }
  M.config.settings = chosen.settings and { ridgeline = chosen.settings }
  if vim.lsp.config then
    vim.lsp.config("ridgeline", M.config)
    vim.lsp.enable("ridgeline")
    return
  end
  vim.api.nvim_create_autocmd("FileType", {
    group = vim.api.nvim_create_augroup("ridgeline.start", {}),
    pattern = "python",
    callback = function(event)
      if vim.bo[event.buf].buftype == "" then
        require("ridgeline.session").start(event.buf)
      end
    end,
  })
end

--- The state of the current buffer in a few words; "" where there is nothing to say. For 'statusline':
--- `%{v:lua.require'ridgeline'.statusline()}`
function M.statusline()
  local session = require("ridgeline.session")
  local text = require("ridgeline.text")
  local buffer = vim.api.nvim_get_current_buf()
  local entry, summary = session.entry(buffer), session.summary(buffer)
  if session.progress(buffer) then
    return session.progress(buffer)
  elseif not summary then
    return entry and entry.state == "failed" and "profile failed" or ""
  end
  local words = ("%s samples/s · %s"):format(text.figure(summary.samplesPerSecond), text.bytes(summary.peakBytes))
  return words .. (summary.stale and " (" .. session.stale_words(buffer) .. ")" or "")
end

return M
