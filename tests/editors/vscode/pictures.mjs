/**
 * UPDATE_PICTURES=1: draws docs/pictures/vscode-*.png anew, from a profile of the ResNet-50, and build/pictures/view-*.png
 * to be looked at: the view at three widths in each kind of theme, stale, with a warning, and a change on its way into the
 * code.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { vscode } from './shared.mjs';
import { root, until } from './workbench.mjs';

const themes = { dark: 'Default Dark Modern', light: 'Default Light Modern', 'high-contrast': 'Default High Contrast' };

test('pictures for the documentation', async (t) => {
  t.after(() => vscode.set({}));
  const folder = vscode.project('resnet50');
  for (const [name, theme] of Object.entries(themes)) {
    vscode.set({ 'workbench.colorTheme': theme, 'ridgeline.timeBudget': 4 });
    const window = await vscode.open(folder, { width: 1360, height: 960 });
    await window.openFile('entry.py');
    if (name === 'dark') await window.lens('Profile').click(); // the others have it from the store
    await window.lens('samples/s').waitFor({ timeout: 400_000 });
    await window.openView();
    await window.view.locator(`body.vscode-${name}`).waitFor();
    await window.view.locator('.aspect.time .row', { hasText: 'ResNet' }).dblclick();
    await until(async () => assert.ok((await window.rows('time')).some((row) => row.name === 'layer3')));
    await window.openFile('resnet.py');
    await window.page.keyboard.press('Control+G');
    await window.page.locator('.quick-input-widget input').fill(':80');
    await window.page.keyboard.press('Enter');
    await until(async () => assert.ok((await window.markers()).length > 4));
    await until(async () => assert.match((await window.lineWith('self.layer3(x)')).text, /in ResNet/));
    if (name === 'light') await window.view.locator('.costliest').evaluate((section) => section.scrollIntoView());
    else await window.view.locator('html').evaluate((html) => (html.scrollTop = 0));
    await window.page.screenshot({ path: path.join(root, `docs/pictures/vscode-${name}.png`) });
    await window.close();
  }
});

test('pictures of a change that is asked about, tried and applied', async (t) => {
  t.after(() => vscode.set({}));
  vscode.set({ 'workbench.colorTheme': themes.dark });
  const window = await vscode.open(vscode.project(), { width: 1360, height: 1500 });
  await window.openFile('entry.py');
  await window.profile();
  await window.openView();
  await window.resizeSideBar(420);
  const section = window.view.locator('.what-if');
  const fused = section.locator('.changes > li', { hasText: 'fused optimizer' });
  const picture = async (name) => {
    await section.evaluate((element) => element.scrollIntoView());
    await window.page.mouse.move(1200, 1000);
    await window.page.screenshot({ path: path.join(root, 'build/pictures', `what-if-${name}.png`) });
  };
  mkdirSync(path.join(root, 'build/pictures'), { recursive: true });
  await section.getByRole('button', { name: 'Ask what changes would bring' }).click();
  await fused.waitFor();
  await picture('1-asked');
  await fused.getByRole('button', { name: 'Try' }).click();
  await fused.locator('.said.tried').waitFor();
  await picture('2-tried');
  await fused.getByRole('button', { name: 'Apply' }).click();
  await until(async () => assert.notEqual(await window.lineWith('fused=True'), null));
  await window.save();
  await section.locator('.applied .said.measured').waitFor();
  await section.getByRole('button', { name: 'Ask again' }).click();
  await section.getByText('These figures are of the step before the last change.').waitFor({ state: 'detached' });
  await picture('3-applied');
  await section.screenshot({ path: path.join(root, 'docs/pictures/vscode-what-if.png') });
  await window.close();
});

test('pictures of the view at each width, in each kind of theme', async (t) => {
  t.after(() => vscode.set({}));
  const folder = path.join(root, 'build/pictures');
  mkdirSync(folder, { recursive: true });
  for (const [name, theme] of Object.entries({ ...themes, 'high-contrast-light': 'Default High Contrast Light' })) {
    vscode.set({ 'workbench.colorTheme': theme });
    const project = vscode.project();
    const entry = path.join(project, 'entry.py');
    writeFileSync(entry, readFileSync(entry, 'utf8').replace('loss.backward()', 'loss.detach()')); // of which it warns
    const window = await vscode.open(project, { width: 1280, height: 1900 });
    await window.openFile('entry.py');
    await window.profile();
    await window.openView();
    await window.view.locator(`body.vscode-${name}`).waitFor();
    await window.view.locator('.costs .row').first().waitFor();
    await window.replace('lr=0.01', 'lr=0.02');
    await window.view.getByText('Stale: the figures').waitFor();
    for (const width of [170, 300, 600]) {
      await window.resizeSideBar(width);
      await until(async () =>
        assert.ok(Math.abs((await window.view.locator('html').evaluate((html) => html.clientWidth)) - width) <= 4),
      );
      await window.page.mouse.move(1200, 1000);
      await window.page.waitForTimeout(300); // the charts follow the width
      await window.page.locator('.part.sidebar').screenshot({ path: path.join(folder, `view-${name}-${width}.png`) });
    }
    await window.close();
  }
});
