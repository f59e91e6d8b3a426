--- The breakdown: a window that shows a node of the module tree and its children, navigated with the keyboard.
local screen = require("ridgeline.screen")
local session = require("ridgeline.session")
local text = require("ridgeline.text")

local M = {}

-- Widths in cells.
local FIGURES = 36 -- of what is always shown in full, with the mark before a name
local BAR, LEAST_BAR = 12, 4
local NAME, LEAST_NAME = 40, 22
local KEYS = { "<CR> in", "- up", "c costliest", "s order", "gd code", "gD definition", "q close" }

---@class ridgeline.Breakdown
---@field buffer integer
---@field window integer
---@field code integer
---@field by "timeMs"|"peakBytes" the order of children
---@field names table<string, string> by node, of all that the server has named
---@field shown table? the server's answer
---@field code_window integer
---@field first integer the row of the first child
---@field left table<string, table> where the code was when a node was left for one of its children, by node
local view ---@type ridgeline.Breakdown?

local function name_of(node) return node.name ~= "" and text.printable(node.name) or "iteration" end

local function place_of(node)
  local place = node.location or node.definition
  return place and ("%s:%d"):format(text.printable(vim.fs.basename(vim.uri_to_fname(place.uri))), place.line + 1) or ""
end

---@class ridgeline.Columns widths of what is beside the figures; 0 for what is left out
---@field name integer
---@field bar integer each of the two, with the gap before it
---@field place integer with the gap before it

--- What fits into a window of that width: where it is narrow, first the places are left out, then the bars.
---@return ridgeline.Columns
local function columns_of(nodes, width)
  local place = 0
  for _, node in ipairs(nodes) do
    place = math.max(place, vim.fn.strdisplaywidth(place_of(node)) + 2)
  end
  local bar = math.min(BAR, math.floor((width - FIGURES - LEAST_NAME) / 2) - 2)
  bar = bar < LEAST_BAR and 0 or bar + 2
  if width - FIGURES - LEAST_NAME - 2 * bar < place then place = 0 end
  return { name = math.max(1, math.min(NAME, width - FIGURES - 2 * bar - place)), bar = bar, place = place }
end

local function row_of(node, columns, summary)
  local name = name_of(node)
  if node.type ~= "" and node.type ~= name then name = name .. "  " .. node.type end
  if node.calls > 1 then name = ("%s, %d calls"):format(name, node.calls) end
  local gap = columns.bar > 0 and "  " or ""
  local time, time_track = text.bar(node.share, columns.bar - #gap, "RidgelineTime")
  local memory, memory_track = text.bar(node.peakShare, columns.bar - #gap, "RidgelineMemory")
  return {
    { node.childCount > 0 and "▸ " or "  ", "RidgelineDim" },
    text.fit(text.printable(name), columns.name),
    text.fit(text.timed(text.duration(node.timeMs), summary), -10) .. text.fit(text.share(node.share), -7) .. gap,
    time,
    time_track,
    text.fit(text.bytes(node.peakBytes), -10) .. text.fit(text.share(node.peakShare), -7) .. gap,
    memory,
    memory_track,
    { columns.place > 0 and "  " .. place_of(node) or "", "RidgelineDim" },
  }
end

local function title_row(columns)
  local function figure(title, by, width) return text.fit(title .. (view.by == by and " ▾" or ""), -width) end
  local title = "MODULE OR OPERATION"
  local row = text.fit("  " .. (#title > columns.name and "MODULE" or title), columns.name + 2)
    .. figure("TIME", "timeMs", 10)
    .. text.fit("SHARE", -7)
    .. (" "):rep(columns.bar)
    .. figure("MEMORY", "peakBytes", 10)
    .. text.fit("SHARE", -7)
    .. (" "):rep(columns.bar)
    .. (columns.place > 0 and "  CALLED AT" or "")
  return { { row, "RidgelineTitle" } }
end

--- From below what is shown down to a leaf, always into the costliest child in the order of the window.
local function costliest_path() return view.shown.costliest[view.by == "timeMs" and "time" or "memory"] end

--- The names of a node and of what it is inside of, from the iteration on.
local function path_of(node)
  local names, at = { view.names[""] }, nil
  for index in node:gmatch("[^.]+") do
    at = at and at .. "." .. index or index
    names[#names + 1] = view.names[at] or "…"
  end
  return names
end

local function render()
  if not view.shown then return end
  local shown, width = view.shown, vim.api.nvim_win_get_width(view.window)
  local nodes = vim.list_extend({ shown }, shown.children)
  local stale, columns, rows = session.stale_note(view.code), columns_of(nodes, width), {}
  local function add(row) vim.list_extend(rows, screen.fold(row, width, 2)) end
  local note = stale and "   (" .. stale .. ")" or ""
  add({ { text.row(path_of(shown.node), "›"), "RidgelineTitle" }, { note, "RidgelineStale" } })
  local summary = session.summary(view.code) or { uncertainty = "" }
  rows[#rows + 1] = row_of(shown, columns, summary)
  local costliest = vim.tbl_map(function(step) return text.printable(step.label) end, costliest_path())
  if #costliest > 0 then
    add({ ("costliest by %s: "):format(view.by == "timeMs" and "time" or "memory"), text.row(costliest, "›") })
  end
  add({ { text.row(KEYS, "·"), "RidgelineDim" } })
  rows[#rows + 1] = title_row(columns)
  view.first = #rows + 1
  for _, child in ipairs(shown.children) do
    rows[#rows + 1] = row_of(child, columns, summary)
  end
  if #shown.children == 0 then add({ "  no parts. :Ridgeline profile makes a new profile." }) end
  local cursor = vim.api.nvim_win_get_cursor(view.window)
  screen.write(view.buffer, rows)
  vim.api.nvim_win_set_cursor(view.window, { math.min(cursor[1], #rows), 0 })
end

local function code_window()
  if vim.api.nvim_win_is_valid(view.code_window) then return view.code_window end
  return vim.fn.win_findbuf(view.code)[1]
end

--- Goes to the `forward` of a node that was entered, else to the line that calls it; the breakdown keeps the focus.
---@param left string the node that was shown before
local function show_code(node, left)
  local window, place = code_window(), node.forward or node.location or node.definition
  if not window then return end
  local before = { buffer = vim.api.nvim_win_get_buf(window), view = vim.api.nvim_win_call(window, vim.fn.winsaveview) }
  view.left[left] = before
  if not place or not vim.startswith(place.uri, "file:") then return end
  local buffer = vim.uri_to_bufnr(place.uri)
  if not pcall(vim.fn.bufload, buffer) then return end
  vim.api.nvim_win_call(window, function()
    vim.cmd("normal! m'")
    if not pcall(vim.api.nvim_win_set_buf, window, buffer) then return end -- such as a changed file, with 'nohidden'
    vim.bo[buffer].buflisted = true
    vim.api.nvim_win_set_cursor(window, { math.min(place.line + 1, vim.api.nvim_buf_line_count(buffer)), 0 })
    vim.cmd("normal! " .. (node.forward and "zvzt" or "zv"))
  end)
end

--- Goes back to where the code was when a node was left.
local function restore_code(node)
  local window, before = code_window(), view.left[node]
  if not window or not before or not vim.api.nvim_buf_is_valid(before.buffer) then return end
  vim.api.nvim_win_call(window, function()
    if pcall(vim.api.nvim_win_set_buf, window, before.buffer) then vim.fn.winrestview(before.view) end
  end)
end

--- Shows a node; the cursor goes to the child with that id, else to the first one.
---@param then_do function? called with the node that is shown
local function show(node, cursor_on, then_do)
  local asking, summary = view, session.summary(view.code)
  if not summary then return end
  session.request(view.code, "ridgeline/breakdown", { profileId = summary.profileId, node = node }, function(shown)
    if view ~= asking or not vim.api.nvim_win_is_valid(view.window) then return end
    local by, row = view.by, 1
    table.sort(shown.children, function(a, b)
      if a[by] ~= b[by] then return (a[by] or 0) > (b[by] or 0) end
      return #a.node < #b.node or #a.node == #b.node and a.node < b.node -- as the server has them
    end)
    for i, child in ipairs(shown.children) do
      if child.node == cursor_on then row = i end
    end
    local named = { { shown }, shown.children, shown.costliest.time, shown.costliest.memory }
    for _, each in ipairs(vim.iter(named):flatten():totable()) do
      view.names[each.node] = name_of(each)
    end
    view.shown = shown
    render()
    local last = vim.api.nvim_buf_line_count(view.buffer)
    vim.api.nvim_win_set_cursor(view.window, { math.min(view.first + row - 1, last), 0 })
    if then_do then then_do(shown) end
  end, function(problem)
    if node ~= "" then return show("") end -- another profile, which does not have the node
    session.say(problem.message, "ERROR")
  end)
end

local function under_cursor()
  return view.shown and view.shown.children[vim.api.nvim_win_get_cursor(view.window)[1] - view.first + 1]
end

local function enter()
  local child = under_cursor()
  if not child or child.childCount == 0 then return end
  local left = view.shown.node
  show(child.node, nil, function(shown) show_code(shown, left) end)
end

--- Goes down to the costliest leaf in one step: its module is shown, with the cursor on the leaf, and the code goes to it.
local function enter_costliest()
  local path = view.shown and costliest_path() or {}
  local left, leaf, module = view.shown and view.shown.node, path[#path], path[#path - 1]
  if not leaf then return end
  show(module and module.node or left, leaf.node, function()
    local reached = under_cursor()
    if reached then show_code(reached, left) end
  end)
end

local function up()
  local shown = view.shown
  if not shown or not shown.parent then return end
  show(shown.parent, shown.node, function() restore_code(shown.parent) end)
end

local function order()
  local child = under_cursor()
  view.by = view.by == "timeMs" and "peakBytes" or "timeMs"
  if view.shown then show(view.shown.node, child and child.node) end
end

--- Goes to a place, in a window that shows code.
local function jump(which)
  local node = under_cursor() or view.shown
  local place = node and (node[which] or node.location or node.definition)
  if not place then return session.say("this has no location in your code.") end
  vim.api.nvim_set_current_win(code_window() or vim.fn.win_getid(vim.fn.winnr("#")))
  local start = { line = place.line, character = 0 }
  vim.lsp.util.show_document({ uri = place.uri, range = { start = start, ["end"] = start } }, "utf-8", { focus = true })
end

local function close() screen.close(view.window) end

function M.open(code)
  local buffer = screen.buffer("breakdown", code, {
    ["<CR>"] = { enter },
    ["-"] = { up },
    c = { enter_costliest },
    s = { order },
    q = { close },
    gd = { jump, "location" },
    gD = { jump, "definition" },
  })
  local here = vim.fn.win_findbuf(code)[1] or vim.api.nvim_get_current_win()
  local window = screen.open(buffer, { split = "below", win = -1, height = 16 })
  view = {
    buffer = buffer,
    window = window,
    code = code,
    code_window = here,
    by = "timeMs",
    names = {},
    first = 1,
    left = {},
  }
  screen.follow(buffer, function()
    local summary = session.summary(code)
    if not view.shown or not summary then return end
    if summary.profileId ~= view.shown.profileId then return show(view.shown.node) end
    render()
  end, render)
  show("")
end

return M
