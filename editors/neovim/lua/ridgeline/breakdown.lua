--- The breakdown: a window that shows a node of the module tree and its children, navigated with the keyboard.
local screen = require("ridgeline.screen")
local session = require("ridgeline.session")
local text = require("ridgeline.text")

local M = {}

local HEAD = 4 -- rows above the first child
local CELLS, NAME = 12, 30

---@class ridgeline.Breakdown
---@field buffer integer
---@field window integer
---@field code integer
---@field by "timeMs"|"peakBytes" the order of children
---@field path string[] names from the iteration to what is shown
---@field shown table? the server's answer
---@field code_window integer
---@field left table<string, table> where the code was when a node was left for one of its children, by node
local view ---@type ridgeline.Breakdown?

local function row_of(node)
  local name = node.name ~= "" and node.name or "iteration"
  if node.type ~= "" and node.type ~= name then name = name .. "  " .. node.type end
  if node.calls > 1 then name = ("%s, %d calls"):format(name, node.calls) end
  local time, time_track = text.bar(node.share, CELLS, "RidgelineTime")
  local memory, memory_track = text.bar(node.peakShare, CELLS, "RidgelineMemory")
  local place = node.location or node.definition
  local where = place and ("  %s:%d"):format(vim.fs.basename(vim.uri_to_fname(place.uri)), place.line + 1) or ""
  return {
    { node.childCount > 0 and "▸ " or "  ", "RidgelineDim" },
    text.fit(text.printable(name), NAME),
    text.fit(text.duration(node.timeMs), -9) .. text.fit(text.share(node.share), -7) .. "  ",
    time, time_track,
    text.fit(text.bytes(node.peakBytes), -10) .. text.fit(text.share(node.peakShare), -7) .. "  ",
    memory, memory_track,
    { where, "RidgelineDim" },
  }
end

local function render()
  local stale = session.stale_note(view.code)
  local order = view.by == "timeMs" and "by time" or "by memory"
  local columns = text.fit("  MODULE OR OPERATION, " .. order, NAME + 2)
    .. text.fit("TIME", -9) .. text.fit("  OF THE STEP", CELLS + 9)
    .. text.fit("MEMORY", -10) .. text.fit("  OF THE PEAK", CELLS + 9) .. "  CALLED AT"
  local names = text.printable(table.concat(view.path, " › "))
  local rows = {
    { { names, "RidgelineTitle" }, { stale and "   (" .. stale .. ")" or "", "RidgelineStale" } },
    row_of(view.shown),
    { { "<CR> in · - up · s order · gd code · gD definition · q close", "RidgelineDim" } },
    { { columns, "RidgelineTitle" } },
  }
  vim.list_extend(rows, vim.tbl_map(row_of, view.shown.children))
  if #rows == HEAD then rows[HEAD + 1] = { "  no parts. :Ridgeline profile makes a new profile." } end
  local cursor = vim.api.nvim_win_get_cursor(view.window)
  screen.write(view.buffer, rows)
  vim.api.nvim_win_set_cursor(view.window, { math.min(cursor[1], #rows), 0 })
end

--- The line of the `def` that a line is inside of; that line itself when there is none.
local function function_above(buffer, line)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, line + 1, false)
  local indent = #(lines[line + 1] or ""):match("^%s*")
  for at = line, 1, -1 do
    local outer, rest = (lines[at] or ""):match("^(%s*)(.*)")
    if #outer < indent and (rest:match("^def%s") or rest:match("^async%s+def%s")) then return at - 1 end
  end
  return line
end

--- The first line that calls a part of a module, in the file of its class: it is in the module's `forward`. None in the
--- modules of PyTorch: nothing in the user's code calls their parts.
local function place_inside(node)
  local first
  for _, child in ipairs(node.children) do
    local call, class = child.location, node.definition
    local is_inside = call and class and call.uri == class.uri and call.line > class.line
    if is_inside and not (first and first.line < call.line) then first = call end
  end
  return first
end

local function code_window()
  if vim.api.nvim_win_is_valid(view.code_window) then return view.code_window end
  return vim.fn.win_findbuf(view.code)[1]
end

--- Goes to the `forward` of a node that was entered, else to the line that calls it; the breakdown keeps the focus.
local function show_code(node)
  local window, inside = code_window(), place_inside(node)
  local place = inside or node.location or node.definition
  if not window then return end
  local before = { buffer = vim.api.nvim_win_get_buf(window), view = vim.api.nvim_win_call(window, vim.fn.winsaveview) }
  view.left[node.parent] = before
  if not place or not vim.startswith(place.uri, "file:") then return end
  local buffer = vim.uri_to_bufnr(place.uri)
  if not pcall(vim.fn.bufload, buffer) then return end
  local line = inside and function_above(buffer, inside.line) or place.line
  vim.api.nvim_win_call(window, function()
    vim.cmd("normal! m'")
    if not pcall(vim.api.nvim_win_set_buf, window, buffer) then return end -- such as a changed file, with 'nohidden'
    vim.bo[buffer].buflisted = true
    vim.api.nvim_win_set_cursor(window, { math.min(line + 1, vim.api.nvim_buf_line_count(buffer)), 0 })
    vim.cmd("normal! " .. (inside and "zvzt" or "zv"))
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
    local _, dots = node:gsub("%.", "")
    local depth = node == "" and 0 or dots + 1
    view.path = vim.list_slice(view.path, 1, depth)
    view.path[depth + 1] = shown.name ~= "" and shown.name or "iteration"
    view.shown = shown
    render()
    vim.api.nvim_win_set_cursor(view.window, { math.min(HEAD + row, vim.api.nvim_buf_line_count(view.buffer)), 0 })
    if then_do then then_do(shown) end
  end, function(problem)
    if node ~= "" then return show("") end -- another profile, which does not have the node
    session.say(problem.message, "ERROR")
  end)
end

local function under_cursor()
  return view.shown and view.shown.children[vim.api.nvim_win_get_cursor(view.window)[1] - HEAD]
end

local function enter()
  local child = under_cursor()
  if child and child.childCount > 0 then show(child.node, nil, show_code) end
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
    ["<CR>"] = { enter }, ["-"] = { up }, s = { order }, q = { close },
    gd = { jump, "location" }, gD = { jump, "definition" },
  })
  local here = vim.fn.win_findbuf(code)[1] or vim.api.nvim_get_current_win()
  local window = screen.open(buffer, { split = "below", win = -1, height = 16 })
  view = { buffer = buffer, window = window, code = code, code_window = here, by = "timeMs", path = {}, left = {} }
  screen.follow(buffer, function()
    local summary = session.summary(code)
    if not view.shown or not summary then return end
    if summary.profileId ~= view.shown.profileId then return show(view.shown.node) end
    render()
  end)
  show("")
end

return M
