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

local TOTAL = 0.05 -- of the step, from which what a line calls is shown

function M.clear(buffer) vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1) end

local function sign_of(time, memory, total)
  local is_costly = math.max(time, memory) >= options.threshold
  local first = is_costly and time or total
  local glyphs = {
    first >= options.threshold and text.glyph(first) or " ",
    memory >= options.threshold and text.glyph(memory) or " ",
  }
  return table.concat(glyphs), is_costly and heat(math.max(time, memory)) or "RidgelineTotal"
end

local function figures_of(line, time, total, summary)
  local figures = {}
  if time >= 0.001 then
    figures[1] = text.share(time) .. " of the step, " .. text.timed(text.duration(line.timeMs), summary)
  end
  if total > 0 then figures[#figures + 1] = "total " .. text.share(total) .. " of the step" end
  if line.peakBytes > 0 then figures[#figures + 1] = text.bytes(line.peakBytes) end
  return table.concat(figures, " · ")
end

---@param costs table the result of ridgeline/lineCosts
---@param summary table the answer to ridgeline/summary, of the same profile
function M.show(buffer, costs, summary)
  M.clear(buffer)
  screen.highlights()
  for _, line in ipairs(costs.lines) do
    local time, memory, total = tonumber(line.share) or 0, tonumber(line.peakShare) or 0, tonumber(line.totalShare) or 0
    if time >= options.threshold or total < TOTAL then total = 0 end -- the line's own time is what is shown
    local mark = { priority = 8, invalidate = true } -- below diagnostics; goes with its line
    if options.signs then
      local glyphs, group = sign_of(time, memory, total)
      mark.sign_text, mark.sign_hl_group = glyphs, costs.stale and "RidgelineStale" or group
    end
    if options.figures then
      mark.virt_text =
        { { figures_of(line, time, total, summary) .. (costs.stale and " (stale)" or ""), "RidgelineFigure" } }
    end
    local is_shown = total > 0 or math.max(time, memory) >= options.threshold
    if is_shown and line.line < vim.api.nvim_buf_line_count(buffer) then
      vim.api.nvim_buf_set_extmark(buffer, namespace, line.line, 0, mark)
    end
  end
end

return M
