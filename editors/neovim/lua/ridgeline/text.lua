--- Figures as the server's own reports write them: at most three significant digits, with units; and bars.
local M = {}

local EIGHTHS = { "▏", "▎", "▍", "▌", "▋", "▊", "▉" }
local HEIGHTS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

--- A number that JSON may have had as null.
local function known(value)
  return type(value) == "number" and value == value and math.abs(value) ~= math.huge
end

---@param value number?
function M.figure(value)
  if not known(value) then
    return "–"
  end
  if value >= 999.5 then
    local step = 10 ^ (math.floor(math.log10(value)) - 2)
    return ("%.0f"):format(math.floor(value / step + 0.5) * step)
  end
  return ("%." .. (value >= 99.95 and 0 or value >= 9.995 and 1 or 2) .. "f"):format(value)
end

local function in_units(value, units)
  local i = 1
  while i < #units and value >= 999.5 do
    value = value / units[i][2]
    i = i + 1
  end
  return M.figure(value) .. " " .. units[i][1]
end

---@param ms number?
function M.duration(ms)
  if not known(ms) then
    return "–"
  elseif ms == 0 then
    return "0 ms"
  elseif ms < 0.00095 then
    return ms < 0.00005 and "<0.1 µs" or ("%.1f µs"):format(ms * 1000)
  end
  return in_units(ms * 1000, { { "µs", 1000 }, { "ms", 1000 }, { "s", 60 }, { "min", 60 }, { "h" } })
end

---@param count number?
function M.bytes(count)
  if not known(count) then
    return "–"
  elseif count < 1023.5 then
    return ("%.0f B"):format(count)
  end
  return in_units(count / 1024, { { "KiB", 1024 }, { "MiB", 1024 }, { "GiB", 1024 }, { "TiB", 1024 }, { "PiB" } })
end

---@param fraction number?
function M.share(fraction)
  if not known(fraction) then
    return "–"
  elseif fraction == 0 then
    return "0 %"
  elseif fraction < 0.0005 then
    return "<0.1 %"
  end
  return ("%." .. (fraction < 0.0995 and 1 or 0) .. "f %%"):format(fraction * 100)
end

--- A bar of that many cells, and the rest of its track.
---@return string filled, string track
function M.bar(fraction, cells)
  local eighths = math.floor(math.min(math.max(known(fraction) and fraction or 0, 0), 1) * cells * 8 + 0.5)
  local filled = ("█"):rep(math.floor(eighths / 8)) .. (EIGHTHS[eighths % 8] or "")
  return filled, ("░"):rep(cells - math.ceil(eighths / 8))
end

--- One cell: the height of a share.
function M.glyph(share)
  return HEIGHTS[math.min(math.max(math.ceil(share * 8), 1), 8)]
end

--- Text of others in one line, without what a terminal would obey.
function M.printable(text)
  return (tostring(text or ""):gsub("%c", " "))
end

--- Cut and filled to a width in cells; a negative width puts it to the right.
function M.fit(text, width)
  local cells = math.abs(width)
  if vim.fn.strdisplaywidth(text) > cells then
    text = vim.fn.strcharpart(text, 0, cells - 1) .. "…"
  end
  local gap = (" "):rep(cells - vim.fn.strdisplaywidth(text))
  return width < 0 and gap .. text or text .. gap
end

return M
