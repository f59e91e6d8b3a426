--- The two key metrics as bars in a float. Keys move a bar: the batch size that goes with it, of those whose figures the
--- server has predicted, is written into the code at once. However far a bar is moved, one undo brings the first batch size back.
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
---@field profile string? whose predictions are shown, with its revision
---@field batch table? the one that is shown
---@field batches table[] all that keys reach, by batch size
---@field note string
---@field writing boolean whether an edit is requested
---@field waiting integer? the batch size to write after that
---@field edited integer? changedtick after our last edit: the next one joins its undo step
local view ---@type ridgeline.Bars?

--- What was measured where the batch size ran, else what is predicted.
local function value(batch, metric)
  local measured, estimate = batch.measured, batch[metric]
  return tonumber(measured and measured[metric] or estimate and estimate.value)
end

--- The same as text, with the certainty of a prediction.
local function figure_text(batch, metric, format)
  if batch.measured then return format(value(batch, metric)) end
  return text.estimated(batch[metric], format)
end

--- How the figures of a batch size are known.
local function origin(batch, summary)
  if batch.batchSize == summary.batchSize then return "as profiled" end
  if batch.measured then return "measured" end
  if batch.failed then
    return batch.failed.kind == "out-of-memory" and "ran out of memory when run" or "failed when run"
  end
  local trial = summary.trial
  local trying = trial and trial.running and trial.batchSize == batch.batchSize and ", being tried" or ""
  return "predicted" .. trying .. (batch.extrapolated and ", extrapolated" or "")
end

--- Why a batch size was not tried, or why its measured time was scaled.
local function remark(batch, summary)
  local trial, measured = summary.trial, batch.measured
  if measured and measured.machineChanged then return "the machine changed since the profile: the time is scaled" end
  if batch.failed then return batch.failed.message end
  return trial and not trial.running and trial.batchSize == batch.batchSize and trial.message or nil
end

local function bar_row(name, bar, figure, share, group, description)
  local filled, track = text.bar(share, CELLS, group)
  return {
    (view.bar == bar and "▸ " or "  ") .. text.fit(name, 12),
    { text.fit(figure, 16), "RidgelineTitle" },
    filled, track,
    text.fit(text.share(share), -8) .. description,
  }
end

local function category_rows(batch)
  local names = vim.tbl_keys(batch.byCategory or {})
  table.sort(names, function(a, b) return batch.byCategory[a] > batch.byCategory[b] end)
  local parts = vim.tbl_map(function(name)
    return (name == "optimizerState" and "optimizer" or name) .. " " .. text.bytes(batch.byCategory[name])
  end, names)
  local gap = "  " .. text.fit("", 12)
  return { "  " .. text.fit("at the peak", 12) .. table.concat(parts, " · ", 1, math.min(3, #parts)) },
    { gap .. table.concat(parts, " · ", 4) }
end

local function answer_row(label, batch, unknown)
  if not batch then return { "  " .. unknown } end
  return { ("  %s %d%s"):format(label, batch.batchSize, batch.extrapolated and " (extrapolated)" or "") }
end

local function render()
  local summary, batch = session.summary(view.code), view.batch
  if not summary or not batch then return end
  local speed, memory = value(batch, "samplesPerSecond"), value(batch, "peakBytes")
  local capacity, most, answers = summary.capacityBytes, tonumber(summary.maxSamplesPerSecond), summary.answers
  local note = view.note ~= "" and view.note or text.printable(remark(batch, summary) or session.stale_note(view.code))
  local categories, more = category_rows(batch)
  screen.write(view.buffer, {
    bar_row("throughput", 1, figure_text(batch, "samplesPerSecond", text.figure) .. " samples/s", speed and most and speed / most,
      "RidgelineTime", " of the maximum " .. text.figure(most)),
    bar_row("peak memory", 2, figure_text(batch, "peakBytes", text.bytes), memory and capacity > 0 and memory / capacity,
      "RidgelineMemory", " of " .. text.bytes(capacity)),
    { "  " .. text.fit("batch size", 12), { text.fit(tostring(batch.batchSize), 16), "RidgelineTitle" },
      origin(batch, summary),
      { batch.fits == false and not batch.failed and ", does not fit" or "", "DiagnosticError" } },
    categories,
    more,
    answer_row("95 % of the maximum throughput from batch size", answers.enoughThroughput, "no batch size is known to give 95 % of the maximum throughput"),
    answer_row("weights and activations take equal memory at batch size", answers.activationsEqualWeights,
      "no batch size is known at which weights and activations take equal memory"),
    answer_row("the largest batch size that fits is", answers.largestThatFits, "the largest batch size that fits is unknown"),
    { { "  " .. note, "RidgelineStale" } },
    { { "  j/k choose a bar · h/l one step · H/L a tenth · u undo · q close", "RidgelineDim" } },
  })
  vim.api.nvim_win_set_cursor(view.window, { view.bar, 0 })
end

--- The edits that the bars make one after the other become one undo step.
local function apply(bars, edit, encoding)
  if bars.edited == vim.api.nvim_buf_get_changedtick(bars.code) then
    vim.api.nvim_buf_call(bars.code, function() pcall(vim.cmd.undojoin) end)
  end
  vim.lsp.util.apply_workspace_edit(edit, encoding)
  bars.edited = vim.api.nvim_buf_get_changedtick(bars.code)
end

--- Writes a batch size with the edit that comes with its prediction: one at a time, of later ones the last.
local function write(batch_size)
  local bars, summary = view, session.summary(view.code)
  if bars.writing or not summary then
    bars.waiting = batch_size
    return
  end
  bars.writing = true
  local tick = vim.api.nvim_buf_get_changedtick(bars.code) -- the request comes after the changes that are pending
  local function done(problem)
    bars.writing = false
    if problem and problem ~= "" then session.say("not written: " .. text.printable(problem), "WARN") end
    local next_size = bars.waiting
    bars.waiting = nil
    if next_size and view == bars then write(next_size) end
  end
  local params = { profileId = summary.profileId, batchSize = batch_size }
  session.request(bars.code, "ridgeline/predict", params, function(answer)
    local client = session.client(bars.code)
    local is_same_text = tick == vim.api.nvim_buf_get_changedtick(bars.code)
    if answer.edit and client and is_same_text then apply(bars, answer.edit, client.offset_encoding) end
    done(answer.noEditReason)
  end, function(problem) done(problem.message) end)
end

local function show(batch, note)
  view.batch, view.note = batch or view.batch, text.printable(note)
  render()
end

--- The bar goes to the next batch size, or by tenths of its value to the first that reaches that.
local function move(direction, far)
  local from, metric = view.batch, view.bar == 1 and "samplesPerSecond" or "peakBytes"
  if not from then return end
  local steps, goal, to = vim.v.count1, (value(from, metric) or 0) * (1 + direction * FAR) ^ vim.v.count1, nil
  for i = 1, #view.batches do
    local batch = view.batches[direction > 0 and i or #view.batches + 1 - i]
    if direction * (batch.batchSize - from.batchSize) > 0 then
      local reached = direction * ((value(batch, metric) or 0) - goal) >= 0
      steps = steps - 1
      if reached or not far then to = batch end
      if reached and far or steps == 0 and not far then break end
    end
  end
  if not to then return show(nil, "no predicted batch size goes that far") end
  show(to)
  write(to.batchSize)
end

--- Shows the batch size in the code: of a new profile, once its predictions have arrived.
local function follow_code()
  local summary, asking = session.summary(view.code), view
  if not summary or view.writing then return end
  local before, profile = view.batch, summary.profileId
  local of = profile .. " " .. tostring(summary.revision) -- what was tried changes what is predicted
  local function ask(method, params, on_result)
    params.profileId = profile
    local function now() return view == asking and vim.api.nvim_win_is_valid(view.window) and view.batch == before end
    session.request(view.code, method, params, function(answer)
      if now() then on_result(answer) end
    end, function(problem)
      if now() then show(nil, problem.message) end
    end)
  end
  if view.profile ~= of then
    view.profile, view.batches = of, {}
    return ask("ridgeline/predictions", {}, function(answer)
      view.batches = answer.batches
      follow_code()
    end)
  end
  if before and not session.is_up_to_date(view.code) then return end
  local batch_size = tonumber(summary.batchSizeInCode) or summary.batchSize
  for _, batch in ipairs(view.batches) do
    if batch.batchSize == batch_size then return show(batch) end
  end
  ask("ridgeline/predict", { batchSize = batch_size }, function(answer) show(answer.batch, answer.message) end)
end

--- Undoes what the bars have written; other edits are left to the undo of the code.
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
  view = { buffer = buffer, window = window, code = code, bar = 1, batches = {}, note = "", writing = false }
  screen.follow(buffer, follow_code)
  follow_code()
end

return M
