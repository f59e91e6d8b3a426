/** `--format speedscope`, opened by speedscope itself. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '../editors/vscode/workbench.mjs';
import { binary, root } from './reports.mjs';

const application = fileURLToPath(new URL('node_modules/speedscope/dist/release/', import.meta.url));

test('speedscope opens a profile that was imported', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ridgeline-speedscope-'));
  const server = createServer(async (request, response) => {
    const name = path.basename(new URL(request.url, 'http://localhost').pathname) || 'index.html';
    const type =
      { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html' }[path.extname(name)] ??
      'application/octet-stream';
    response.setHeader('content-type', type);
    response.end(await readFile(path.join(application, name)).catch(() => ''));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const browser = await launchBrowser('--enable-unsafe-swiftshader');
  try {
    const trace = path.join(folder, 'trace.json');
    const profile = path.join(folder, 'speedscope.json');
    const made = 'import json; from gpu_trace import GpuTrace; print(json.dumps(GpuTrace().document()))';
    writeFileSync(
      trace,
      execFileSync(path.join(root, '.venv/bin/python'), ['-c', made], { cwd: path.join(root, 'tests/integration') }),
    );
    execFileSync(binary, ['report', trace, '--format', 'speedscope', '--output', profile]);
    const page = await browser.newPage();
    const errors = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    await page.goto(`http://127.0.0.1:${server.address().port}/index.html`);
    await page.locator('input[type=file]').setInputFiles(profile);
    await page.getByText('time of one iteration').first().waitFor({ timeout: 60_000 });
    assert.deepEqual(errors, []);
  } finally {
    await browser.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
