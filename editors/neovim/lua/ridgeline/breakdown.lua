--- The breakdown: one window that shows a node of the module tree and its children, and is walked with the keyboard.
local screen = require("ridgeline.screen")
local session = require("ridgeline.session")
local text = require("ridgeline.text")

local M = {}

local HEAD = 4 -- rows above the first child
local CELLS = 12 -- of a bar
local NAME = 30

---@class ridgeline.Breakdown
---@field buffer integer
---@field window integer
---@field code integer the buffer that was profiled
---@field node string the id of what is shown
---@field by "timeMs"|"peakBytes"
---@field shown table? the server's answer, its children in order
local view ---@type ridgeline.Breakdown?

local function title_of(node)
  local words = node.name
  if node.type and node.type ~= "" and node.type ~= node.name then
    words = words .. "  " .. node.type
  end
  return text.printable(node.calls > 1 and ("%s, %d calls"):format(words, node.calls) or words)
end

local function place_of(node)
  local place = node.location or node.definition
  return place and ("%s:%d"):format(vim.fs.basename(vim.uri_to_fname(place.uri)), place.line + 1) or ""
end

local function row_of(node)
  local time, time_track = text.bar(node.share, CELLS)
  local memory, memory_track = text.bar(node.peakShare, CELLS)
  return {
    { node.childCount > 0 and "▸ " or "  ", "RidgelineDim" },
    text.fit(title_of(node), NAME),
    text.fit(text.duration(node.timeMs), -9),
    text.fit(text.share(node.share), -7) .. "  ",
    { time, "RidgelineTime" },
    { time_track, "RidgelineDim" },
    text.fit(text.bytes(node.peakBytes), -10),
    text.fit(text.share(node.peakShare), -7) .. "  ",
    { memory, "RidgelineMemory" },
    { memory_track, "RidgelineDim" },
    { "  " .. text.printable(place_of(node)), "RidgelineDim" },
  }
end

local function render()
  local shown, stale = view.shown, session.stale_words(view.code)
  local by = view.by == "timeMs" and "by time" or "by memory"
  local names = table.concat(view.path, " › ")
  local rows = {
    { { text.printable(names), "RidgelineTitle" }, stale and { "   (" .. stale .. ")", "RidgelineStale" } or "" },
    row_of(shown),
    { { "<CR> in · - up · s order · gd code · gD definition · q close", "RidgelineDim" } },
    {
      {
        text.fit("  MODULE OR OPERATION, " .. by, NAME + 2)
          .. text.fit("TIME", -9)
          .. text.fit("SHARE", -7)
          .. (" "):rep(CELLS + 2)
          .. text.fit("MEMORY", -10)
          .. text.fit("SHARE", -7)
          .. (" "):rep(CELLS + 4)
          .. "CALLED AT",
        "RidgelineTitle",
      },
    },
  }
  for _, child in ipairs(shown.children) do
    rows[#rows + 1] = row_of(child)
  end
  if #shown.children == 0 then
    rows[#rows + 1] = { "  nothing inside" .. (shown.node == "" and ": :Ridgeline profile makes a breakdown" or "") }
  end
  screen.write(view.buffer, rows)
end

--- Shows a node; the cursor goes to the child with that id, else to the first.
local function show(node, cursor_on)
  local summary = session.summary(view.code)
  if not summary then
    return session.say("there is no profile. :Ridgeline profile makes one.", vim.log.levels.WARN)
  end
  local question = { profileId = summary.profileId, node = node }
  session.request(view.code, "ridgeline/breakdown", question, function(shown)
    if not view or not vim.api.nvim_buf_is_valid(view.buffer) then
      return
    end
    table.sort(shown.children, function(a, b)
      return (a[view.by] or 0) > (b[view.by] or 0)
    end)
    local depth = node == "" and 0 or #vim.split(node, ".", { plain = true })
    view.path[depth + 1] = shown.name ~= "" and shown.name or "iteration"
    view.path = vim.list_slice(view.path, 1, depth + 1)
    view.node, view.shown, view.profile = node, shown, summary.profileId
    render()
    local row = HEAD + 1
    for i, child in ipairs(shown.children) do
      if child.node == cursor_on then
        row = HEAD + i
      end
    end
    pcall(vim.api.nvim_win_set_cursor, view.window, { row, 0 })
    session.explore(node)
  end, function(problem)
    if node ~= "" then
      return show("") -- the profile has been replaced: begin at the top of the new one
    end
    session.say(text.printable(problem.message), vim.log.levels.ERROR)
  end)
end

local function under_cursor()
  return view.shown and view.shown.children[vim.api.nvim_win_get_cursor(view.window)[1] - HEAD]
end

local function enter()
  local child = under_cursor()
  if child and child.childCount > 0 then
    show(child.node)
  end
end

local function up()
  if view.node ~= "" then
    show(view.node:match("^(.*)%.%d+$") or "", view.node)
  end
end

local function sort()
  view.by = view.by == "timeMs" and "peakBytes" or "timeMs"
  show(view.node)
end

--- Goes to a place in a window that shows code.
local function jump(which)
  local child = under_cursor() or view.shown
  local place = child and (child[which] or child.location or child.definition)
  if not place then
    return session.say("this has no place in your code.")
  end
  local window = vim.fn.win_findbuf(view.code)[1] or vim.fn.win_getid(vim.fn.winnr("#"))
  vim.api.nvim_set_current_win(window)
  vim.cmd.normal({ "m'", bang = true })
  local start = { line = place.line, character = 0 }
  vim.lsp.util.show_document({ uri = place.uri, range = { start = start, ["end"] = start } }, "utf-8", { focus = true })
end

local function close()
  if view and vim.api.nvim_win_is_valid(view.window) then
    vim.api.nvim_win_close(view.window, true)
  end
end

function M.open(code)
  if not session.summary(code) then
    return session.say("there is no profile. :Ridgeline profile makes one.", vim.log.levels.WARN)
  end
  close()
  local buffer = screen.buffer("breakdown", {
    ["<CR>"] = enter,
    ["-"] = up,
    s = sort,
    q = close,
    gd = function()
      jump("location")
    end,
    gD = function()
      jump("definition")
    end,
  })
  view = { buffer = buffer, window = screen.split(buffer, 16), code = code, node = "", by = "timeMs", path = {} }
  vim.wo[view.window].cursorline = true
  local listener = vim.api.nvim_create_autocmd("User", {
    pattern = "RidgelineChanged",
    callback = function(event)
      if view and view.buffer == buffer and event.data.buffer == code and view.shown then
        local summary = session.summary(code)
        if summary and summary.profileId ~= view.profile then
          show(view.node)
        else
          render()
        end
      end
    end,
  })
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buffer,
    callback = function()
      vim.api.nvim_del_autocmd(listener)
      view = view and view.buffer ~= buffer and view or nil
      session.explore("")
    end,
  })
  show("")
end

return M
