import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ownWindow, vscode } from './shared.mjs';
import { until } from './workbench.mjs';

/** The processes of the daemon that came with the extension. */
function daemons() {
  return readdirSync('/proc').filter((name) => {
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
      return command.startsWith(`${vscode.folder}/extensions/`) && command.includes('\0serve\0');
    } catch {
      return false;
    }
  }).map(Number);
}

test('a daemon that is killed comes back; one that dies again and again is given up', async (t) => {
  const before = new Set(daemons());
  const window = await ownWindow(t);
  await window.profile();
  const current = () => until(async () => {
    const own = daemons().filter((pid) => !before.has(pid));
    assert.equal(own.length, 1);
    return own[0];
  });
  let pid = await current();
  const kill = () => {
    before.add(pid);
    process.kill(pid, 'SIGKILL');
  };
  kill();
  pid = await current();
  await window.lens('samples/s').waitFor(); // from the store
  await until(async () => assert.ok((await window.markers()).some(({ stale }) => !stale)));
  for (let crash = 2; crash <= 4; ++crash) {
    kill();
    if (crash < 4) pid = await current();
  }
  const message = window.notification('ended 4 times within 3 minutes');
  await message.waitFor();
  await message.getByRole('button', { name: 'Show Log' }).click();
  await window.page.locator('.pane-composite-part.panel', { hasText: 'is not started again' }).waitFor();
  assert.deepEqual(daemons().filter((one) => !before.has(one)), []);
  await window.openView();
  await window.view.getByRole('button', { name: 'Restart' }).click();
  await window.status.getByText('samples/s').waitFor();
});
