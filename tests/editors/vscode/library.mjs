import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { long, ownWindow, vscode } from './shared.mjs';
import { root, until } from './workbench.mjs';

/** A project whose model comes from a package in its environment. */
function libraryProject() {
  const folder = mkdtempSync(path.join(vscode.folder, 'library-'));
  cpSync(path.join(root, 'tests/data/entries/library'), folder, { recursive: true });
  writeFileSync(path.join(folder, 'project/pyproject.toml'), '');
  return path.join(folder, 'project');
}

long('a package that is named has bars, hints and hovers in its files', async (t) => {
  const window = await ownWindow(t, { folder: libraryProject() });
  await window.profile();
  const below = await window.hover('model');
  assert.match(await below.innerText(), /costliest lines below[^]*net\.py:\d+/);
  await window.page.keyboard.press('Escape');

  await window.command('Ridgeline: Show Costs in Library Files');
  const list = window.page.locator('.quick-input-widget');
  await list
    .locator('.monaco-list-row', { hasText: 'nets' })
    .locator('input:checked, .monaco-checkbox.checked')
    .waitFor();
  await list.locator('.monaco-list-row', { hasText: 'Another package…' }).click();
  await window.page.keyboard.press('Enter');
  const input = list.locator('input[type=text]');
  await list.getByText('Packages as your code imports them').waitFor();
  await input.fill('../nets');
  await window.page.locator('.quick-input-message', { hasText: 'is not the import name of a package' }).waitFor();
  await input.fill('nets');
  await window.page.keyboard.press('Enter');
  await until(async () =>
    assert.deepEqual(JSON.parse(window.read('.vscode/settings.json'))['ridgeline.code'], ['nets']),
  );

  await window.openFile('net.py');
  await until(async () => {
    const { text, marker } = await window.lineWith('self.down(hidden)');
    assert.match(text, /\d+(\.\d)? % · (≈ )?[\d.]+ (µs|ms|s)/);
    assert.ok(marker.time >= 2 && !marker.stale, JSON.stringify(marker));
  });
  const hover = await window.hover('hidden');
  assert.match(await hover.innerText(), /in one iteration, batch 64/);
  await window.status.getByText(/samples\/s/).waitFor();
});
