/** What the tests share: the browser, and one window with a profile, for tests that change nothing. */
import { after, before } from 'node:test';
import { Host } from './window.mjs';

export let host;
let profiled;

before(async () => {
  host = await Host.start();
});

after(async () => {
  if (profiled !== undefined) await (await profiled).close();
  await host?.stop();
});

/** A window of the test's own on a copy of an example, closed with it. */
export async function ownWindow(t, { file = 'entry.py', folder = host.project(), ...options } = {}) {
  const window = await host.open(folder, options);
  t.after(() => window.close());
  if (file !== null) await window.openFile(file);
  return window;
}

/** The same with a profile and the view. */
export async function ownProfile(t, options) {
  const window = await ownWindow(t, options);
  await window.profile();
  await window.openView();
  return window;
}

/** The window that has a profile and the view; what a test explores there, the next one leaves. */
export async function profiledWindow() {
  profiled ??= (async () => {
    const window = await host.open(host.project(), { height: 1400 });
    await window.openFile('entry.py');
    await window.profile();
    await window.openView();
    return window;
  })();
  const window = await profiled;
  const top = window.view.getByRole('button', { name: 'Top' });
  await top.waitFor();
  if (await top.isEnabled()) await top.click();
  await window.view.locator('[aria-current]', { hasText: 'iteration' }).waitFor();
  await window.openFile('entry.py');
  return window;
}
