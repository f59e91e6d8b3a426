--- What costs most, as a quickfix list: lines, operations or types of modules, by time or by memory.
local session = require("ridgeline.session")
local text = require("ridgeline.text")

local M = {}

local KINDS = {
  lines = { rows = "lines", name = "lines" },
  operations = { rows = "operations", name = "operations" },
  modules = { rows = "moduleTypes", name = "module types (including what is inside)" },
}
local REST = "^… %d+ more$"

--- The server's order is by time; a last row that stands for the rest stays the last one.
local function by_memory(rows)
  local last = rows[#rows]
  local has_rest = last and not last.calls and last.name:find(REST)
  local rest = has_rest and table.remove(rows) or nil
  for i, row in ipairs(rows) do
    row.index = i
  end
  table.sort(rows, function(a, b)
    if a.peakBytes ~= b.peakBytes then return a.peakBytes > b.peakBytes end
    return a.index < b.index
  end)
  rows[#rows + 1] = rest
end

--- Fills the cells of each column to the width of the widest one, aligned to the right.
local function align(cells)
  for column = 1, #(cells[1] or {}) do
    local width = 0
    for _, row in ipairs(cells) do
      width = math.max(width, vim.fn.strdisplaywidth(row[column]))
    end
    for _, row in ipairs(cells) do
      row[column] = text.fit(row[column], -width)
    end
  end
end

--- The texts of the entries: the cost that they are sorted by, its share, the other cost, the name, and what a line
--- differs by from the profile before.
local function texts(rows, kind, order, summary)
  local cells = vim.tbl_map(function(row)
    local time, memory = text.timed(text.duration(row.timeMs), summary), text.bytes(row.peakBytes)
    if order == "memory" then return { memory, text.share(row.peakShare), time } end
    return { time, text.share(row.share), memory }
  end, rows)
  align(cells)
  local shown = {}
  for i, row in ipairs(rows) do
    local calls = kind ~= "lines" and row.calls and row.calls > 1 and (", %d calls"):format(row.calls) or ""
    local change = row.change and (" (%s)"):format(row.change.label) or ""
    shown[i] = ("%s  %s"):format(table.concat(cells[i], "  "), text.printable(row.name .. calls .. change))
  end
  return shown
end

--- 'quickfixtextfunc': as Neovim writes entries, with the places in columns of their own.
local function entry_lines(info)
  local items = vim.fn.getqflist({ id = info.id, items = true }).items
  local cells = vim.tbl_map(function(item)
    local file = item.bufnr > 0 and vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr)) or ""
    return { text.printable(file), item.lnum > 0 and tostring(item.lnum) or "" }
  end, items)
  align(cells)
  local lines = {}
  for i = info.start_idx, info.end_idx do
    lines[#lines + 1] = ("%s|%s| %s"):format(cells[i][1], cells[i][2], items[i].text)
  end
  return lines
end

local function title_of(code, kind, order)
  local stale = session.stale_note(code)
  return ("Ridgeline: costliest %s by %s%s"):format(KINDS[kind].name, order, stale and "; " .. stale or "")
end

---@param kind "lines"|"operations"|"modules"
---@param order "time"|"memory"
function M.open(code, kind, order)
  local summary = session.summary(code)
  session.request(code, "ridgeline/costliest", { profileId = summary.profileId }, function(costliest)
    local rows = costliest[KINDS[kind].rows]
    if order == "memory" then by_memory(rows) end
    local shown, items = texts(rows, kind, order, summary), {}
    for i, row in ipairs(rows) do
      local place = row.location
      local in_file = place and vim.startswith(place.uri, "file:")
      items[i] = {
        bufnr = in_file and vim.uri_to_bufnr(place.uri) or nil,
        lnum = in_file and place.line + 1 or nil,
        text = shown[i],
        valid = in_file and 1 or 0,
      }
    end
    vim.fn.setqflist({}, " ", { title = title_of(code, kind, order), items = items, quickfixtextfunc = entry_lines })
    vim.cmd("botright copen")
    vim.b.ridgeline_code = code -- for the next command, which may be another order
  end)
end

return M
