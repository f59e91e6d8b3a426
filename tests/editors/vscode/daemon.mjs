import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { anotherMachine } from './machine.mjs';
import { long, ownWindow, vscode } from './shared.mjs';
import { root, until } from './workbench.mjs';

/** The processes of the daemon that came with the extension. */
function daemons() {
  return readdirSync('/proc')
    .filter((name) => {
      try {
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
        return command.startsWith(`${vscode.folder}/extensions/`) && command.includes('\0serve\0');
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Until the daemon has answered what a window asks at first, and a moment more: the client knows then that it runs. */
const settled = (pid) =>
  until(async () => {
    const written = () => Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))[1]);
    const before = written();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    assert.ok(before > 1000 && written() === before, `it has written ${before}, then ${written()} bytes`);
  });

test('a daemon that is killed comes back; one that dies again and again is given up', async (t) => {
  const before = new Set(daemons());
  const window = await ownWindow(t);
  await window.profile();
  const current = () =>
    until(async () => {
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
  await settled(pid);
  await window.lens('samples/s').waitFor(); // from the store
  await until(async () => assert.ok((await window.markers()).some(({ stale }) => !stale)));
  for (let crash = 2; crash <= 4; ++crash) {
    await settled(pid);
    await window.status.getByText('samples/s').waitFor();
    kill();
    if (crash < 4) pid = await current();
  }
  const message = window.notification('exited 4 times within 3 minutes');
  await message.waitFor();
  await message.getByRole('button', { name: 'Show Log' }).click();
  await window.page.locator('.pane-composite-part.panel', { hasText: 'will not be restarted' }).waitFor();
  assert.deepEqual(
    daemons().filter((one) => !before.has(one)),
    [],
  );
  await window.openView();
  await window.view.getByRole('button', { name: 'Restart' }).click();
  await window.status.getByText('samples/s').waitFor();
});

long('a profile on another machine goes on while the connection is broken', async (t) => {
  const cache = process.env.RIDGELINE_CACHE ?? path.join(root, 'build/cache');
  const machine = await anotherMachine(t, path.join(cache, 'agents'));
  const local = vscode.project();
  const remote = `${local}-there`;
  cpSync(local, remote, { recursive: true });
  vscode.set({
    'ridgeline.server.ssh': machine.host,
    'ridgeline.server.sshOptions': machine.options,
    'ridgeline.server.pathMaps': [{ local, remote }],
    'ridgeline.timeBudget': 4,
  });
  t.after(() => vscode.set({}));
  const window = await ownWindow(t, { folder: local });
  await window.lens('Profile').click();
  await window.status.getByText(/Profiling \d+ %/).waitFor();
  machine.drop();
  await window.notification('was lost').waitFor();
  await window.lens('samples/s').waitFor();
  await until(async () => assert.ok((await window.markers()).length > 5));
  await window.openView();
  await window.slider('Throughput').waitFor();
  await window.drag('Throughput', 0.6, 0.3);
  await until(async () => assert.doesNotMatch((await window.lineWith('def input_provider')).text, /= 64\)/));
});
