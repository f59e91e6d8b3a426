--- Scratch buffers, written as rows of chunks: `{ { "text", "HighlightGroup" }, "text" }`. Text is shown
--- verbatim: nothing in it is run or expanded.
local text = require("ridgeline.text")

local M = {}

local namespace = vim.api.nvim_create_namespace("ridgeline.screen")
local LINKS = {
  Heat1 = "DiagnosticSignHint",
  Heat2 = "DiagnosticSignInfo",
  Heat3 = "DiagnosticSignWarn",
  Heat4 = "DiagnosticSignError",
  Total = "NonText",
  Stale = "Comment",
  Figure = "Comment",
  Time = "Function",
  Memory = "String",
  Title = "Title",
  Dim = "Comment",
}

--- The groups, linked to standard ones where the user or the colour scheme has not set them.
function M.highlights()
  for group, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, "Ridgeline" .. group, { link = link, default = true })
  end
end

--- A buffer that is deleted with its window and belongs to a buffer of code; replaces one of the same name.
---@param keys table<string, table> a function and its arguments, by key
function M.buffer(name, code, keys)
  M.highlights()
  local old = vim.fn.bufnr("ridgeline://" .. name)
  if old ~= -1 then vim.api.nvim_buf_delete(old, { force = true }) end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, "ridgeline://" .. name)
  vim.bo[buffer].bufhidden, vim.bo[buffer].filetype = "wipe", "ridgeline"
  vim.b[buffer].ridgeline_code = code
  for key, action in pairs(keys) do
    vim.keymap.set("n", key, function() action[1](unpack(action, 2)) end, { buffer = buffer, nowait = true })
  end
  return buffer
end

--- Breaks a row at blanks into rows of at most `width` cells; those after the first are indented. What has no blank
--- stays together, across chunks too.
function M.fold(row, width, indent)
  local rows, used, is_empty = { {} }, 0, true
  local word, cells = {}, 0
  local function place_word()
    if #word == 0 then return end
    if used + cells > width and not is_empty then
      rows[#rows + 1] = { (" "):rep(indent) }
      used = indent
    end
    vim.list_extend(rows[#rows], word)
    used, is_empty, word, cells = used + cells, false, {}, 0
  end
  for _, chunk in ipairs(row) do
    local content, group = unpack(type(chunk) == "table" and chunk or { chunk })
    for part, blanks in text.words(content) do
      part = text.cut(part, width - indent)
      if part ~= "" then word[#word + 1] = { part, group } end
      cells = cells + vim.fn.strdisplaywidth(part)
      if blanks ~= "" then
        place_word()
        table.insert(rows[#rows], { blanks, group })
        used = used + #blanks
      end
    end
  end
  place_word()
  return rows
end

function M.write(buffer, rows)
  local lines, marks = {}, {}
  for row, chunks in ipairs(rows) do
    local line = ""
    for _, chunk in ipairs(chunks) do
      local content, group = unpack(type(chunk) == "table" and chunk or { chunk })
      content = text.printable(content)
      if group then marks[#marks + 1] = { row - 1, #line, { end_col = #line + #content, hl_group = group } } end
      line = line .. content
    end
    lines[row] = line
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  for _, mark in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(buffer, namespace, unpack(mark))
  end
end

--- Shows a buffer in its own window; `place` is the configuration for nvim_open_win.
function M.open(buffer, place)
  local window = vim.api.nvim_open_win(buffer, true, vim.tbl_extend("force", { style = "minimal" }, place))
  vim.wo[window].wrap, vim.wo[window].cursorline = false, true
  vim.wo[window].winfixheight = place.split ~= nil
  return window
end

function M.close(window)
  if vim.api.nvim_win_is_valid(window) then vim.api.nvim_win_close(window, true) end
end

local function call_while_valid(buffer, action)
  return function()
    if not vim.api.nvim_buf_is_valid(buffer) then return true end
    action()
  end
end

--- As long as the buffer exists, calls back whenever the state of a profile has changed, and whenever a window may have
--- another size.
function M.follow(buffer, changed, resized)
  vim.api.nvim_create_autocmd("User", { pattern = "RidgelineChanged", callback = call_while_valid(buffer, changed) })
  vim.api.nvim_create_autocmd({ "VimResized", "WinResized" }, { callback = call_while_valid(buffer, resized) })
end

return M
