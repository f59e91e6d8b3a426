--- The two key metrics as bars in a float. Keys move a bar: the server predicts the batch size that goes with it, which
--- is written into the code at once. However far a bar is moved, one undo brings the first batch size back.
local screen = require("ridgeline.screen")
local session = require("ridgeline.session")
local text = require("ridgeline.text")

local M = {}

local CELLS, WIDTH = 30, 84
local FAR = 0.1 -- of its value: how far H and L move a bar
local OBSTACLES = {
  tooFast = "no batch size is that fast",
  tooLittleMemory = "no batch size needs so little",
  tooFewSizes = "too few batch sizes were measured: :Ridgeline profile",
  timeUnknown = "the time of other batch sizes is unknown",
  memoryUnknown = "the memory of other batch sizes is unknown",
}

---@class ridgeline.Bars
---@field buffer integer of the float
---@field window integer
---@field code integer the buffer whose batch size is edited
---@field bar 1|2 the one that keys move: throughput or memory
---@field batch table? what was predicted last
---@field asked boolean a request is on its way
---@field next table? the question to ask when it has come: the latest one wins
---@field note string
---@field edited integer? the changedtick after our last edit: what follows it joins its undo step
local view ---@type ridgeline.Bars?

--- The batch size that stands in the code; nil where it is no plain number.
local function batch_in_code(buffer)
  local code = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
  local signature = code:match("def%s+[%w_]*input_provider%s*(%b())")
  return signature and tonumber(signature:match("batch_size%s*=%s*(%d+)") or signature:match("batch_size%s*:[^=]*=%s*(%d+)"))
end

local function value(estimate)
  return estimate and tonumber(estimate.value)
end

local function bar_row(name, marked, figure, share, group, words)
  local filled, track = text.bar(share, CELLS)
  local figures = { marked and "▸ " or "  ", text.fit(name, 13), { text.fit(figure, 16), "RidgelineTitle" } }
  return vim.list_extend(figures, { { filled, group }, { track, "RidgelineDim" }, "  " .. words })
end

local function words_of(batch, words, no)
  return batch and ("%s %d%s"):format(words, batch.batchSize, batch.extrapolated and " (extrapolated)" or "") or no
end

local function categories(batch)
  local rows = {}
  for name, bytes in pairs(batch.byCategory or {}) do
    rows[#rows + 1] = { name == "optimizerState" and "optimizer state" or name, bytes }
  end
  table.sort(rows, function(a, b)
    return a[2] > b[2]
  end)
  return table.concat(
    vim.tbl_map(function(row)
      return row[1] .. " " .. text.bytes(row[2])
    end, rows),
    " · "
  )
end

local function render()
  local summary, batch = session.summary(view.code), view.batch
  if not summary or not batch or not vim.api.nvim_win_is_valid(view.window) then
    return
  end
  local speed, memory = value(batch.samplesPerSecond), value(batch.peakBytes)
  local most, capacity = view.most, summary.capacityBytes
  local share, part = speed and most and speed / most, memory and memory / capacity
  local answers = summary.answers
  local rows = {
    bar_row("throughput", view.bar == 1, text.figure(speed) .. " samples/s", share, "RidgelineTime",
      text.fit(text.share(share), -6) .. " of the maximum " .. text.figure(most)),
    bar_row("peak memory", view.bar == 2, text.bytes(memory), part, "RidgelineMemory",
      text.fit(text.share(part), -6) .. " of " .. text.bytes(capacity)),
    { "  " .. text.fit("batch size", 13), { tostring(batch.batchSize), "RidgelineTitle" },
      batch.batchSize == summary.batchSize and "  as profiled" or "  predicted" .. (batch.extrapolated and " (extrapolated)" or ""),
      batch.fits == false and { "  does not fit", "DiagnosticError" } or "" },
    { "  " .. text.fit("at the peak", 13) .. categories(batch) },
    { "" },
    { "  " .. words_of(answers.enough, "95 % of the maximum throughput from batch size", "No batch size is known to be enough") },
    { "  " .. words_of(answers.balanced, "weights and activations take equal memory at batch size", "No batch size balances weights and activations") },
    { "  " .. words_of(answers.fits, "the largest batch size that fits is", "It is not known which batch size fits") },
    { { "  " .. (view.note ~= "" and view.note or session.stale_words(view.code) or ""), "RidgelineStale" } },
    { { "  j/k choose a bar · h/l one sample · H/L a tenth · u undo · q close", "RidgelineDim" } },
  }
  screen.write(view.buffer, rows)
  vim.api.nvim_win_set_cursor(view.window, { view.bar, 0 })
end

local function write(batch_size)
  local params = { textDocument = { uri = session.uri(view.code) }, batchSize = batch_size }
  session.request(view.code, "ridgeline/setBatchSize", params, function(done)
    if view and not done.applied then
      view.note = text.printable(done.reason)
      render()
    end
  end)
end

--- Asks for a prediction. One request is on its way at a time; of what is asked meanwhile, the latest is asked next.
---@param question table without the profile's id
---@param edit boolean whether the code is to follow
---@param least integer? the batch size to ask for where the answer would be the one that is shown
local function ask(question, edit, least)
  if view.asked then
    view.next = { question, edit, least }
    return
  end
  local asking = view
  view.asked = true
  local function done()
    asking.asked = false
    if view ~= asking then
      return
    end
    render()
    if view.next then
      local following = view.next
      view.next = nil
      ask(unpack(following, 1, 3))
    end
  end
  local params = vim.tbl_extend("force", { profileId = session.summary(view.code).profileId }, question)
  session.request(view.code, "ridgeline/predict", params, function(answer)
    if view == asking then
      local before = view.batch and view.batch.batchSize
      view.most = answer.maxSamplesPerSecond
      view.note = answer.batch and "" or OBSTACLES[answer.obstacle] or "there is no answer"
      if answer.batch and least and answer.batch.batchSize == before and least ~= before then
        view.next = view.next or { { batchSize = least }, edit }
      elseif answer.batch then
        view.batch = answer.batch
        if edit and answer.batch.batchSize ~= before then
          write(answer.batch.batchSize)
        end
      end
    end
    done()
  end, function(problem)
    asking.note = text.printable(problem.message)
    done()
  end)
end

local function move(direction, far)
  local batch = view.batch
  if not batch then
    return
  end
  local near = math.max(1, (view.next and view.next[1].batchSize or batch.batchSize) + direction * vim.v.count1)
  local now = value(view.bar == 1 and batch.samplesPerSecond or batch.peakBytes)
  if not far or not now then
    return ask({ batchSize = near }, true)
  end
  ask({ [view.bar == 1 and "samplesPerSecond" or "bytes"] = now * (1 + direction * FAR) ^ vim.v.count1 }, true, near)
end

local function follow_code()
  local batch_size = batch_in_code(view.code) or session.summary(view.code).batchSize
  if not view.asked and not (view.batch and view.batch.batchSize == batch_size) then
    ask({ batchSize = batch_size }, false)
  end
end

local function undo()
  vim.api.nvim_buf_call(view.code, function()
    vim.cmd.undo({ mods = { silent = true } })
  end)
  view.edited = nil
end

local function close()
  if view and vim.api.nvim_win_is_valid(view.window) then
    vim.api.nvim_win_close(view.window, true)
  end
  view = nil
end

function M.open(code)
  local summary = session.summary(code)
  if not summary then
    return session.say("there is no profile. :Ridgeline profile makes one.", vim.log.levels.WARN)
  end
  code = vim.uri_to_bufnr(summary.uri)
  vim.fn.bufload(code)
  close()
  local function mover(direction, far)
    return function()
      move(direction, far)
    end
  end
  local function chooser(bar)
    return function()
      view.bar = bar
      render()
    end
  end
  local buffer = screen.buffer("bars", {
    h = mover(-1, false), l = mover(1, false), H = mover(-1, true), L = mover(1, true),
    k = chooser(1), j = chooser(2), u = undo, q = close, ["<Esc>"] = close,
  })
  local window = vim.api.nvim_open_win(buffer, true, {
    relative = "editor", style = "minimal", border = "rounded", width = math.min(WIDTH, vim.o.columns - 4), height = 10,
    row = math.max(0, vim.o.lines - 15), col = math.max(0, math.floor((vim.o.columns - WIDTH) / 2)),
    title = " Ridgeline: " .. text.printable(vim.fs.basename(vim.uri_to_fname(summary.uri))) .. " ",
  })
  vim.wo[window].cursorline = true
  view = { buffer = buffer, window = window, code = code, bar = 1, asked = false, note = "" }
  local opened = view
  vim.api.nvim_create_autocmd("User", {
    pattern = "RidgelineChanged",
    callback = function()
      if view ~= opened then
        return true
      end
      if session.summary(view.code) then
        follow_code()
        render()
      end
    end,
  })
  follow_code()
end

--- workspace/applyEdit: edits that a bar makes one after the other become one undo step.
function M.apply_edit(problem, params, context)
  local bars = view
  if bars then
    params.label = nil
    if bars.edited == vim.api.nvim_buf_get_changedtick(bars.code) then
      vim.api.nvim_buf_call(bars.code, function()
        pcall(vim.cmd.undojoin)
      end)
    end
  end
  local answer = vim.lsp.handlers["workspace/applyEdit"](problem, params, context)
  if bars then
    bars.edited = vim.api.nvim_buf_get_changedtick(bars.code)
  end
  return answer
end

return M
