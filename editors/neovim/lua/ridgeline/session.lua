--- The connection to the server: starting it, requests, and the state that it has reported. Its changes are signalled by the
--- autocommand `User RidgelineChanged`.
local options = require("ridgeline").options
local program = require("ridgeline.program")
local signs = require("ridgeline.signs")
local text = require("ridgeline.text")

local M = {}

---@class ridgeline.Buffer
---@field client integer
---@field summary table? of the profile that the file is part of
---@field tick integer? changedtick of the text that the summary is of
---@field refreshing boolean? one refresh at a time
---@field pending boolean? whether another refresh follows
local buffers = {} ---@type table<integer, ridgeline.Buffer>
local entries = {} ---@type table<string, table> by URI: the last ridgeline/profileChanged
local progress = {} ---@type table<integer, string> by client
local titles = {} ---@type table<integer, string> by client
local SOON = 60000 -- ms: a server that dies twice within this time is not restarted a second time
local restarted = -SOON
local KEPT = 50 -- messages
local KEPT_OUTPUT = 65536 -- bytes
local outputs = {} ---@type table<string, string> by URI: what a script wrote, the end of it

--- Runs an action that writes to the last line: later, while a command is typed there.
local function when_last_line_is_free(action)
  if vim.api.nvim_get_mode().mode:sub(1, 1) ~= "c" then return action() end
  vim.api.nvim_create_autocmd("CmdlineLeave", { once = true, callback = vim.schedule_wrap(action) })
end

local last_line_is_progress = false
M.messages = {} ---@type string[] the last ones, complete

--- Shows a message in the last line, cut to what fits there: it never has to be confirmed with a key.
---@param message string shown verbatim
---@param more string? the end of the message, which is not cut
function M.say(message, level, more)
  message = text.printable(message)
  M.messages[#M.messages + 1] = message
  if #M.messages > KEPT then table.remove(M.messages, 1) end
  when_last_line_is_free(function()
    local room = vim.v.echospace - vim.fn.strdisplaywidth(more or "")
    local shown = "ridgeline: " .. message
    if vim.fn.strdisplaywidth(shown) > room then shown = text.cut(message, room) end
    vim.cmd.redraw() -- what is in the last line is overwritten; else both would have to be confirmed
    last_line_is_progress = false
    vim.notify(shown .. (more or ""), vim.log.levels[level or "INFO"])
  end)
end

--- window/showMessage.
function M.server_message(message) M.say(message.message, ({ "ERROR", "WARN", "INFO" })[message.type]) end

---@return vim.lsp.Client?
function M.client(buffer) return vim.lsp.get_clients({ name = "ridgeline", bufnr = buffer })[1] end

--- Sends a request. Without `on_error` a failure is shown; neither callback is called for a cancelled request.
---@return integer? the id, for cancel_request()
function M.request(buffer, method, params, on_result, on_error)
  local client = M.client(buffer)
  if not client then return end
  local function answered(problem, result)
    if not problem then return on_result(result) end
    if on_error then return on_error(problem) end
    M.say(problem.message, "ERROR")
  end
  if vim.fn.has("nvim-0.11") == 1 then return select(2, client:request(method, params, answered, buffer)) end
  return select(2, client.request(method, params, answered, buffer))
end

function M.cancel_request(buffer, id)
  local client = M.client(buffer)
  if not client or not id then return end
  if vim.fn.has("nvim-0.11") == 1 then return client:cancel_request(id) end
  client.cancel_request(id)
end

local ANSWERED = 500 -- ms: what may keep Neovim waiting

--- Waits for the answer, which is nil when it takes too long.
local function request_sync(client, method, params, buffer)
  if vim.fn.has("nvim-0.11") == 1 then return client:request_sync(method, params, ANSWERED, buffer) end
  return client.request_sync(method, params, ANSWERED, buffer)
end

-- ---- starting

---@return table config of the server, as the user has it
function M.config()
  if vim.lsp.config then return vim.deepcopy(vim.lsp.config.ridgeline) end
  local plain = dofile(vim.api.nvim_get_runtime_file("lsp/ridgeline.lua", false)[1])
  return vim.tbl_deep_extend("force", plain, { name = "ridgeline" }, require("ridgeline").config or {})
end

--- The folder of a buffer's project. A library's file with figures belongs to the project whose step runs it.
---@return string?
function M.root_of(buffer)
  local root = vim.fs.root(buffer, M.config().root_markers)
  local clients = vim.lsp.get_clients({ name = "ridgeline" })
  if vim.iter(clients):any(function(client) return client.root_dir == root end) then return root end
  local params = { textDocument = { uri = vim.uri_from_bufnr(buffer) } }
  for _, client in ipairs(clients) do
    local answer = client.initialized and request_sync(client, "ridgeline/summary", params, buffer)
    if answer and answer.result then return client.root_dir end
  end
  return root
end

--- Starts the server for a buffer, or joins the one of its project.
function M.start(buffer)
  local config = M.config()
  if type(config.root_dir) ~= "string" then config.root_dir = M.root_of(buffer) end
  local command = program.command(config, vim.fs.dirname(vim.api.nvim_buf_get_name(buffer)))
  if not command then return vim.lsp.start(config, { bufnr = buffer }) end -- the user's own function
  config.cmd = command
  if vim.fn.executable(command[1]) == 1 then return vim.lsp.start(config, { bufnr = buffer }) end
  M.say("cannot run " .. command[1], "ERROR", ". See :checkhealth ridgeline")
end

--- Runs an action once a server serves the buffer; a server that has exited is restarted.
function M.with_server(buffer, action)
  local client = M.client(buffer)
  if client and client.initialized then return action() end
  if vim.bo[buffer].filetype ~= "python" or vim.bo[buffer].buftype ~= "" then
    return M.say("this is not a Python file. Open your entry point first.", "WARN")
  end
  local waiting = vim.api.nvim_create_autocmd("LspAttach", {
    buffer = buffer,
    callback = function()
      if M.client(buffer) then return true, vim.schedule(action) end
    end,
  })
  if not M.start(buffer) then vim.api.nvim_del_autocmd(waiting) end
end

--- Runs an action on a buffer that has figures.
function M.with_profile(buffer, action)
  M.with_server(buffer, function()
    M.request(buffer, "ridgeline/summary", { textDocument = { uri = vim.uri_from_bufnr(buffer) } }, function(summary)
      if not summary then return M.say("there is no profile here. :Ridgeline profile makes one.", "WARN") end
      buffers[buffer].summary = summary
      action(buffer)
    end)
  end)
end

-- ---- state

function M.summary(buffer) return buffers[buffer] and buffers[buffer].summary end

--- Whether the summary is of the current text.
function M.is_up_to_date(buffer)
  return buffers[buffer] and buffers[buffer].tick == vim.api.nvim_buf_get_changedtick(buffer)
end

--- The entry point that a buffer is part of; itself when none is known.
function M.uri(buffer) return (M.summary(buffer) or { uri = vim.uri_from_bufnr(buffer) }).uri end

--- The last ridgeline/profileChanged of a buffer's entry point.
function M.entry(buffer) return entries[M.uri(buffer)] end

function M.progress(buffer)
  local client = M.client(buffer)
  return client and progress[client.id]
end

--- Why the figures are not of the current code; nil when they are.
function M.stale_note(buffer)
  local summary = M.summary(buffer)
  return summary and summary.stale and "stale: " .. text.printable(summary.staleReason) or nil
end

function M.each(action)
  for buffer in pairs(buffers) do
    action(buffer)
  end
end

local function notify()
  vim.api.nvim_exec_autocmds("User", { pattern = "RidgelineChanged" })
  vim.cmd.redrawstatus({ bang = true })
end

--- Requests what a buffer shows.
function M.refresh(buffer)
  local state = buffers[buffer]
  state.pending = state.refreshing
  if state.refreshing then return end
  state.refreshing = true
  local document = { uri = vim.uri_from_bufnr(buffer) }
  local tick = vim.api.nvim_buf_get_changedtick(buffer) -- pending changes of it are sent before the request
  local function done()
    state.refreshing = false
    if buffers[buffer] ~= state then return end
    notify()
    if state.pending then M.refresh(buffer) end
  end
  M.request(buffer, "ridgeline/summary", { textDocument = document }, function(summary)
    state.summary, state.tick = summary, tick
    if buffers[buffer] == state then signs.clear(buffer) end
    if not summary or not (options.signs or options.figures) then return done() end
    M.request(buffer, "ridgeline/lineCosts", { textDocument = document, profileId = summary.profileId }, function(costs)
      if buffers[buffer] == state then signs.show(buffer, costs) end
      done()
    end, done)
  end, done)
  if options.lenses then vim.lsp.codelens.refresh({ bufnr = buffer }) end
end

-- ---- notifications

function M.attached(client, buffer)
  if buffers[buffer] and buffers[buffer].client == client.id then return end
  buffers[buffer] = { client = client.id }
  local group = vim.api.nvim_create_augroup("ridgeline.buffer." .. buffer, {})
  vim.api.nvim_create_autocmd("BufUnload", {
    group = group,
    buffer = buffer,
    callback = function() buffers[buffer] = nil end,
  })
  vim.api.nvim_create_autocmd("LspNotify", {
    group = group,
    buffer = buffer,
    callback = function(event)
      if event.data.method == "textDocument/didChange" and buffers[buffer] then M.refresh(buffer) end
    end,
  })
  M.refresh(buffer)
end

local parts = {} ---@type table<string, fun(part: table)> by token
local last_token = 0

--- As request(), with a result that comes whole in the end; `on_part` is called with parts of it as they come.
---@return integer? the id, for cancel_request()
function M.request_in_parts(buffer, method, params, on_part, on_result, on_error)
  last_token = last_token + 1
  local token = "ridgeline-parts-" .. last_token
  local function forgetting(callback)
    return function(...)
      parts[token] = nil
      return callback(...)
    end
  end
  parts[token] = on_part
  params = vim.tbl_extend("force", params, { partialResultToken = token })
  return M.request(buffer, method, params, forgetting(on_result), forgetting(on_error))
end

--- $/progress: shown in the last line, and by the status line.
local function progressed(client, value)
  titles[client] = value.title or titles[client]
  local part = value.percentage and value.percentage .. " %" or ""
  local message = text.printable(("%s %s %s"):format(titles[client] or "", part, value.message or ""))
  progress[client] = value.kind ~= "end" and message or nil
  local is_typing = vim.api.nvim_get_mode().mode:sub(1, 1) == "c"
  if not is_typing and (progress[client] or last_line_is_progress) then
    vim.cmd.redraw()
    vim.api.nvim_echo(
      { { text.cut(progress[client] and "ridgeline: " .. message or "", math.min(vim.v.echospace, 100)) } },
      false,
      {}
    )
    last_line_is_progress = progress[client] ~= nil
  end
  vim.cmd.redrawstatus({ bang = true })
end

vim.api.nvim_create_autocmd("LspProgress", {
  group = vim.api.nvim_create_augroup("ridgeline.progress", {}),
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if not client or client.name ~= "ridgeline" then return end
    local params = event.data.params
    if parts[params.token] then return parts[params.token](params.value) end
    if params.value.kind then progressed(client.id, params.value) end
  end,
})

local function show_failure(failure)
  local has_more = #failure.frames > 0 or failure.output ~= ""
  M.say(failure.message, "ERROR", has_more and " (:Ridgeline log)" or nil)
end

local last_shown ---@type string? profileId

--- Shows what a profile has found, once.
local function show_profile(made)
  if not made or made.profileId == last_shown then return end
  last_shown = made.profileId
  local speed = text.timed(text.figure(made.samplesPerSecond), made)
  local change = made.change and made.change ~= "" and "; " .. made.change or ""
  local count = #made.warnings
  local message = ("profiled: %s samples/s, %s%s"):format(speed, text.bytes(made.peakBytes), change)
  local warnings = count > 0 and (" (%d %s"):format(count, count > 1 and "warnings" or "warning") or nil
  local fits = warnings and vim.fn.strdisplaywidth(message .. warnings .. ": :Ridgeline log)") <= vim.v.echospace
  M.say(message, "INFO", warnings and warnings .. (fits and ": :Ridgeline log)" or ")"))
end

--- ridgeline/profileChanged.
function M.changed(changed)
  local before = entries[changed.uri]
  entries[changed.uri] = changed
  changed.reported = before and before.profiling and not changed.profiling and changed.failure ~= nil
  if changed.reported then show_failure(changed.failure) end
  M.each(M.refresh)
  local is_made = before and before.profiling and not changed.profiling and changed.profileId ~= before.profileId
  local asking = is_made and vim.iter(pairs(buffers)):find(function(buffer) return M.uri(buffer) == changed.uri end)
  if asking then
    M.request(asking, "ridgeline/summary", { profileId = changed.profileId }, show_profile, function() end)
  end
end

function M.exited(code, signal, client)
  vim.schedule(function()
    progress[client] = nil
    local served = {}
    M.each(function(buffer)
      if buffers[buffer].client == client then
        buffers[buffer] = nil
        signs.clear(buffer)
        served[#served + 1] = buffer
      end
    end)
    notify()
    if (code == 0 and signal == 0) or vim.v.exiting ~= vim.NIL then return end
    local restarts = signal ~= 0 and vim.uv.now() - restarted > SOON
    local cause = signal ~= 0 and "signal " .. signal or "exit code " .. code
    local consequence = restarts and "It is being restarted." or ":Ridgeline restarts it."
    -- Neovim's own message comes in between: it is longer than the last line, and would have to be confirmed.
    local options_of_messages = vim.fn.exists("&messagesopt") == 1 and vim.o.messagesopt -- 0.11
    if options_of_messages then vim.o.messagesopt = options_of_messages:gsub("hit%-enter", "wait:0") end
    vim.schedule(function()
      if options_of_messages then vim.o.messagesopt = options_of_messages end
      M.say(("the server exited (%s). %s"):format(cause, consequence), "WARN")
    end)
    if not restarts then return end
    restarted = vim.uv.now()
    vim.tbl_map(M.start, served)
  end)
end

-- ---- commands of the user

--- The answer to a request for a profile, unless ridgeline/profileChanged has said the same.
local function show_problem(uri, problem)
  if entries[uri].reported then return end
  entries[uri].failure = problem.data or { message = problem.message, kind = "error", frames = {}, output = "" }
  show_failure(entries[uri].failure)
end

--- Sends a request for a profile of the file.
local function request_profile(buffer, method, params)
  local uri = params.textDocument.uri
  entries[uri] = entries[uri] or { uri = uri }
  entries[uri].reported = false
  M.request(buffer, method, params, show_profile, function(problem) show_problem(uri, problem) end)
end

--- What runs of a script is the file on disk: buffers are saved.
local function save(...)
  for _, buffer in ipairs({ ... }) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      vim.api.nvim_buf_call(buffer, function() vim.cmd("silent update") end)
    end
  end
end

--- Profiles what the buffer is part of: an entry point, or a training script, which runs as it is.
---@param options? { code?: string[], arguments?: string[] } packages whose lines get figures, and arguments of the script
--- in the buffer; the settings `code` and `run.arguments` without them
function M.profile(buffer, options)
  local code, arguments = (options or {}).code, (options or {}).arguments
  M.with_server(buffer, function()
    local uri = arguments and vim.uri_from_bufnr(buffer) or M.uri(buffer)
    local document = { uri = uri }
    M.request(buffer, "ridgeline/status", { textDocument = document }, function(status)
      if (status.target or {}).isScript then
        save(buffer, vim.uri_to_bufnr(uri))
        outputs[uri] = ""
        return request_profile(buffer, "ridgeline/run", { textDocument = document, arguments = arguments })
      end
      if arguments then return M.say("arguments are for training scripts, and this file is none.", "ERROR") end
      request_profile(buffer, "ridgeline/profile", { textDocument = document, code = code })
    end)
  end)
end

--- ridgeline/output.
function M.script_wrote(written)
  local whole = (outputs[written.uri] or "") .. written.text -- which the server has made printable
  outputs[written.uri] = whole:sub(-KEPT_OUTPUT)
end

--- What the script that a buffer is part of wrote while it was profiled; "" for none.
function M.output(buffer) return outputs[vim.uri_from_bufnr(buffer)] or outputs[M.uri(buffer)] or "" end

--- Profiles again with figures for the lines of these packages. They replace the setting `code` until the server ends.
---@param packages string[] as the code imports them; none: only the user's own lines have figures
function M.show_code(buffer, packages)
  M.with_server(buffer, function()
    local client = M.client(buffer)
    client.settings = vim.tbl_deep_extend("force", client.settings or {}, { ridgeline = {} })
    client.settings.ridgeline.code = packages
    local changed = { settings = client.settings }
    if vim.fn.has("nvim-0.11") == 1 then
      client:notify("workspace/didChangeConfiguration", changed)
    else
      client.notify("workspace/didChangeConfiguration", changed)
    end
    M.profile(buffer, { code = packages })
  end)
end

--- Opens an entry file for the training script in the buffer, to be read and written by the user.
function M.init(buffer)
  M.with_server(buffer, function()
    M.request(buffer, "ridgeline/entryPoint", { textDocument = { uri = vim.uri_from_bufnr(buffer) } }, function(made)
      local folder = vim.fs.dirname(vim.api.nvim_buf_get_name(buffer))
      vim.cmd.edit({ args = { vim.fs.joinpath(folder, made.fileName) }, magic = { file = false, bar = false } })
      vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(made.text:gsub("\n$", ""), "\n"))
      vim.fn.search("NotImplementedError", "cw")
    end)
  end)
end

--- The table of `ridgeline devices --on`, as a file that the server opens. Each device as "a100", or "a100=1.10"
--- with its price an hour; "dataset-size=50000", the samples of an epoch, adds the time and price of one.
function M.compare_devices(buffer, ...)
  local devices, dataset_size = {}, nil
  for _, word in ipairs({ ... }) do
    local size = word:match("^dataset%-size=(.*)$")
    if not size then
      devices[#devices + 1] = word
    elseif not size:match("^[1-9]%d*$") then
      return M.say("dataset-size is a number of samples, such as dataset-size=50000.", "ERROR")
    else
      dataset_size = tonumber(size)
    end
  end
  M.with_server(buffer, function()
    M.request(buffer, "workspace/executeCommand", {
      command = "ridgeline.compareDevices",
      arguments = {
        vim.uri_from_bufnr(buffer),
        #devices > 0 and devices or vim.NIL,
        dataset_size and { datasetSize = dataset_size } or nil,
      },
    }, function() end)
  end)
end

--- Sends a command about the file of a job. Without a file, it is the one below the working folder that was written last.
local function ask_about_job(buffer, command, file, changes)
  local function written(path) return vim.uv.fs_stat(path).mtime.sec end
  local jobs = file and { vim.fn.fnamemodify(file, ":p") }
    or vim.fs.find(function(name) return vim.endswith(name, ".ridgeline-job") end, { type = "file", limit = 1000 })
  table.sort(jobs, function(a, b) return written(a) > written(b) end)
  if #jobs == 0 then
    return M.say("there is no .ridgeline-job below the working folder: `ridgeline profile --job` writes one.", "ERROR")
  end
  M.with_server(buffer, function()
    M.request(buffer, "workspace/executeCommand", {
      command = command,
      arguments = { vim.uri_from_fname(jobs[1]), #changes > 0 and changes or nil },
    }, function() end, function(problem) -- by its name alone: a message is cut to one line
      M.say((problem.message:gsub(vim.pesc(jobs[1]), function() return vim.fs.basename(jobs[1]) end)), "ERROR")
    end)
  end)
end

--- The text of `ridgeline job show`, also with what changes would bring, as a file that the server opens.
function M.show_job(buffer, file, ...) ask_about_job(buffer, "ridgeline.openJob", file, { ... }) end

--- The text of `ridgeline job optimize`: the fastest strategy that a search of at most a minute finds.
function M.optimize_job(buffer, file, ...) ask_about_job(buffer, "ridgeline.optimizeJob", file, { ... }) end

--- The command of the server's code lens.
vim.lsp.commands["ridgeline.writeEntryPoint"] = function(_, context) M.init(context.bufnr) end

function M.cancel(buffer)
  local entry = M.entry(buffer)
  local trying = entry and entry.trial and entry.trial.running
  if not M.client(buffer) or not entry or not (entry.profiling or trying) then
    return M.say("nothing is being profiled here.")
  end
  M.request(
    buffer,
    "workspace/executeCommand",
    { command = "ridgeline.cancel", arguments = { entry.uri } },
    function() M.say("cancelled.") end
  )
end

return M
