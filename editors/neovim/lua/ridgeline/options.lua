--- What the user chose. Read it where it is needed: `setup` may be called at any time, or never.
local M = {
  signs = true, -- time and memory in the sign column
  hints = true, -- the server's inlay hints: figures at the end of costly lines
  lenses = true, -- the server's code lenses, above the providers
  threshold = 0.01, -- share of time or memory from which a line gets a sign
}

---@param chosen table?
function M.set(chosen)
  for name, value in pairs(chosen or {}) do
    if M[name] ~= nil and name ~= "set" then
      M[name] = value
    end
  end
end

return M
