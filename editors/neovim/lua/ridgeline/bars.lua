--- The two key metrics as bars in a float. Keys move a bar to a batch size whose figures the server has predicted. It is
--- written into the code when the keys rest, or when the float is closed; one undo brings the first batch size back.
local screen = require("ridgeline.screen")
local session = require("ridgeline.session")
local text = require("ridgeline.text")

local M = {}

local CELLS, WIDTH, HEIGHT = 17, 78, 11
local LABEL = 14 -- cells before the figures
local FAR = 0.1 -- of its value: how far H and L move a bar
local REST = 400 -- ms without a key until the batch size is written

---@class ridgeline.Bars
---@field buffer integer
---@field window integer
---@field code integer the buffer whose batch size is edited
---@field bar 1|2 the one that keys move: throughput or memory
---@field profile string? whose predictions are shown, with its revision
---@field batch table? the one that is shown
---@field batches table[] all that keys reach, by batch size
---@field note string
---@field width integer?
---@field height integer? it does not shrink while the width is the same: the bars stay where they are
---@field first table? the one that was shown first
---@field wanted integer? the batch size that was chosen and is not in the code yet
---@field obstacle string? why it cannot be written
---@field timer uv.uv_timer_t until the keys rest
---@field writing boolean whether an edit is requested
---@field on_written function?
---@field undo_step integer? of our edits; the next one joins it unless another change came between
local view ---@type ridgeline.Bars?

--- What was measured where the batch size ran, else what is predicted.
local function value(batch, metric)
  local measured, estimate = batch.measured, batch[metric]
  return tonumber(measured and measured[metric] or estimate and estimate.value)
end

--- The same as text, with the certainty of a prediction or, of a time, of the profile. Memory that was measured is exact.
local function figure_text(batch, metric, format, summary)
  if not batch.measured then return text.estimated(batch[metric], format) end
  local shown = format(value(batch, metric))
  local is_of_the_profile = metric ~= "peakBytes" and batch.batchSize == summary.batchSize
  return is_of_the_profile and text.timed(shown, summary) or shown
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
  return "predicted"
    .. (batch.carriedOver and " from before the save" or "")
    .. trying
    .. (batch.extrapolated and ", extrapolated" or "")
end

--- Why a batch size was not tried, or why its measured time was scaled.
local function remark(batch, summary)
  local trial, measured = summary.trial, batch.measured
  if measured and measured.machineChanged then return "the machine changed since the profile: the time is scaled" end
  if batch.failed then return batch.failed.message end
  return trial and not trial.running and trial.batchSize == batch.batchSize and trial.message or nil
end

local function label(name, is_chosen) return (is_chosen and "▸ " or "  ") .. text.fit(name, LABEL - 2) end

local function bar_row(bar, name, figure, share, group, description)
  local filled, track = text.bar(share, CELLS, group)
  return {
    label(name, view.bar == bar),
    { text.fit(text.whole(figure), 18), "RidgelineTitle" },
    filled,
    track,
    text.fit(text.whole(text.share(share)), -8) .. description,
  }
end

local function category_row(batch)
  local names = vim.tbl_keys(batch.byCategory or {})
  table.sort(names, function(a, b) return batch.byCategory[a] > batch.byCategory[b] end)
  local parts = vim.tbl_map(
    function(name)
      return (name == "optimizerState" and "optimizer" or name) .. " " .. text.bytes(batch.byCategory[name])
    end,
    names
  )
  return { label("at the peak") .. text.row(parts, "·") }
end

local function answer_row(question, batch, unknown)
  if not batch then return { "  " .. unknown } end
  return { ("  %s %d%s"):format(question, batch.batchSize, batch.extrapolated and " (extrapolated)" or "") }
end

--- Which of weights and activations take more memory, and from which batch size on it is activations.
local function comparison_row(batch, balance)
  local categories = batch.byCategory or {}
  local difference = (categories.weights or 0) - (categories.activations or 0)
  local compared = difference > 0 and "Weights take more memory than activations here. "
    or difference < 0 and "Activations take more memory than weights here. "
    or ""
  return { "  " .. compared .. text.printable(balance) }
end

local KEYS = { "j/k choose a bar", "h/l one step", "H/L a tenth", "u undo", "q close" }

--- Where the window is when it has that many rows: above the last lines, in the middle.
local function place(rows)
  local width = math.max(1, math.min(WIDTH, vim.o.columns - 2))
  local height = math.max(1, math.min(rows, vim.o.lines - 4))
  local row, column = vim.o.lines - height - 5, math.floor((vim.o.columns - WIDTH) / 2)
  return { relative = "editor", width = width, height = height, row = math.max(0, row), col = math.max(0, column) }
end

--- What p does, with what is known about it.
local function offer(batch, summary)
  if batch.batchSize == summary.batchSize then return "p profile again" end
  return ("p profile with %d: %s at the peak, %s an iteration"):format(
    batch.batchSize,
    figure_text(batch, "peakBytes", text.bytes, summary),
    figure_text(batch, "timeMs", text.duration, summary)
  )
end

local function render()
  local summary, batch = session.summary(view.code), view.batch
  if not summary or not batch then return end
  local speed, memory = value(batch, "samplesPerSecond"), value(batch, "peakBytes")
  if not batch.measured and (batch.samplesPerSecond or {}).certainty == "atMost" then speed = nil end -- only a bound
  local capacity, most, answers = summary.capacityBytes, tonumber(summary.maxSamplesPerSecond), summary.answers
  local uncertainty = batch.batchSize == summary.batchSize and summary.uncertainty ~= "" and summary.uncertainty
  local note = view.obstacle
    or view.note ~= "" and view.note
    or text.printable(remark(batch, summary) or session.stale_note(view.code) or uncertainty or "")
  local width, bars, rows = place(HEIGHT).width, {}, {}
  local function add(row, indent) vim.list_extend(rows, screen.fold(row, width, indent or 4)) end
  local function add_bar(bar, ...)
    bars[bar] = #rows + 1
    add(bar_row(bar, ...), 2)
  end
  add_bar(
    1,
    "throughput",
    figure_text(batch, "samplesPerSecond", text.figure, summary) .. " samples/s",
    speed and most and speed / most,
    "RidgelineTime",
    " of the maximum " .. text.figure(most)
  )
  add_bar(
    2,
    "peak memory",
    figure_text(batch, "peakBytes", text.bytes, summary),
    memory and capacity > 0 and memory / capacity,
    "RidgelineMemory",
    " of " .. text.whole(text.bytes(capacity))
  )
  add({
    label("batch size"),
    { text.fit(tostring(batch.batchSize), 18), "RidgelineTitle" },
    origin(batch, summary),
    { batch.fits == false and not batch.failed and ", does not fit" or "", "DiagnosticError" },
  })
  add(category_row(batch), width == WIDTH and LABEL)
  add({ "  " .. text.printable(answers.conclusion) })
  add(
    answer_row(
      "95 % of the maximum throughput from batch size",
      answers.enoughThroughput,
      "no batch size is known to give 95 % of the maximum throughput"
    )
  )
  add(comparison_row(batch, answers.balance))
  local largest =
    answer_row("the largest batch size that fits is", answers.largestThatFits, text.printable(answers.fits))
  if answers.largestThatFits and answers.fits ~= "" then
    largest[1] = largest[1] .. ": " .. text.printable(answers.fits)
  end
  add(largest)
  add({ { "  " .. note, "RidgelineStale" } })
  add({ { "  " .. text.row(KEYS, "·"), "RidgelineDim" } })
  add({ { "  " .. offer(batch, summary), "RidgelineDim" } })
  view.height = math.max(#rows, view.width == width and view.height or HEIGHT)
  view.width = width
  vim.api.nvim_win_set_config(view.window, place(view.height))
  screen.write(view.buffer, rows)
  vim.api.nvim_win_set_cursor(view.window, { bars[view.bar], 0 })
end

local function undo_step(bars)
  return vim.api.nvim_buf_call(bars.code, function() return vim.fn.undotree().seq_cur end)
end

--- The edits of the bars are one undo step; it has nothing of what the user did before.
local function apply(bars, edit, encoding)
  local joins = bars.undo_step and bars.undo_step == undo_step(bars)
  vim.api.nvim_buf_call(bars.code, function()
    if not (joins and pcall(vim.cmd.undojoin)) then vim.cmd("let &g:undolevels = &g:undolevels") end
  end)
  vim.lsp.util.apply_workspace_edit(edit, encoding)
  bars.undo_step = undo_step(bars)
end

local function is_open(bars) return view == bars and vim.api.nvim_win_is_valid(bars.window) end

--- Writes the batch size that is wanted, as one edit, then calls `on_written`. Of several sizes only the last is written.
local function write(bars)
  bars.timer:stop()
  local batch_size, summary, client = bars.wanted, session.summary(bars.code), session.client(bars.code)
  if bars.writing or batch_size and bars.obstacle then return end
  if not batch_size then
    local on_written = bars.on_written
    bars.on_written = nil
    return on_written and on_written()
  end
  local function failed(reason)
    bars.obstacle, bars.on_written = "not written: " .. text.printable(reason), nil
    if is_open(bars) then return render() end
    session.say(bars.obstacle, "WARN")
  end
  if not client or not summary then return failed("the server does not serve the code") end
  local tick = vim.api.nvim_buf_get_changedtick(bars.code) -- the request comes after the changes that are pending
  local function answered(edit, problem)
    bars.writing = false
    local was_replaced = bars.wanted ~= batch_size
    if was_replaced and bars.timer:is_active() then return end
    if not was_replaced and problem ~= "" then return failed(problem) end
    if not was_replaced and tick == vim.api.nvim_buf_get_changedtick(bars.code) then
      if edit then apply(bars, edit, client.offset_encoding) end
      bars.wanted = nil
    end
    write(bars)
  end
  bars.writing = true
  local params = { profileId = summary.profileId, batchSize = batch_size }
  session.request(
    bars.code,
    "ridgeline/predict",
    params,
    function(answer) answered(answer.edit, answer.noEditReason) end,
    function(problem) answered(nil, problem.message) end
  )
end

--- Shows a batch size that was chosen, and has it written when the keys rest.
local function want(batch)
  local bars = view
  bars.batch, bars.note, bars.wanted = batch, "", batch.batchSize
  bars.obstacle, bars.on_written = nil, nil
  render()
  bars.timer:start(REST, 0, vim.schedule_wrap(function() write(bars) end))
end

local function show(batch, note)
  view.batch, view.note = batch or view.batch, text.printable(note)
  view.first = view.first or view.batch
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
  want(to)
end

--- Shows the batch size in the code, unless another one is wanted: of a new profile, once its predictions have arrived.
local function follow_code()
  local summary, bars = session.summary(view.code), view
  if not summary then return end
  local profile = summary.profileId
  local of = profile .. " " .. tostring(summary.revision) -- what was tried changes what is predicted
  local function ask(method, params, is_wanted, on_result)
    params.profileId = profile
    session.request(bars.code, method, params, function(answer)
      if is_open(bars) and is_wanted() then on_result(answer) end
    end, function(problem)
      if is_open(bars) and is_wanted() then show(nil, problem.message) end
    end)
  end
  if bars.profile ~= of then
    bars.profile = of
    return ask("ridgeline/predictions", {}, function() return bars.profile == of end, function(answer)
      bars.batches = answer.batches
      follow_code()
    end)
  end
  if bars.batch and not bars.wanted and not session.is_up_to_date(bars.code) then return end
  local batch_size = bars.wanted or tonumber(summary.batchSizeInCode) or summary.batchSize
  for _, batch in ipairs(bars.batches) do
    if batch.batchSize == batch_size then return show(batch) end
  end
  local before = bars.batch
  ask(
    "ridgeline/predict",
    { batchSize = batch_size },
    function() return bars.batch == before end,
    function(answer) show(answer.batch, answer.message) end
  )
end

--- Brings the first batch size back. Other edits are left to the undo of the code.
local function undo()
  local bars = view
  bars.timer:stop()
  bars.wanted, bars.obstacle = nil, nil
  if bars.undo_step and bars.undo_step == undo_step(bars) then
    vim.api.nvim_buf_call(bars.code, function() vim.cmd("silent undo") end)
    bars.undo_step = nil
  elseif bars.undo_step and bars.first then
    bars.wanted = bars.first.batchSize
    write(bars)
  end
  show(bars.first)
end

--- Profiles with the batch size that is shown, once it is written.
local function profile()
  local bars = view
  bars.on_written = function() session.profile(bars.code) end
  write(bars)
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
    h = { move, -1 },
    l = { move, 1 },
    H = { move, -1, true },
    L = { move, 1, true },
    k = { choose, 1 },
    j = { choose, 2 },
    u = { undo },
    p = { profile },
    q = { close },
    ["<Esc>"] = { close },
  })
  local name = text.printable(vim.fs.basename(vim.api.nvim_buf_get_name(code)))
  local window = screen.open(
    buffer,
    vim.tbl_extend("force", place(HEIGHT), {
      border = "rounded",
      title = " Ridgeline: " .. name .. " ",
    })
  )
  local bars = {
    buffer = buffer,
    window = window,
    code = code,
    bar = 1,
    batches = {},
    note = "",
    writing = false,
    timer = assert(vim.uv.new_timer()),
  }
  view = bars
  vim.api.nvim_create_autocmd("BufWipeout", { buffer = buffer, callback = function() write(bars) end })
  screen.follow(buffer, follow_code, render)
  follow_code()
end

return M
