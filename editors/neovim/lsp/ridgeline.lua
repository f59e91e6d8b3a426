-- The language server as a plain config: `vim.lsp.enable("ridgeline")` is enough in Neovim 0.11.
---@type vim.lsp.Config
return {
  cmd = require("ridgeline.program").start,
  filetypes = { "python" },
  init_options = { commands = { "ridgeline.writeEntryPoint" } },
  root_markers = { "pyproject.toml", "setup.py", "setup.cfg", ".git" },
  root_dir = function(buffer, on_dir) on_dir(require("ridgeline.session").root_of(buffer)) end,
  -- The plugin shows the same figures itself: Neovim 0.11 does not draw hints anew while the text stays the same.
  settings = { ridgeline = { inlayHints = { show = "none" } } },
  -- Neovim 0.10 and 0.11 pull diagnostics only when the text changes, and would miss what a profile finds. The server
  -- pushes them to a client that cannot pull.
  before_init = function(params) params.capabilities.textDocument.diagnostic = nil end,
  on_exit = function(...) require("ridgeline.session").exited(...) end,
  handlers = {
    ["window/showMessage"] = function(_, message) require("ridgeline.session").server_message(message) end,
    ["ridgeline/output"] = function(_, written) require("ridgeline.session").script_wrote(written) end,
    ["ridgeline/profileChanged"] = function(_, changed) require("ridgeline.session").changed(changed) end,
  },
}
