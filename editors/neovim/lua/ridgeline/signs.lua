--- What a line costs, beside it: in the sign column two cells, the height of its share of time and of memory, in the
--- colour of the greater one; at its end the figures.
local options = require("ridgeline").options
local screen = require("ridgeline.screen")
local text = require("ridgeline.text")

local M = {}

local namespace = vim.api.nvim_create_namespace("ridgeline.signs")
local HEAT = { 0.05, 0.15, 0.3 } -- shares below which a line has the first, second and third of four colours

local function heat(share)
  local bucket = 1
  while HEAT[bucket] and share >= HEAT[bucket] do bucket = bucket + 1 end
  return "RidgelineHeat" .. bucket
end

function M.clear(buffer) vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1) end

---@param costs table the result of ridgeline/lineCosts
function M.show(buffer, costs)
  M.clear(buffer)
  screen.highlights()
  for _, line in ipairs(costs.lines) do
    local time, memory = tonumber(line.share) or 0, tonumber(line.peakShare) or 0
    local mark = { priority = 8, invalidate = true } -- below diagnostics; goes with its line
    if options.signs then
      mark.sign_text = (time >= options.threshold and text.glyph(time) or " ")
        .. (memory >= options.threshold and text.glyph(memory) or " ")
      mark.sign_hl_group = costs.stale and "RidgelineStale" or heat(math.max(time, memory))
    end
    if options.figures then
      local figures = {}
      if time >= 0.001 then figures[1] = text.share(time) .. " " .. text.duration(line.timeMs) end
      if line.peakBytes > 0 then figures[#figures + 1] = text.bytes(line.peakBytes) end
      mark.virt_text = { { table.concat(figures, " · ") .. (costs.stale and " (stale)" or ""), "RidgelineFigure" } }
    end
    if math.max(time, memory) >= options.threshold and line.line < vim.api.nvim_buf_line_count(buffer) then
      vim.api.nvim_buf_set_extmark(buffer, namespace, line.line, 0, mark)
    end
  end
end

return M
