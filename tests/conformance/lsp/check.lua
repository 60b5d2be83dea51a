-- Neovim with the language server: the open buffer has a mistake, and the code action of its diagnostic removes it.

local function fail(message)
  print('lsp: Neovim: ' .. message .. '\n')
  vim.cmd('cquit 1')
end

local function wait(what, condition)
  if not vim.wait(20000, condition, 20) then
    fail('no ' .. what)
  end
end

local buffer = vim.api.nvim_get_current_buf()
local root = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ':h:h')
local id = vim.lsp.start_client({ name = 'bailiwick', cmd = { vim.env.PROGRAM, 'lsp' }, root_dir = root })
if not id then
  fail('the server does not start')
end
vim.lsp.buf_attach_client(buffer, id)

local function diagnostics()
  return vim.diagnostic.get(buffer)
end

wait('diagnostic', function() return #diagnostics() == 1 end)
local found = diagnostics()[1]
local line = vim.api.nvim_buf_get_lines(buffer, found.lnum, found.lnum + 1, true)[1]
local marked = line:sub(found.col + 1, found.end_col)
if marked ~= 'deploier' then
  fail('the diagnostic is at `' .. marked .. '`')
end

local uri = vim.uri_from_bufnr(buffer)
local place = { line = found.lnum, character = found.col }
local range = { start = place, ['end'] = place }
local parameters = { textDocument = { uri = uri }, range = range, context = { diagnostics = {} } }
local answer = vim.lsp.buf_request_sync(buffer, 'textDocument/codeAction', parameters, 20000)
local action = answer and answer[id] and answer[id].result and answer[id].result[1]
if not action then
  fail('no code action')
end
local encoding = vim.lsp.get_client_by_id(id).offset_encoding
vim.lsp.util.apply_workspace_edit(action.edit, encoding)
wait('answer to the correction', function() return #diagnostics() == 0 end)

local hover = vim.lsp.buf_request_sync(buffer, 'textDocument/hover', { textDocument = { uri = uri }, position = place }, 20000)
local text = hover and hover[id] and hover[id].result and hover[id].result.contents.value or ''
if not text:find('deployments', 1, true) then
  fail('no documentation of the role: ' .. text)
end
print('Neovim ' .. tostring(vim.version().major) .. '.' .. tostring(vim.version().minor) .. ': the diagnostic, its correction and the role are there\n')
vim.cmd('qall!')
