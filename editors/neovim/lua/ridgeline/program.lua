--- Which `ridgeline` is started, unless the user has set another command.
local M = {}

local ignored = {} ---@type table<string, true> environments that the user did not trust when asked

--- The one on the PATH; else that of the nearest `.venv` from `folder` upwards, when the user trusts it: it is a program
--- of the project. Neovim asks, once per session, and remembers the answer "allow" (|vim.secure.read()|, of folders since
--- 0.11). nil when there is none.
---@param folder string
---@return string?
function M.find(folder)
  if vim.fn.executable("ridgeline") == 1 then return "ridgeline" end
  local environment = vim.fs.find(".venv", { path = folder, upward = true, type = "directory" })[1]
  local program = environment and vim.fs.joinpath(environment, "bin", "ridgeline")
  if not program or vim.fn.executable(program) == 0 or vim.fn.has("nvim-0.11") == 0 then return nil end
  if not ignored[environment] and vim.secure.read(environment) then return program end
  ignored[environment] = true
end

--- `cmd` of the plain config.
function M.start(dispatchers)
  local folder = vim.fs.dirname(vim.api.nvim_buf_get_name(0))
  return vim.lsp.rpc.start({ M.find(folder) or "ridgeline", "serve" }, dispatchers)
end

--- The command of a configuration for files in `folder`; nil when it is a function of the user's.
---@return string[]?
function M.command(config, folder)
  if config.cmd == M.start then return { M.find(folder) or "ridgeline", "serve" } end
  return type(config.cmd) == "table" and config.cmd or nil
end

return M
