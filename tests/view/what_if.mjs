/** What changes of the step would bring, and other devices. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownProfile, ownWindow } from './shared.mjs';
import { until } from './window.mjs';

const section = (window) => window.view.locator('.what-if');
/** Whatever brings nothing on the machine of the test is shown, too. */
const unfold = (window) =>
  section(window)
    .locator('details')
    .evaluateAll((all) => all.forEach((one) => (one.open = true)));

test('devices are compared in a table', async (t) => {
  const window = await ownWindow(t);
  await window.profile();
  window.ui.answers.push('a100=1.10 t4=0.35', '50000');
  void window.command('ridgeline.showDevices');
  await until(async () => assert.equal(window.inFront, 'entry-devices.txt'));
  await until(async () => assert.match((await window.lineWith('A100'))?.text ?? '', /at least/));
  assert.notEqual(await window.lineWith('COST OF AN EPOCH'), null);
});

test('what goes on is cancelled', async (t) => {
  const window = await ownProfile(t, { settings: { 'ridgeline.tryChanges': true } });
  await section(window).getByRole('button', { name: 'Ask what changes would bring' }).click();
  await unfold(window);
  await section(window).getByRole('button', { name: 'Cancel' }).click();
  await section(window).getByRole('button', { name: 'Ask what changes would bring' }).waitFor();
  assert.equal(await section(window).locator('.notice.error').count(), 0);
  // Where the user has said so, changes are tried in the background, once nobody types.
  await section(window).getByRole('button', { name: 'Ask what changes would bring' }).click();
  await unfold(window);
  await section(window).locator('.said.tried').first().waitFor();
  await section(window).getByRole('button', { name: 'Cancel' }).click();
});

test('the best combination within a limit of memory is searched', async (t) => {
  const window = await ownProfile(t);
  await section(window).getByRole('button', { name: 'Ask what changes would bring' }).click();
  await unfold(window);
  const search = section(window).getByRole('button', { name: 'Find the best combination' });
  await search.waitFor();
  assert.notEqual(await section(window).locator('.said.peak').count(), 0);
  window.ui.answers.push('0.000001'); // which no change fits in
  await search.click();
  await until(async () => assert.equal(await section(window).locator('.said.peak').count(), 0));
  assert.equal(await section(window).locator('.notice.error').count(), 0);
});
