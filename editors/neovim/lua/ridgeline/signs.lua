--- What a line costs, beside it: in the sign column two cells, the height of its share of the step and of the peak, in
--- the colour of the greater one; at its end the figures. A line that itself costs little has those of all that it calls.
local options = require("ridgeline").options
local screen = require("ridgeline.screen")
local text = require("ridgeline.text")

local M = {}

local namespace = vim.api.nvim_create_namespace("ridgeline.signs")
local HEAT = { 0.05, 0.15, 0.3 } -- shares below which a line has the first, second and third of four colours

local function heat(share)
  local bucket = 1
  while HEAT[bucket] and share >= HEAT[bucket] do
    bucket = bucket + 1
  end
  return "RidgelineHeat" .. bucket
end

function M.clear(buffer) vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1) end

local function sign_of(time, memory, is_total)
  local glyphs = {
    time >= options.threshold and text.glyph(time) or " ",
    memory >= options.threshold and text.glyph(memory) or " ",
  }
  local is_called = is_total and memory < options.threshold
  return table.concat(glyphs), is_called and "RidgelineTotal" or heat(is_total and memory or math.max(time, memory))
end

---@param costs table the result of ridgeline/lineCosts
function M.show(buffer, costs)
  M.clear(buffer)
  screen.highlights()
  for _, line in ipairs(costs.lines) do
    local time = ({ self = tonumber(line.share), total = tonumber(line.totalShare) })[line.shows] or 0
    local memory = tonumber(line.peakShare) or 0
    local mark = { priority = 8, invalidate = true } -- below diagnostics; goes with its line
    if options.signs then
      local glyphs, group = sign_of(time, memory, line.shows == "total")
      mark.sign_text, mark.sign_hl_group = glyphs, costs.stale and "RidgelineStale" or group
    end
    if options.figures then
      mark.virt_text = { { line.label .. (costs.stale and " (stale)" or ""), "RidgelineFigure" } }
    end
    local is_shown = math.max(time, memory) >= options.threshold
    if is_shown and line.line < vim.api.nvim_buf_line_count(buffer) then
      vim.api.nvim_buf_set_extmark(buffer, namespace, line.line, 0, mark)
    end
  end
end

return M
