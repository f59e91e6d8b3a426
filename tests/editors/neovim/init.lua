-- The configuration of a user who has nothing but Ridgeline. What is asked and said is kept for tests that see no screen.
vim.opt.runtimepath:prepend(vim.env.RIDGELINE_PLUGIN)
vim.o.swapfile = false
vim.o.laststatus = 2
vim.o.statusline = "%f %= %{v:lua.require'ridgeline'.statusline()}"
local batch_sizes = vim.json.decode(vim.env.RIDGELINE_BATCH_SIZES or "[16, 256]")
setup = {
  cmd = vim.env.RIDGELINE_COMMAND and vim.json.decode(vim.env.RIDGELINE_COMMAND)
    or { vim.env.RIDGELINE_BINARY, "serve" },
  settings = {
    python = vim.env.RIDGELINE_PYTHON,
    timeBudget = tonumber(vim.env.RIDGELINE_TIME_BUDGET) or 0.2,
    batchSizes = batch_sizes,
  },
}
if #vim.api.nvim_list_uis() == 0 and not vim.env.TMUX then
  asked, messages, consent = {}, {}, "Profile"
  vim.ui.select = function(items, options, choose)
    table.insert(asked, options.prompt)
    for index, item in ipairs(items) do
      if item.title == consent then return choose(item, index) end
    end
    choose(nil)
  end
  vim.notify = function(words) table.insert(messages, words) end
  said = function(words)
    return vim.iter(messages):find(function(message) return message:find(words, 1, true) end)
  end
end
if not vim.env.RIDGELINE_NO_SETUP then require("ridgeline").setup(setup) end
