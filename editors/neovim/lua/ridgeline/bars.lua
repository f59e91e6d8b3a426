--- The two key metrics as bars in a float. Keys move a bar: the server predicts the batch size that goes with it, which
--- is written into the code at once. However far a bar is moved, one undo brings the first batch size back.
local screen = require("ridgeline.screen")
local session = require("ridgeline.session")
local text = require("ridgeline.text")

local M = {}

local CELLS, WIDTH = 19, 78
local FAR = 0.1 -- of its value: how far H and L move a bar

---@class ridgeline.Bars
---@field buffer integer
---@field window integer
---@field code integer the buffer whose batch size is edited
---@field bar 1|2 the one that keys move: throughput or memory
---@field batch table? the prediction that is shown
---@field batches table[] that the server has predicted, by batch size: what keys reach without asking
---@field asked boolean a prediction is on its way
---@field next table? the question to ask then: of several, the latest
---@field near integer? the batch size that was asked for last, until its answer is shown
---@field note string
---@field writing integer edits that are asked for
---@field edited integer? changedtick after our last edit: what follows it joins its undo step
local view ---@type ridgeline.Bars?

local function value(estimate) return estimate and tonumber(estimate.value) end

local function bar_row(name, bar, figure, share, group, words)
  local filled, track = text.bar(share, CELLS, group)
  return {
    (view.bar == bar and "▸ " or "  ") .. text.fit(name, 12),
    { text.fit(figure, 16), "RidgelineTitle" },
    filled, track,
    text.fit(text.share(share), -8) .. words,
  }
end

local function category_rows(batch)
  local names = vim.tbl_keys(batch.byCategory or {})
  table.sort(names, function(a, b) return batch.byCategory[a] > batch.byCategory[b] end)
  local words = vim.tbl_map(function(name)
    return (name == "optimizerState" and "optimizer" or name) .. " " .. text.bytes(batch.byCategory[name])
  end, names)
  local gap = "  " .. text.fit("", 12)
  return { "  " .. text.fit("at the peak", 12) .. table.concat(words, " · ", 1, math.min(3, #words)) },
    { gap .. table.concat(words, " · ", 4) }
end

local function answer_row(words, batch, unknown)
  if not batch then return { "  " .. unknown } end
  return { ("  %s %d%s"):format(words, batch.batchSize, batch.extrapolated and " (extrapolated)" or "") }
end

local function render()
  local summary, batch = session.summary(view.code), view.batch
  if not summary or not batch then return end
  local speed, memory = value(batch.samplesPerSecond), value(batch.peakBytes)
  local capacity, most, answers = summary.capacityBytes, tonumber(summary.maxSamplesPerSecond), summary.answers
  local origin = batch.batchSize == summary.batchSize and "as profiled" or "predicted"
  local note = view.note ~= "" and view.note or session.stale_words(view.code) or ""
  local categories, more = category_rows(batch)
  screen.write(view.buffer, {
    bar_row("throughput", 1, text.figure(speed) .. " samples/s", speed and most and speed / most,
      "RidgelineTime", " of the maximum " .. text.figure(most)),
    bar_row("peak memory", 2, text.bytes(memory), memory and capacity > 0 and memory / capacity,
      "RidgelineMemory", " of " .. text.bytes(capacity)),
    { "  " .. text.fit("batch size", 12), { text.fit(tostring(batch.batchSize), 16), "RidgelineTitle" },
      origin .. (batch.extrapolated and ", extrapolated" or ""),
      { batch.fits == false and ", does not fit" or "", "DiagnosticError" } },
    categories,
    more,
    answer_row("95 % of the maximum throughput from batch size", answers.enough, "no batch size is known to be enough"),
    answer_row("weights and activations take equal memory at batch size", answers.balanced,
      "no batch size is known at which weights and activations take equal memory"),
    answer_row("the largest batch size that fits is", answers.fits, "it is not known which batch size fits"),
    { { "  " .. note, "RidgelineStale" } },
    { { "  j/k choose a bar · h/l one sample · H/L a tenth · u undo · q close", "RidgelineDim" } },
  })
  vim.api.nvim_win_set_cursor(view.window, { view.bar, 0 })
end

local function write(batch_size)
  local params = { textDocument = { uri = vim.uri_from_bufnr(view.code) }, batchSize = batch_size }
  local writing = view
  writing.writing = writing.writing + 1
  session.request(view.code, "ridgeline/setBatchSize", params, function(done)
    writing.writing = writing.writing - 1
    if not done.applied then session.say("not written: " .. text.printable(done.reason), "WARN") end
  end, function(problem)
    writing.writing = writing.writing - 1
    session.say(text.printable(problem.message), "ERROR")
  end)
end

--- What the server would answer, of the batches that are known; nil: it has to be asked.
local function known(question)
  local found
  for _, batch in ipairs(view.batches) do
    if question.batchSize then
      if batch.batchSize == question.batchSize then return batch end
    elseif question.bytes then
      if (value(batch.peakBytes) or math.huge) <= question.bytes then found = batch end
    elseif (value(batch.samplesPerSecond) or 0) >= question.samplesPerSecond then
      return batch
    end
  end
  return found
end

--- Moves to what answers a question. The server is asked one at a time; of what is asked meanwhile, the latest then.
---@param question table ridgeline/predict without the profile's id
---@param edit boolean whether the code is to follow
---@param least integer? the batch size to take when the answer is the one that is shown
local function ask(question, edit, least)
  if view.asked then
    view.next = { question, edit, least }
    return
  end
  local asking = view
  local function answered(batch, note)
    if view ~= asking or not vim.api.nvim_win_is_valid(view.window) then return end
    local before, following = view.batch and view.batch.batchSize, view.next
    view.asked, view.note, view.next = false, note, nil
    if batch and least and batch.batchSize == before then
      following = following or { { batchSize = least }, edit }
    elseif batch then
      view.batch = batch
    end
    view.near = following and view.near
    render()
    if edit and batch and view.batch == batch and batch.batchSize ~= before then write(batch.batchSize) end
    if following then ask(unpack(following, 1, 3)) end
  end
  local batch = known(question)
  if batch then return answered(batch, "") end
  view.asked = true
  local params = vim.tbl_extend("force", { profileId = session.summary(view.code).profileId }, question)
  session.request(view.code, "ridgeline/predict", params, function(answer)
    answered(answer.batch, text.printable(answer.message))
  end, function(problem) answered(nil, text.printable(problem.message)) end)
end

--- The bar goes by samples, or by tenths of its value: then at least by one sample.
local function move(direction, far)
  local batch = view.batch
  if not batch then return end
  local near = math.max(1, (view.near or batch.batchSize) + direction * vim.v.count1)
  local now = value(view.bar == 1 and batch.samplesPerSecond or batch.peakBytes)
  if not far or not now then
    view.near = near
    return ask({ batchSize = near }, true)
  end
  local goal = now * (1 + direction * FAR) ^ vim.v.count1
  ask({ [view.bar == 1 and "samplesPerSecond" or "bytes"] = goal }, true, near)
end

local function follow_code()
  local summary = session.summary(view.code)
  if not summary or view.asked or view.writing > 0 then return end
  if view.batch and not session.is_of_now(view.code) then return end
  local batch_size = tonumber(summary.batchSizeInCode) or summary.batchSize
  if view.batch and view.batch.batchSize == batch_size then return render() end
  ask({ batchSize = batch_size }, false)
end

--- Takes back what the bars have written; what was edited otherwise is the code's own undo's.
local function undo()
  if view.edited ~= vim.api.nvim_buf_get_changedtick(view.code) then return end
  vim.api.nvim_buf_call(view.code, function() vim.cmd("silent undo") end)
  view.edited = nil
end

local function choose(bar)
  view.bar = bar
  render()
end

local function close() screen.close(view.window) end

function M.open(code)
  code = vim.uri_to_bufnr(session.uri(code))
  vim.fn.bufload(code)
  local buffer = screen.buffer("bars", code, {
    h = { move, -1 }, l = { move, 1 }, H = { move, -1, true }, L = { move, 1, true },
    k = { choose, 1 }, j = { choose, 2 }, u = { undo }, q = { close }, ["<Esc>"] = { close },
  })
  local name = text.printable(vim.fs.basename(vim.api.nvim_buf_get_name(code)))
  local window = screen.open(buffer, {
    relative = "editor", border = "rounded", title = " Ridgeline: " .. name .. " ", width = WIDTH, height = 10,
    row = math.max(0, vim.o.lines - 15), col = math.max(0, math.floor((vim.o.columns - WIDTH) / 2)),
  })
  view = { buffer = buffer, window = window, code = code, bar = 1, batches = {}, asked = false, note = "", writing = 0 }
  screen.follow(buffer, follow_code)
  follow_code()
  local opened, profile = view, session.summary(code).profileId
  session.request(code, "ridgeline/predictions", { profileId = profile }, function(answer)
    opened.batches = answer.batches
  end, function() end)
end

--- workspace/applyEdit: the edits that bars make one after the other become one undo step.
function M.apply_edit(problem, params, context)
  local bars = view and vim.api.nvim_win_is_valid(view.window) and view
  if bars then
    params.label = nil -- which Neovim would print
    if bars.edited == vim.api.nvim_buf_get_changedtick(bars.code) then
      vim.api.nvim_buf_call(bars.code, function() pcall(vim.cmd.undojoin) end)
    end
  end
  local answer = vim.lsp.handlers["workspace/applyEdit"](problem, params, context)
  if bars then bars.edited = vim.api.nvim_buf_get_changedtick(bars.code) end
  return answer
end

return M
