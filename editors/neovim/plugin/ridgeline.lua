-- What exists before anything is used: one command, and one autocommand that waits for the server. The rest is loaded
-- when one of them needs it.
if vim.g.loaded_ridgeline or vim.fn.has("nvim-0.10") == 0 then return end
vim.g.loaded_ridgeline = true

vim.api.nvim_create_user_command("Ridgeline", function(command) require("ridgeline.command").run(command.fargs) end, {
  nargs = "*",
  desc = "What training steps cost: without a subcommand, a list of them",
  complete = function(typed, line) return require("ridgeline.command").complete(typed, line) end,
})

vim.api.nvim_create_autocmd("LspAttach", {
  group = vim.api.nvim_create_augroup("ridgeline.attach", {}),
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == "ridgeline" then require("ridgeline.session").attached(client, event.buf) end
  end,
})
