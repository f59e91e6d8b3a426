--- The talk with the server: starting it, asking it, and what it has told. Whoever shows something listens to the
--- autocommand `User RidgelineChanged`, whose data is `{ buffer }`.
local options = require("ridgeline.options")
local signs = require("ridgeline.signs")
local text = require("ridgeline.text")

local M = {}

---@class ridgeline.Buffer
---@field client integer
---@field summary table? of the profile that the file is part of
---@field node string? what the breakdown shows: the signs are relative to it
---@field asking boolean? one question at a time, and the last one counts
---@field again boolean?
local buffers = {} ---@type table<integer, ridgeline.Buffer>
local entries = {} ---@type table<string, table> by URI: the last ridgeline/profileChanged
local wanted = {} ---@type table<string, boolean> by URI: a profile that the user waits for
local progress = {} ---@type table<integer, string> by client
local modern = vim.fn.has("nvim-0.11") == 1

---@param words string shown as it stands
function M.say(words, level)
  vim.notify("ridgeline: " .. words, level or vim.log.levels.INFO)
end

--- Calls a client's method; 0.10 has them as functions without self.
local function call(client, method, ...)
  if modern then
    return client[method](client, ...)
  end
  return client[method](...)
end

---@return vim.lsp.Client?
function M.client(buffer)
  return vim.lsp.get_clients({ name = "ridgeline", bufnr = buffer })[1]
end

--- `on_error` gets a failure; without it the failure is told. Neither is called for what was cancelled.
function M.request(buffer, method, params, on_result, on_error)
  local client = M.client(buffer)
  if not client then
    return M.say("no server runs for this buffer. :Ridgeline profile starts it.", vim.log.levels.WARN)
  end
  call(client, "request", method, params, function(problem, result)
    if not problem then
      on_result(result)
    elseif on_error then
      on_error(problem)
    else
      M.say(text.printable(problem.message), vim.log.levels.ERROR)
    end
  end, buffer)
end

---@return vim.lsp.ClientConfig
function M.config(buffer)
  local found = vim.lsp.config and vim.lsp.config.ridgeline
    or vim.tbl_deep_extend(
      "force",
      dofile(vim.api.nvim_get_runtime_file("lsp/ridgeline.lua", false)[1]),
      require("ridgeline").config or {}
    )
  found = vim.deepcopy(found)
  found.name = "ridgeline"
  if type(found.root_dir) ~= "string" then
    found.root_dir = vim.fs.root(buffer, found.root_markers)
  end
  return found
end

--- Starts the server for a buffer, or joins the one that runs for its project.
---@return integer? client
function M.start(buffer)
  local config = M.config(buffer)
  if type(config.cmd) == "table" and vim.fn.executable(config.cmd[1]) == 0 then
    M.say(
      ("cannot run %s. Put it on the PATH, or name it: setup{ cmd = { … } }. :checkhealth ridgeline shows more."):format(
        config.cmd[1]
      ),
      vim.log.levels.ERROR
    )
    return nil
  end
  return vim.lsp.start(config, { bufnr = buffer })
end

--- Runs an action once a server serves the buffer; one that has ended is started again.
function M.with_server(buffer, action)
  local client = M.client(buffer)
  if client and client.initialized then
    return action()
  end
  if vim.bo[buffer].filetype ~= "python" or vim.bo[buffer].buftype ~= "" then
    return M.say("this buffer is no Python file: open the entry point first.", vim.log.levels.WARN)
  end
  vim.api.nvim_create_autocmd("LspAttach", {
    buffer = buffer,
    callback = function(event)
      local attached = vim.lsp.get_client_by_id(event.data.client_id)
      if attached and attached.name == "ridgeline" then
        vim.schedule(action)
        return true
      end
    end,
  })
  M.start(buffer)
end

--- The entry point that a buffer is part of; itself where none is known.
function M.uri(buffer)
  local summary = M.summary(buffer)
  return summary and summary.uri or vim.uri_from_bufnr(buffer)
end

function M.summary(buffer)
  return buffers[buffer] and buffers[buffer].summary
end

--- The last ridgeline/profileChanged of a buffer's entry point.
function M.entry(buffer)
  return entries[M.uri(buffer)]
end

function M.progress(buffer)
  local client = M.client(buffer)
  return client and progress[client.id]
end

--- Why the figures are not of the code as it is, in words; nil where they are.
function M.stale_words(buffer)
  local summary = M.summary(buffer)
  return summary and summary.stale and "stale: " .. text.printable(summary.staleReason) or nil
end

local function tell(buffer)
  vim.api.nvim_exec_autocmds("User", { pattern = "RidgelineChanged", data = { buffer = buffer } })
  vim.cmd.redrawstatus({ bang = true })
end

--- Asks anew for everything that a buffer shows.
function M.refresh(buffer)
  local state = buffers[buffer]
  if not state or not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  if state.asking then
    state.again = true
    return
  end
  state.asking, state.again = true, false
  local document = { uri = vim.uri_from_bufnr(buffer) }
  local function done()
    state.asking = false
    if buffers[buffer] ~= state or not vim.api.nvim_buf_is_loaded(buffer) then
      return
    end
    tell(buffer)
    if state.again then
      M.refresh(buffer)
    end
  end
  M.request(buffer, "ridgeline/summary", { textDocument = document }, function(summary)
    state.summary = summary
    if not summary or not options.signs then
      signs.clear(buffer)
      return done()
    end
    local question = { textDocument = document, profileId = summary.profileId, node = state.node }
    M.request(buffer, "ridgeline/lineCosts", question, function(costs)
      if vim.api.nvim_buf_is_loaded(buffer) and options.signs then
        signs.show(buffer, costs)
      end
      done()
    end, done)
  end, done)
  if options.lenses then
    vim.lsp.codelens.refresh({ bufnr = buffer })
  end
end

--- Makes the signs of all buffers relative to a node of the breakdown; "" is the iteration.
function M.explore(node)
  for buffer, state in pairs(buffers) do
    if (state.node or "") ~= node then
      state.node = node
      M.refresh(buffer)
    end
  end
end

function M.each(action)
  for buffer in pairs(buffers) do
    action(buffer)
  end
end

--- The buffer of code that one speaks of from a buffer: our windows remember theirs.
function M.code(buffer)
  return vim.b[buffer].ridgeline_code or buffer
end

--- Runs an action on a buffer once its figures are known.
function M.with_profile(buffer, action)
  M.with_server(buffer, function()
    M.request(buffer, "ridgeline/summary", { textDocument = { uri = vim.uri_from_bufnr(buffer) } }, function(summary)
      if not summary then
        return M.say("there is no profile of this file. :Ridgeline profile makes one.", vim.log.levels.WARN)
      end
      buffers[buffer].summary = summary
      action(buffer)
    end)
  end)
end

-- ---- what the server tells

function M.attached(client, buffer)
  if buffers[buffer] and buffers[buffer].client == client.id then
    return
  end
  buffers[buffer] = { client = client.id }
  local group = vim.api.nvim_create_augroup("ridgeline.buffer." .. buffer, {})
  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { group = group, buffer = buffer, callback = callback })
  end
  on("LspNotify", function(event)
    if event.data.client_id == client.id and event.data.method == "textDocument/didChange" then
      M.refresh(buffer)
    end
  end)
  on("BufUnload", function()
    buffers[buffer] = nil
  end)
  vim.api.nvim_create_autocmd("LspProgress", {
    group = vim.api.nvim_create_augroup("ridgeline.progress." .. client.id, {}),
    callback = function(event)
      if event.data.client_id == client.id then
        M.progressed(client.id, (event.data.params or event.data.result).value)
      end
    end,
  })
  if options.hints then
    vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
  end
  M.refresh(buffer)
end

local title = {} ---@type table<integer, string> by client

function M.progressed(client, value)
  if value.kind == "begin" then
    title[client] = value.title
  end
  local words = value.kind ~= "end" and { title[client] or "", "", value.message } or nil
  if words then
    words[2] = value.percentage and ("%d %%"):format(value.percentage) or ""
    words = text.printable(table.concat(words, " "):gsub("  +", " "))
  end
  progress[client] = words
  vim.api.nvim_echo({ { words and text.fit("ridgeline: " .. words, math.min(vim.v.echospace, 100)) or "" } }, false, {})
  vim.cmd.redrawstatus({ bang = true })
end

local function tell_failure(failure)
  M.say(
    text.printable(failure.message) .. "\n:Ridgeline log shows the traceback and what was printed.",
    vim.log.levels.ERROR
  )
end

--- ridgeline/profileChanged.
function M.changed(changed)
  local before = entries[changed.uri]
  entries[changed.uri] = changed
  local ended = before and before.profiling and not changed.profiling
  if ended and changed.failure and not wanted[changed.uri] then
    tell_failure(changed.failure)
  end
  M.each(M.refresh)
end

function M.exited(code, signal, client)
  vim.schedule(function()
    for buffer, state in pairs(buffers) do
      if state.client == client then
        buffers[buffer] = nil
        if vim.api.nvim_buf_is_loaded(buffer) then
          signs.clear(buffer)
          tell(buffer)
        end
      end
    end
    progress[client], wanted = nil, {}
    if (code ~= 0 or signal ~= 0) and vim.v.exiting == vim.NIL then
      M.say(
        ("the server has ended (exit code %d, signal %d). The next :Ridgeline command starts it again."):format(
          code,
          signal
        ),
        vim.log.levels.WARN
      )
    end
  end)
end

-- ---- what the user asks for

function M.profile(buffer)
  M.with_server(buffer, function()
    local uri = M.uri(buffer)
    wanted[uri] = true
    M.request(buffer, "ridgeline/profile", { textDocument = { uri = uri } }, function(summary)
      wanted[uri] = nil
      M.say(
        ("profiled: %s samples/s, %s at the peak, batch size %d"):format(
          text.figure(summary.samplesPerSecond),
          text.bytes(summary.peakBytes),
          summary.batchSize
        )
      )
    end, function(problem)
      wanted[uri] = nil
      local failure = problem.data or { message = problem.message, kind = "error", frames = {}, output = "" }
      entries[uri] = vim.tbl_extend("force", entries[uri] or { uri = uri, state = "failed" }, { failure = failure })
      tell_failure(failure)
    end)
  end)
end

function M.cancel(buffer)
  local entry = M.entry(buffer)
  if not M.client(buffer) or not entry or not entry.profiling then
    return M.say("nothing is being profiled here.")
  end
  wanted[entry.uri] = nil
  local command = { command = "ridgeline.cancel", arguments = { entry.uri } }
  M.request(buffer, "workspace/executeCommand", command, function()
    M.say("cancelled.")
  end)
end

return M
