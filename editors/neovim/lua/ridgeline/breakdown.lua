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
  local columns = text.fit("  MODULE OR OPERATION, " .. order, NAME + 2) .. text.fit("TIME", -9) .. text.fit("SHARE", -7)
    .. text.fit("MEMORY", -CELLS - 12) .. text.fit("SHARE", -7) .. (" "):rep(CELLS + 4) .. "CALLED AT"
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

--- Shows a node; the cursor goes to the child with that id, else to the first one.
local function show(node, cursor_on)
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
  end, function(problem)
    if node ~= "" then return show("") end -- another profile, which does not have the node
    session.say(text.printable(problem.message), "ERROR")
  end)
end

local function under_cursor()
  return view.shown and view.shown.children[vim.api.nvim_win_get_cursor(view.window)[1] - HEAD]
end

local function enter()
  local child = under_cursor()
  if child and child.childCount > 0 then show(child.node) end
end

local function up()
  if view.shown and view.shown.parent then show(view.shown.parent, view.shown.node) end
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
  vim.api.nvim_set_current_win(vim.fn.win_findbuf(view.code)[1] or vim.fn.win_getid(vim.fn.winnr("#")))
  local start = { line = place.line, character = 0 }
  vim.lsp.util.show_document({ uri = place.uri, range = { start = start, ["end"] = start } }, "utf-8", { focus = true })
end

local function close() screen.close(view.window) end

function M.open(code)
  local buffer = screen.buffer("breakdown", code, {
    ["<CR>"] = { enter }, ["-"] = { up }, s = { order }, q = { close },
    gd = { jump, "location" }, gD = { jump, "definition" },
  })
  local window = screen.open(buffer, { split = "below", win = -1, height = 16 })
  view = { buffer = buffer, window = window, code = code, by = "timeMs", path = {} }
  screen.follow(buffer, function()
    local summary = session.summary(code)
    if not view.shown or not summary then return end
    if summary.profileId ~= view.shown.profileId then return show(view.shown.node) end
    render()
  end)
  show("")
end

return M
