--- What changes of the step would bring: a window that lists them, tries the one under the cursor, and writes it.
local screen = require("ridgeline.screen")
local session = require("ridgeline.session")
local text = require("ridgeline.text")

local M = {}

-- Widths in cells.
local SPEED, PEAK, LEAST_NAME, MOST_NAME = 30, 24, 16, 40
local KEYS = { "t try", "T try all", "a apply", "r ask again", "s search", "w warnings", "x cancel", "q close" }

---@class ridgeline.WhatIf
---@field buffer integer
---@field window integer
---@field code integer
---@field answer table? of ridgeline/whatIf
---@field first table[]? rows of the answer that is on its way, as they come
---@field profile string? that the answer is of
---@field running { change: string[]?, id: integer? }? what goes on: a trial, or predictions
---@field note string what went wrong; mostly empty
---@field warns boolean whether every warning is shown, and not only the one that matters most
---@field rows table<integer, table> the change that a row of the window is about
local view ---@type ridgeline.WhatIf?

local function is_open(one) return view == one and vim.api.nvim_win_is_valid(one.window) end

local function document() return { uri = session.uri(view.code) } end

--- The columns that fit: where the window is narrow, first the peak is left out.
local function columns_of(width, has_tried)
  local speed = has_tried and SPEED or SPEED + 1 -- with "try it"
  local speeds = has_tried and 2 * SPEED or speed
  local peak = width - 2 - speeds - PEAK >= LEAST_NAME and PEAK or 0
  return {
    name = math.max(LEAST_NAME, math.min(MOST_NAME, width - 2 - speeds - peak)),
    speed = speed,
    tried = has_tried and SPEED or 0,
    peak = peak,
  }
end

local function row_of(change, columns)
  local function cell(value, width)
    return width > 0 and text.fit(value == "" and "–" or text.printable(value), width) or ""
  end
  return {
    "  ",
    { text.fit(text.printable(change.title), columns.name - 2) .. "  ", "RidgelineTitle" },
    {
      cell(columns.tried > 0 and change.predictedText:gsub(": try it", "") or change.predictedText, columns.speed),
      "RidgelineTime",
    },
    { cell(change.triedText, columns.tried), "RidgelineTime" },
    { cell(change.peakText, columns.peak), "RidgelineMemory" },
  }
end

--- What follows a row: what to write for it, and what is known besides its figures.
local function remarks_of(change, columns)
  local remarks = {}
  if change.takes ~= "" then remarks[1] = change.takes end
  if columns.peak == 0 and change.peakText ~= "" then remarks[#remarks + 1] = "peak " .. change.peakText end
  for _, remark in ipairs({ change.lossText, change.certaintyText }) do
    if remark ~= "" then remarks[#remarks + 1] = remark end
  end
  if change.notTried ~= "" then remarks[#remarks + 1] = "could not be tried: " .. change.notTried end
  return remarks
end

--- Why the answer is not of the present code; nil when it is.
local function age_note()
  local summary = session.summary(view.code)
  if not view.answer or not summary then return nil end
  return (summary.stale or summary.profileId ~= view.profile) and "of the step before the last change: r asks again"
    or nil
end

local function doing()
  if not view.running then return nil end
  local change = view.running.change
  return change and ("trying %s …"):format(table.concat(change, " + ")) or "asking what changes would bring …"
end

local function render()
  local width, rows = vim.api.nvim_win_get_width(view.window), {}
  local cursor, at = vim.api.nvim_win_get_cursor(view.window), nil
  local under = view.rows[cursor[1]]
  view.rows = {}
  local function add(row, change, indent)
    for _, folded in ipairs(screen.fold(row, width, indent or 2)) do
      rows[#rows + 1] = folded
      view.rows[#rows] = change
    end
  end
  local name = vim.fs.basename(vim.uri_to_fname(document().uri))
  local age, what = age_note(), doing()
  add({
    { "What if: " .. text.printable(name), "RidgelineTitle" },
    { age and "   (" .. age .. ")" or "", "RidgelineStale" },
  })
  add({ { text.row(KEYS, "·"), "RidgelineDim" } })
  if what then add({ { what, "RidgelineStale" } }) end
  local offer = view.answer and not age and view.answer.tryText or ""
  if offer ~= "" then add({ { text.printable(offer), "RidgelineTime" } }) end
  if view.note ~= "" then add({ { text.printable(view.note), "DiagnosticError" } }) end
  local applied = (session.summary(view.code) or {}).applied
  if applied and applied ~= vim.NIL then
    local known = { "Applied: " .. applied.title }
    for _, kind in ipairs({ "predicted", "tried", "measured" }) do
      if applied[kind .. "Text"] ~= "" then known[#known + 1] = kind .. " " .. applied[kind .. "Text"] end
    end
    add({ { text.printable(table.concat(known, " · ")), "RidgelineTime" } })
  end
  local changes, useless, others = view.first or view.answer and view.answer.changes or {}, {}, {}
  local has_tried = vim.iter(changes):any(function(change) return change.triedText ~= "" end)
  local columns = columns_of(width, has_tried)
  local is_first = true
  local function add_change(change)
    if is_first then
      local titles = "  "
        .. text.fit("CHANGE", columns.name)
        .. text.fit("PREDICTED SPEED-UP", columns.speed)
        .. (has_tried and text.fit("TRIED SPEED-UP", SPEED) or "")
        .. (columns.peak > 0 and "PEAK MEMORY" or "")
      rows[#rows + 1] = { { titles, "RidgelineDim" } }
      is_first = false
    end
    rows[#rows + 1] = row_of(change, columns)
    view.rows[#rows] = change
    if under and not at and vim.deep_equal(under.change, change.change) then at = #rows end
    local remarks = remarks_of(change, columns)
    if #remarks > 0 then add({ "    ", { table.concat(remarks, "; "), "RidgelineDim" } }, change, 4) end
  end
  for _, change in ipairs(changes) do
    if not change.applies then
      others[#others + 1] = change
    elseif change.bringsNothing then
      useless[#useless + 1] = change
    else
      add_change(change)
    end
  end
  if #useless > 0 then add({ { "No gain:", "RidgelineDim" } }) end
  for _, change in ipairs(useless) do
    add_change(change)
  end
  if #others > 0 then add({ { "Left out:", "RidgelineDim" } }) end
  for _, change in ipairs(others) do
    add({ "  ", { text.printable(change.title .. ": " .. change.reason), "RidgelineDim" } }, nil, 4)
  end
  if view.answer then add({ { text.printable(view.answer.basisText), "RidgelineDim" } }) end
  local warnings = view.answer and view.answer.warnings or {}
  for i, warning in ipairs(warnings) do
    if i == 2 and not view.warns then
      add({ { ("%d more %s: w"):format(#warnings - 1, #warnings == 2 and "warning" or "warnings"), "RidgelineDim" } })
      break
    end
    add({ { text.printable(warning), "RidgelineDim" } })
  end
  screen.write(view.buffer, rows)
  vim.api.nvim_win_set_cursor(view.window, { math.min(at or cursor[1], #rows), 0 })
end

--- Sends a request that runs the code, one at a time.
---@param change string[]? of a trial
---@param on_part fun(part: table)? is called with rows of the answer as they come
local function ask(method, params, change, on_result, on_part)
  if view.running then return session.say("one is asked already: x cancels it.", "WARN") end
  local one, running = view, { change = change }
  one.running, one.note = running, ""
  local function ended(note)
    if one.running ~= running then return false end
    one.running, one.note, one.first = nil, note, nil
    return is_open(one)
  end
  local function answered(result)
    if not ended("") then return end
    on_result(result)
    render()
  end
  local function failed(problem)
    if ended(problem.message) then render() end
  end
  if on_part then
    running.id = session.request_in_parts(one.code, method, params, function(part)
      if one.running == running and is_open(one) then on_part(part) end
    end, answered, failed)
  else
    running.id = session.request(one.code, method, params, answered, failed)
  end
  render()
end

--- The first answers, in the place of those of before.
local function show_part(part)
  view.first = view.first or {}
  for _, row in ipairs(part.changes) do
    view.first = vim
      .iter(view.first)
      :filter(function(other) return not vim.deep_equal(other.change, row.change) end)
      :totable()
    table.insert(view.first, row)
  end
  render()
end

---@param options table? search and memoryBytes
local function ask_all(options)
  local one = view
  local params = vim.tbl_extend("force", { textDocument = document() }, options or {})
  ask("ridgeline/whatIf", params, nil, function(answer)
    local first = one.answer == nil
    one.answer = answer
    session.with_profile(one.code, function()
      if not is_open(one) then return end
      one.profile = session.summary(one.code).profileId
      render()
      local chosen = one.rows[vim.api.nvim_win_get_cursor(one.window)[1]] -- by keys, while the profile was on its way
      local row = first
        and not chosen
        and vim
          .iter(ipairs(vim.api.nvim_buf_get_lines(one.buffer, 0, -1, false)))
          :find(function(i) return one.rows[i] end)
      if row then vim.api.nvim_win_set_cursor(one.window, { row, 0 }) end
    end)
  end, show_part)
end

--- Also predicts the best combination of changes, within a limit of memory.
local function search()
  local one = view
  vim.ui.input({ prompt = "Most peak memory in GiB (empty: no limit): " }, function(typed)
    if not typed or not is_open(one) then return end
    local limit = tonumber(typed)
    if vim.trim(typed) ~= "" and not (limit and limit > 0) then
      return session.say("a limit is a number of GiB, such as 8.", "ERROR")
    end
    ask_all({ search = true, memoryBytes = limit and math.floor(limit * 2 ^ 30) or nil })
  end)
end

local function under_cursor()
  local change = view.rows[vim.api.nvim_win_get_cursor(view.window)[1]]
  if not change then session.say("the cursor is on no change that applies.", "WARN") end
  return change
end

--- `on_tried` is called once the row is that of the trial.
local function try_change(change, on_tried)
  local one = view
  ask("ridgeline/try", { textDocument = document(), change = change.change }, change.change, function(tried)
    for i, other in ipairs(one.answer.changes) do
      if vim.deep_equal(other.change, tried.change) then one.answer.changes[i] = tried end
    end
    if on_tried then vim.schedule(function() return is_open(one) and on_tried() end) end
  end)
end

local function try()
  local change = under_cursor()
  if change then try_change(change) end
end

--- Tries what was not tried, one after the other, what takes long last; x ends it.
local function try_all()
  local left = vim
    .iter(view.answer and view.answer.changes or {})
    :filter(function(change) return change.applies and change.triedText == "" and change.notTried == "" end)
    :totable()
  if #left == 0 then return session.say("nothing is left to try.") end
  local quick = vim.iter(left):find(function(change) return not vim.list_contains(change.change, "compile") end)
  try_change(quick or left[1], function()
    if
      vim
        .iter(view.answer.changes)
        :any(function(change) return change.applies and change.triedText == "" and change.notTried == "" end)
      and not age_note()
    then
      try_all()
    end
  end)
end

--- Whether an edit may be made: one of several lines is shown as a diff first, and the user decides.
local function allows(edit, title, encoding)
  local uri, edits
  if edit.documentChanges then
    uri, edits = edit.documentChanges[1].textDocument.uri, edit.documentChanges[1].edits
  else
    uri, edits = next(edit.changes)
  end
  local lines = {}
  for _, each in ipairs(edits) do
    local ends = each.range
    lines[ends.start.line], lines[ends["end"].line] = true, true
    if each.newText:find("\n") then lines.new = true end
  end
  if #vim.tbl_keys(lines) <= 1 then return true end
  local text = vim.api.nvim_buf_get_lines(vim.uri_to_bufnr(uri), 0, -1, false)
  local after = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(after, 0, -1, false, text)
  vim.lsp.util.apply_text_edits(edits, after, encoding)
  local new = vim.api.nvim_buf_get_lines(after, 0, -1, false)
  local diff = vim.diff(table.concat(text, "\n") .. "\n", table.concat(new, "\n") .. "\n", { ctxlen = 2 })
  vim.api.nvim_buf_set_lines(after, 0, -1, false, vim.split(vim.trim(diff), "\n"))
  vim.bo[after].filetype = "diff"
  local window = vim.api.nvim_open_win(after, false, { split = "above", win = 0 })
  vim.cmd.redraw()
  local choice = vim.fn.confirm("Write " .. title .. " as the diff shows?", "&Write\n&Discard", 2)
  vim.api.nvim_win_close(window, true)
  vim.api.nvim_buf_delete(after, { force = true })
  return choice == 1
end

--- Writes the change under the cursor into the entry file, as one undo step; one of several lines once it was seen.
local function apply()
  local change, one = under_cursor(), view
  if not change then return end
  if not change.canBeWritten then
    return session.say("this is for you to write: " .. (change.takes ~= "" and change.takes or change.title), "WARN")
  end
  local uri = session.uri(one.code)
  vim.fn.bufload(vim.uri_to_bufnr(uri))
  session.request(
    one.code,
    "ridgeline/changeEdit",
    { textDocument = { uri = uri }, change = change.change },
    function(made)
      if made.edit == vim.NIL or not made.edit then return session.say(made.noEditReason, "WARN") end
      local encoding = session.client(one.code).offset_encoding
      if not allows(made.edit, change.title, encoding) then return session.say("not written.") end
      vim.lsp.util.apply_workspace_edit(made.edit, encoding)
      session.say("written: " .. change.title .. ". Press u in the code to undo it.")
    end
  )
end

local function cancel()
  local running = view.running
  if not running then return session.say("nothing goes on here.") end
  view.running, view.first = nil, nil
  session.cancel_request(view.code, running.id)
  session.say("cancelled.")
  render()
end

local function warn()
  view.warns = not view.warns
  render()
end

local function close() screen.close(view.window) end

function M.open(code)
  local keys = {
    t = { try },
    T = { try_all },
    a = { apply },
    r = { ask_all },
    s = { search },
    w = { warn },
    x = { cancel },
    q = { close },
  }
  local buffer = screen.buffer("what-if", code, keys)
  local window = screen.open(buffer, { split = "below", win = -1, height = 16 })
  view = { buffer = buffer, window = window, code = code, note = "", warns = false, rows = {} }
  local one = view
  local function again()
    if is_open(one) then render() end
  end
  screen.follow(buffer, again, again)
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buffer,
    callback = function()
      if one.running then session.cancel_request(one.code, one.running.id) end
      one.running = nil
    end,
  })
  ask_all()
end

return M
