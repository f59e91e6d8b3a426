/** The styles that VS Code gives a view: ../../view dresses its page so. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './workbench.mjs';

const file = path.join(root, 'tests/view/webview.json');

/** Fails where webview.json is not what this window has; UPDATE_EXPECTED=1 writes it. */
export async function assertDressed(window) {
  const sheet = readFileSync(path.join(root, 'editors/vscode/media/view.css'), 'utf8');
  const found = await window.view.locator('html').evaluate((html) => ({
    // Others are the view's own, of the profile that it shows.
    className: [...html.querySelector('body').classList].filter((name) => name.startsWith('vscode-')).join(' '),
    styles: html.querySelector('#_defaultStyles').textContent,
    variables: Object.fromEntries(
      [...html.style]
        .filter((name) => name.startsWith('--vscode-'))
        .map((name) => [name, html.style.getPropertyValue(name)]),
    ),
  }));
  const used = [...`${sheet}${found.styles}`.matchAll(/var\((--vscode-[\w-]+)/g)].map(([, name]) => name);
  found.variables = Object.fromEntries(
    Object.entries(found.variables)
      .filter(([name]) => used.includes(name))
      .sort(),
  );
  const size = window.page.viewportSize();
  await window.page.setViewportSize({ width: 1280, height: 900 });
  found.heightIn900 = await window.view.locator('html').evaluate(() => innerHeight);
  await window.page.setViewportSize(size);
  if (process.env.UPDATE_EXPECTED) writeFileSync(file, `${JSON.stringify(found, null, 2)}\n`);
  assert.deepEqual(found, JSON.parse(readFileSync(file, 'utf8')));
}
