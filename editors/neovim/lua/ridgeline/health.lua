--- :checkhealth ridgeline
local M = {}

local function check_server(client)
  local answer = client.request_sync and vim.lsp.buf_request_sync(
    vim.tbl_keys(client.attached_buffers)[1] or 0,
    "ridgeline/status",
    { textDocument = { uri = vim.uri_from_bufnr(vim.tbl_keys(client.attached_buffers)[1] or 0) } },
    5000
  )
  local status = answer and answer[client.id] and answer[client.id].result
  if not status then
    return vim.health.error("The server does not answer.", "See " .. vim.lsp.get_log_path())
  end
  vim.health.ok(("The server runs: version %s, on %s."):format(status.version, status.processor))
  local target = status.target
  if target and target.problem then
    vim.health.error(target.problem, "Set the interpreter: setup{ settings = { python = … } }")
  elseif target then
    vim.health.ok(("%s would run with %s (%s)."):format(target.entry, target.interpreter, target.interpreterSource))
    vim.health.info(target.trusted and "You have agreed that it may run." or "You will be asked before it runs.")
  end
end

function M.check()
  vim.health.start("ridgeline")
  if vim.fn.has("nvim-0.10") == 0 then
    return vim.health.error("Neovim 0.10 or later is needed.")
  end
  vim.health.ok("Neovim " .. tostring(vim.version()))
  local config = require("ridgeline.session").config(0)
  local command = config.cmd[1]
  if vim.fn.executable(command) == 0 then
    vim.health.error(command .. " cannot be run.", "Put it on the PATH, or name it: setup{ cmd = { … } }")
  else
    local found = vim.system({ command, "--version" }, { text = true }):wait()
    vim.health.ok(("%s, version %s"):format(vim.fn.exepath(command), vim.trim(found.stdout or "")))
    vim.health.info(command .. " doctor checks what a profile needs: torch, the compiler, the cache.")
  end
  local clients = vim.lsp.get_clients({ name = "ridgeline" })
  if #clients == 0 then
    vim.health.warn("No server runs.", "Open a Python file after setup{}, or run :Ridgeline profile in one.")
  end
  vim.tbl_map(check_server, clients)
end

return M
