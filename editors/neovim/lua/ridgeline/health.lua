--- :checkhealth ridgeline
local M = {}

local function check_client(client)
  local buffer = next(client.attached_buffers)
  if not buffer then return vim.health.warn("A server is running, but serves no buffer.") end
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
  local answer = (vim.lsp.buf_request_sync(buffer, "ridgeline/status", params, 5000) or {})[client.id]
  local status = answer and answer.result
  if not status then return vim.health.error("The server does not answer.", "See " .. vim.lsp.log.get_filename()) end
  vim.health.ok(("A server is running: version %s, %s."):format(status.version, status.processor))
  local target = status.target or { problem = "The file of this buffer cannot be profiled." }
  if target.problem then
    return vim.health.error(target.problem, "setup{ settings = { python = … } } sets the interpreter.")
  end
  vim.health.ok(("%s would run with %s (%s)."):format(target.entry, target.interpreter, target.interpreterSource))
  vim.health.info(
    target.trusted and "You have consented to running it." or "You will be asked for consent before it runs."
  )
end

--- Whether it can be started, as far as is known.
---@param program string? nil when a function of the user's starts the server
local function check_program(program)
  if not program then
    vim.health.info("The server is started by a function of your configuration.")
    return true
  end
  if vim.fn.executable(program) == 0 then
    vim.health.error(program .. " cannot be run.", {
      "Put it on the PATH, or install it into the .venv of the project: docs/user/install.md.",
      "Or name it: setup{ cmd = { … } }.",
    })
    return false
  end
  local version = vim.system({ program, "--version" }, { text = true }):wait().stdout
  vim.health.ok(("%s, version %s"):format(vim.fn.exepath(program), vim.trim(version or "")))
  vim.health.info(program .. " doctor, in a shell, checks what a profile needs: torch, the compiler, the cache.")
  return true
end

function M.check()
  vim.health.start("ridgeline")
  if vim.fn.has("nvim-0.10") == 0 then return vim.health.error("Neovim 0.10 or later is needed.") end
  vim.health.ok("Neovim " .. tostring(vim.version()))
  local command = require("ridgeline.program").command(require("ridgeline.session").config(), vim.fn.getcwd())
  if not check_program(command and command[1]) then return end
  local clients = vim.lsp.get_clients({ name = "ridgeline" })
  if #clients == 0 then vim.health.warn("No server is running.", "Call setup{}, and open a Python file.") end
  vim.tbl_map(check_client, clients)
end

return M
