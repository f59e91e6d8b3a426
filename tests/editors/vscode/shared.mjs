/** What the tests share: VS Code with the extension, and one window with a profile, for tests that change nothing. */
import { after, before, test } from 'node:test';
import { builtVsix, VSCode } from './workbench.mjs';

/** A test that takes long, and has a quicker one of the same kind beside it, in tests/view or tests/editors/neovim. */
export const long = process.env.RIDGELINE_LONG === undefined ? () => {} : test;

export let vscode;
let profiled;
const opened = [];

before(async () => {
  vscode = await VSCode.start(builtVsix());
});

after(() => vscode?.stop());

/** A window of the test's own on a copy of an example, closed with it. */
export async function ownWindow(
  t,
  { file = 'entry.py', example = 'mlp', folder = vscode.project(example), ...options } = {},
) {
  const window = await vscode.open(folder, { height: 1200, ...options });
  opened.push(window);
  t.after(async () => {
    if (process.env.PICTURES_OF_FAILURES)
      await window.page.screenshot({ path: `${process.env.PICTURES_OF_FAILURES}/${t.name.replace(/\W+/g, '-')}.png` });
    await window.close();
  });
  if (file !== null) await window.openFile(file);
  return window;
}

/** The window that has a profile and the view; what a test explores there, the next one leaves. */
export async function profiledWindow() {
  profiled ??= (async () => {
    const window = await vscode.open(vscode.project(), { height: 1400 });
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
  return window;
}
