import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
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
    await window.status.getByText('samples/s').waitFor(); // it runs
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

test('the daemon of another machine is started through ssh', async (t) => {
  // In place of ssh, a program that notes its arguments and runs what is after the host: here.
  const log = path.join(vscode.folder, 'ssh.log');
  const [daemon] = readdirSync(path.join(vscode.folder, 'extensions')).filter((name) => name.startsWith('ridgeline.'));
  vscode.program('ridgeline', `exec "${vscode.folder}/extensions/${daemon}/bin/ridgeline" "$@"`);
  vscode.program('ssh', `echo "$@" >>"${log}"; while [ "$1" != box ]; do shift; done; shift; exec "$@"`);
  const local = vscode.project();
  const remote = `${local}-there`;
  cpSync(local, remote, { recursive: true });
  vscode.set({ 'ridgeline.server.ssh': 'box', 'ridgeline.server.pathMaps': [{ local, remote }] });
  t.after(() => vscode.set({}));
  const window = await ownWindow(t, { folder: local });
  await window.profile();
  await until(async () => assert.ok((await window.markers()).length > 5));
  assert.equal(readFileSync(log, 'utf8').trim(), '-T -o BatchMode=yes -o ConnectTimeout=20 -- box ridgeline serve --stdio');
});
