/** What changes of the step would bring: asked for, tried and applied. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { ownWindow } from './shared.mjs';
import { root, until } from './workbench.mjs';

const section = (window) => window.view.locator('.what-if');
/** Whatever brings nothing on the machine of the test is shown, too. */
const unfold = (window) =>
  section(window)
    .locator('details')
    .evaluateAll((all) => all.forEach((one) => (one.open = true)));
const row = (window, title) => section(window).locator('.changes > li', { hasText: title });
/** UPDATE_PICTURES=1 draws those of docs/pictures anew. */
async function picture(window, name) {
  if (!process.env.UPDATE_PICTURES) return;
  await section(window).evaluate((whole) => whole.scrollIntoView());
  await window.page.screenshot({
    path: path.join(root, `docs/pictures/vscode-what-if-${name}.png`),
    clip: { x: 0, y: 0, width: 1280, height: 760 },
  });
}
const figure = (of, kind) => of.locator(`.said.${kind} .figure`);

test('a change is asked about, tried and applied, and the next profile makes the answer one of before', async (t) => {
  const window = await ownWindow(t);
  await window.profile();
  await window.openView();
  const before = window.read('entry.py');
  await section(window).getByRole('button', { name: 'Ask what changes would bring' }).click();
  await unfold(window);
  const fused = row(window, 'fused optimizer');
  await fused.waitFor();
  await section(window).getByRole('button', { name: 'Cancel' }).waitFor(); // its first answer is there before the others
  await section(window)
    .getByText(/^To be certain, try them: about/)
    .waitFor();
  // On a busy machine too little may have been timed; then the row says so.
  const isPredicted = (await figure(fused, 'predicted').count()) > 0;
  const predicted = isPredicted ? await figure(fused, 'predicted').innerText() : '';
  if (isPredicted) {
    assert.match(predicted, /^(no change|unclear: try it|[\d.]+× (faster|as fast)) \([\d.]+–[\d.]+\)$/);
  } else {
    assert.match(await fused.innerText(), /could not be timed|varies too much/);
  }
  assert.match(await figure(fused, 'peak').innerText(), /^[\d.]+ [KMG]iB \(.+\)$/);
  await fused.getByText('Add fused=True to the optimizer').waitFor();
  assert.equal(await figure(fused, 'tried').count(), 0);
  // The model has no convolutions: the reason why that change is left out is there.
  const others = section(window).locator('details:has(.reasons)');
  if (await others.isVisible()) {
    assert.match(await others.locator('.reasons li small').first().innerText(), /\w/);
  }
  await section(window)
    .getByText(/^To be certain, try them: about/)
    .waitFor();
  await section(window).getByRole('button', { name: 'Try all' }).waitFor();
  await fused.getByRole('button', { name: 'Try' }).click();
  await section(window).getByRole('button', { name: 'Cancel' }).waitFor();
  await figure(fused, 'tried').waitFor();
  assert.match(await figure(fused, 'tried').innerText(), /\([\d.]+–[\d.]+\)$/);
  await fused.getByText(/Losses (are equal|differ)/).waitFor();
  await picture(window, 'tried');
  await window.resizeSideBar(170);
  await until(async () =>
    assert.deepEqual(
      await section(window).evaluate((whole) => {
        const isCut = (element) =>
          element.scrollWidth > element.clientWidth + 1 ||
          element.getBoundingClientRect().right > document.documentElement.clientWidth;
        return [...whole.querySelectorAll('.figure, .title, button, small, code')]
          .filter(
            (element) =>
              element.getClientRects().length > 0 && isCut(element) && getComputedStyle(element).display !== 'inline',
          )
          .map((element) => element.outerHTML);
      }),
      [],
    ),
  );
  await window.resizeSideBar(300);
  assert.equal(window.read('entry.py'), before);
  assert.equal(await window.page.locator('.tab.active.dirty').count(), 0);

  // An edit of several lines is shown first, and written only then.
  const autocast = section(window).locator('.changes > li', { hasText: 'bfloat16 autocast' }).first();
  const question = window.notification('as the diff shows');
  for (const answer of ['Discard', 'Write']) {
    await autocast.getByRole('button', { name: 'Apply' }).click();
    await window.page.locator('.monaco-diff-editor .modified .line-insert').first().waitFor();
    await question.getByRole('button', { name: answer }).click();
    await window.page.locator('.monaco-diff-editor').waitFor({ state: 'detached' });
    if (answer === 'Discard') assert.equal(await window.lineWith('with torch.autocast'), null);
  }
  await until(async () => assert.notEqual(await window.lineWith('with torch.autocast'), null));
  await autocast.getByRole('button', { name: 'Undo' }).click();
  await until(async () => assert.equal(await window.lineWith('with torch.autocast'), null));

  // One of a single line is written as one undo step, and redone; the save profiles it.
  await fused.getByRole('button', { name: 'Apply' }).click();
  await until(async () => assert.ok((await window.lineWith('momentum=0.9, fused=True)')) !== null));
  await fused.getByText('Applied').waitFor();
  await fused.getByRole('button', { name: 'Undo' }).click();
  await until(async () => assert.equal(await window.lineWith('fused=True'), null));
  await fused.getByRole('button', { name: 'Apply' }).waitFor();
  await window.focusEditor();
  await window.page.keyboard.press('Control+Y');
  await until(async () => assert.ok((await window.lineWith('fused=True')) !== null));
  await window.save();
  await section(window).getByText('These figures are of the step before the last change.').waitFor();
  // What was predicted and tried stands beside what the profile of the save says.
  const applied = section(window).locator('.applied');
  await applied.getByText('Applied: fused optimizer').waitFor();
  if (isPredicted) {
    assert.equal(await figure(applied, 'predicted').innerText(), predicted.replace(': try it', '')); // it was tried
  }
  for (const kind of ['tried', 'measured']) assert.match(await figure(applied, kind).innerText(), /\([\d.]+–[\d.]+\)$/);
  await picture(window, 'applied');
  await section(window).getByRole('button', { name: 'Ask again' }).click();
  await section(window)
    .getByText('These figures are of the step before the last change.')
    .waitFor({ state: 'detached' });
  await section(window)
    .locator('.reasons li', { hasText: 'fused optimizer' })
    .getByText(/uses its fused implementation already/)
    .waitFor({ state: 'attached' });
});
