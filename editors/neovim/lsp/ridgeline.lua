-- The language server as a plain config: `vim.lsp.enable("ridgeline")` is enough in Neovim 0.11.
---@type vim.lsp.Config
return {
  cmd = { "ridgeline", "serve" },
  filetypes = { "python" },
  root_markers = { "pyproject.toml", "setup.py", "setup.cfg", ".git" },
  -- Neovim 0.10 and 0.11 pull diagnostics only when the text changes, and would miss what a profile finds: the server
  -- pushes them to a client that cannot pull.
  before_init = function(params)
    params.capabilities.textDocument.diagnostic = nil
  end,
  on_exit = function(code, signal, client_id)
    require("ridgeline.session").exited(code, signal, client_id)
  end,
  handlers = {
    ["ridgeline/profileChanged"] = function(_, changed, context)
      require("ridgeline.session").changed(changed, context.client_id)
    end,
    ["workspace/applyEdit"] = function(...)
      return require("ridgeline.bars").apply_edit(...)
    end,
  },
}
