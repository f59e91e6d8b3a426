--- The sign column: two cells a line, the height of its share of time and of memory. The colour is the greater one's.
local options = require("ridgeline.options")
local screen = require("ridgeline.screen")
local text = require("ridgeline.text")

local M = {}

local namespace = vim.api.nvim_create_namespace("ridgeline.signs")
local HEAT = { 0.05, 0.15, 0.3 } -- shares that end the first three of four colours

local function heat(share)
  for bucket, limit in ipairs(HEAT) do
    if share < limit then
      return "RidgelineHeat" .. bucket
    end
  end
  return "RidgelineHeat4"
end

function M.clear(buffer)
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
end

---@param costs table the result of ridgeline/lineCosts
function M.show(buffer, costs)
  M.clear(buffer)
  screen.highlights()
  local count = vim.api.nvim_buf_line_count(buffer)
  for _, line in ipairs(costs.lines) do
    local time = tonumber(line.share) or 0
    local memory = tonumber(line.peakShare) or 0
    local most = math.max(time, memory)
    if most >= options.threshold and line.line < count then
      local cells = ""
      for _, share in ipairs({ time, memory }) do
        cells = cells .. (share >= options.threshold and text.glyph(share) or " ")
      end
      vim.api.nvim_buf_set_extmark(buffer, namespace, line.line, 0, {
        sign_text = cells,
        sign_hl_group = costs.stale and "RidgelineStale" or heat(most),
        priority = 8, -- below diagnostics
        invalidate = true, -- the sign goes with its line
      })
    end
  end
end

return M
