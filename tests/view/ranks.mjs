/** The ranks of a recorded job in the view, and the line that makes one of them slow. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { host, ownWindow } from './shared.mjs';
import { daemon, root, until } from './window.mjs';

const script = `
import atexit, os, time
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(60):
    optimizer.zero_grad()
    net(torch.randn(32, 64)).sum().backward()
    if os.environ["RANK"] == "1":
        time.sleep(0.1)
    optimizer.step()
dist.destroy_process_group()
atexit._run_exitfuncs()
os._exit(0)  # torch 2.13 may crash where an interpreter ends that had a Gloo group
`;

test('the ranks of a job are shown, with the slow one and its line', async (t) => {
  const folder = host.project();
  const window = await ownWindow(t, { folder });
  window.write('ddp.py', script);
  const inside = (...names) => path.join(root, '.venv/bin', ...names);
  execFileSync(
    daemon,
    [
      'profile',
      '--python',
      inside('python'),
      '--steps',
      '24',
      '--seconds',
      '0.3',
      '--job',
      'slow.ridgeline-job',
      '--',
      inside('torchrun'),
      '--nproc-per-node',
      '2',
      '--standalone',
      'ddp.py',
    ],
    { cwd: folder, stdio: 'pipe', env: { ...process.env, OMP_NUM_THREADS: '1' } },
  );
  await window.openFile('ddp.py');
  await window.openView();
  void window.command('ridgeline.showJob');
  const ranks = window.view.locator('.ranks');
  await ranks.locator('.title').first().waitFor();
  assert.match(await ranks.innerText(), /Rank 1, slower/);
  assert.equal(await ranks.locator('.file').innerText(), 'slow.ridgeline-job');
  assert.match(await ranks.locator('.notice').innerText(), /Rank 1 .* its own work: ddp\.py:13\./);
  assert.match(
    await ranks.locator('li', { hasText: 'Rank 0' }).locator('small').first().innerText(),
    /own work · .* exposed, of it .* for ranks · .* hidden/,
  );
  await ranks.getByRole('button', { name: 'Go to the line' }).click();
  await window.cursorIsAt(13);
  assert.deepEqual(
    window.ui.diagnostics
      .get(window.document.uri.toString())
      .map(({ range, severity }) => [range.start.line + 1, severity]),
    [[13, 2]],
  );
  await ranks.locator('summary').click();
  assert.match(await ranks.locator('details small').innerText(), /replayed .*, recorded/);
  if (process.env.UPDATE_PICTURES) await window.page.screenshot({ path: path.join(root, 'build/pictures/ranks.png') });
  for (const width of [170, 300]) {
    await window.resizeSideBar(width);
    await until(async () =>
      assert.deepEqual(
        await ranks.evaluate((whole) =>
          [...whole.querySelectorAll('.title, .figure, small, button')]
            .filter(
              (element) =>
                element.getClientRects().length > 0 &&
                element.getBoundingClientRect().right > document.documentElement.clientWidth,
            )
            .map((element) => element.outerHTML),
        ),
        [],
      ),
    );
    if (process.env.UPDATE_PICTURES)
      await window.page.screenshot({ path: path.join(root, `build/pictures/ranks-${width}.png`) });
  }
  window.ui.answers.push('faster-rank:1=2');
  await ranks.getByRole('button', { name: 'Predict changes…' }).click();
  await until(async () => assert.equal(window.inFront, 'slow-job.txt'));
  await until(async () => assert.notEqual(await window.lineWith('faster-rank:1=2'), null));
  await ranks.getByRole('button', { name: 'Open report' }).click();
  await until(async () => assert.equal(window.inFront, 'slow-job.txt'));
  await ranks.getByRole('button', { name: 'Find the fastest strategy' }).click();
  // Without a measured network, latency and bandwidth are not told apart by all-reduces of one size.
  await until(async () => assert.match(await ranks.locator('.notice.error').innerText(), /size/));
  await ranks.getByRole('button', { name: 'Close the ranks' }).click();
  await ranks.waitFor({ state: 'hidden' });
});
