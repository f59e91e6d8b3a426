--- Figures as text, by the rules of server/report/units.cpp, which tests/data/figures.json checks; bars; printable text.
local M = {}

local EIGHTHS = { "▏", "▎", "▍", "▌", "▋", "▊", "▉" }
local HEIGHTS = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }
local UNKNOWN = "–"

--- Whether it is a finite number; JSON has null for what is unknown.
local function known(value) return type(value) == "number" and value == value and math.abs(value) < math.huge end

---@param value number?
function M.figure(value)
  if not known(value) then return UNKNOWN end
  if value < 0 then return "-" .. M.figure(-value) end
  if value >= 999500 then return (("%.2e"):format(value):gsub("%.?0*e", "e")) end
  if value >= 999.5 then
    local step = 10 ^ (math.floor(math.log10(value)) - 2)
    return ("%.0f"):format(math.floor(value / step + 0.5) * step)
  end
  return ("%." .. (value >= 99.95 and 0 or value >= 9.995 and 1 or 2) .. "f"):format(value)
end

local function in_units(value, units)
  for i, unit in ipairs(units) do
    if i == #units or value < 999.5 then return M.figure(value) .. " " .. unit[1] end
    value = value / unit[2]
  end
end

---@param ms number?
function M.duration(ms)
  if not known(ms) then return UNKNOWN end
  if ms == 0 then return "0 ms" end
  if math.abs(ms) < 0.00005 then return "<0.1 µs" end
  if ms < 0 then return "-" .. M.duration(-ms) end
  if ms < 0.00095 then return ("%.1f µs"):format(ms * 1000) end
  return in_units(ms * 1000, { { "µs", 1000 }, { "ms", 1000 }, { "s", 60 }, { "min", 60 }, { "h" } })
end

---@param count number?
function M.bytes(count)
  if not known(count) or count < 0 then return UNKNOWN end
  if count < 1023.5 then return ("%.0f B"):format(count) end
  return in_units(count / 1024, { { "KiB", 1024 }, { "MiB", 1024 }, { "GiB", 1024 }, { "TiB", 1024 }, { "PiB" } })
end

--- The time of a profile, or what follows from it: "≈ 37.9" where it is uncertain.
---@param shown string
---@param summary table the answer to ridgeline/summary
function M.timed(shown, summary)
  return (summary.uncertainty ~= "" and shown ~= UNKNOWN and shown ~= "0 ms" and "≈ " or "") .. shown
end

--- A figure of a model with its certainty: "≈ 7.8 GiB" for a guess, "≥ 7.8 GiB" for a bound, plain when it is known.
---@param estimate table?
---@param format fun(value: number?): string
function M.estimated(estimate, format)
  if type(estimate) ~= "table" then return format(nil) end
  local interval = type(estimate.interval) == "table" and estimate.interval or {}
  local certainty = estimate.certainty
  local low, high = known(interval.low) and interval.low, known(interval.high) and interval.high
  if certainty == "known" then return format(tonumber(estimate.value)) end
  if certainty == "atLeast" and low then return "≥ " .. format(low) end
  if certainty == "atMost" and high then return "≤ " .. format(high) end
  return "≈ " .. format(tonumber(estimate.value))
end

---@param fraction number?
function M.share(fraction)
  if not known(fraction) then return UNKNOWN end
  if fraction < 0 then return "-" .. M.share(-fraction) end
  if fraction >= 9.995 then return ">999 %" end
  if fraction > 0 and fraction < 0.0005 then return "<0.1 %" end
  return ("%." .. (fraction > 0 and fraction < 0.0995 and 1 or 0) .. "f %%"):format(fraction * 100)
end

--- A bar of that many cells as two chunks: what is filled, and the rest of its track.
function M.bar(fraction, cells, group)
  local eighths = math.floor(math.min(math.max(known(fraction) and fraction or 0, 0), 1) * cells * 8 + 0.5)
  local filled = ("█"):rep(math.floor(eighths / 8)) .. (EIGHTHS[eighths % 8] or "")
  return { filled, group }, { ("░"):rep(cells - math.ceil(eighths / 8)), "RidgelineDim" }
end

--- The height of a share, in one cell.
function M.glyph(share) return HEIGHTS[math.min(math.max(math.ceil(share * 8), 1), 8)] end

--- Text from outside in one line, without control characters.
function M.printable(value) return (tostring(value or ""):gsub("%c", " ")) end

--- At most that many cells of a text; where it is cut, it ends with "…".
function M.cut(text, cells)
  if vim.fn.strdisplaywidth(text) <= cells then return text end
  return cells > 0 and vim.fn.printf("%." .. cells - 1 .. "S…", text) or ""
end

local NO_BREAK = "\194\160" -- U+00A0

--- A text that `M.words` leaves in one piece.
function M.whole(text) return (text:gsub(" ", NO_BREAK)) end

--- Texts in one row, which breaks only after a separator.
function M.row(texts, separator)
  local parts = vim.tbl_map(M.whole, texts)
  return table.concat(parts, NO_BREAK .. separator .. " ")
end

--- Its words, each with the blanks after it.
---@return fun(): string?, string?
function M.words(text)
  local next_word = text:gmatch("(%S*)(%s*)")
  return function()
    local word, blanks = next_word()
    if word and word .. blanks ~= "" then return word:gsub(NO_BREAK, " "), blanks end
  end
end

--- Cut and filled to a width in cells; a negative width aligns the text to the right.
function M.fit(text, width)
  local cut = M.cut(text, math.abs(width))
  local gap = (" "):rep(math.abs(width) - vim.fn.strdisplaywidth(cut))
  return width < 0 and gap .. cut or cut .. gap
end

return M
