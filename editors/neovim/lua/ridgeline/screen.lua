--- Scratch buffers that are written as rows of chunks: `{ { "text", "HighlightGroup" }, "text" }`. A chunk is shown as it
--- stands: nothing in it is run or expanded.
local M = {}

local namespace = vim.api.nvim_create_namespace("ridgeline.screen")

local LINKS = {
  RidgelineHeat1 = "DiagnosticSignHint",
  RidgelineHeat2 = "DiagnosticSignInfo",
  RidgelineHeat3 = "DiagnosticSignWarn",
  RidgelineHeat4 = "DiagnosticSignError",
  RidgelineStale = "Comment",
  RidgelineTime = "Function",
  RidgelineMemory = "String",
  RidgelineTitle = "Title",
  RidgelineDim = "Comment",
}

--- The groups, linked to standard ones unless the user or the colour scheme has set them.
function M.highlights()
  for group, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
end

--- A buffer that belongs to no file and goes with its window.
---@param keys table<string, function>
function M.buffer(name, keys)
  M.highlights()
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, ("ridgeline://%s/%d"):format(name, buffer))
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].filetype = "ridgeline"
  for key, action in pairs(keys) do
    vim.keymap.set("n", key, action, { buffer = buffer, nowait = true })
  end
  return buffer
end

---@param rows (string|[string, string?])[][]
function M.write(buffer, rows)
  local lines, marks = {}, {}
  for row, chunks in ipairs(rows) do
    local line = ""
    for _, chunk in ipairs(chunks) do
      local words, group = chunk, nil
      if type(chunk) == "table" then
        words, group = chunk[1], chunk[2]
      end
      words = words:gsub("[%z\n\r]", " ")
      if group then
        marks[#marks + 1] = { row - 1, #line, #line + #words, group }
      end
      line = line .. words
    end
    lines[row] = line
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  for _, mark in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(buffer, namespace, mark[1], mark[2], { end_col = mark[3], hl_group = mark[4] })
  end
end

--- A window below the others.
function M.split(buffer, height)
  local window = vim.api.nvim_open_win(buffer, true, { split = "below", win = -1, height = height })
  for option, value in pairs({ wrap = false, number = false, relativenumber = false, signcolumn = "no", list = false }) do
    vim.wo[window][option] = value
  end
  vim.wo[window].winfixheight = true
  return window
end

return M
