/** What package.json says, against what is documented. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from './workbench.mjs';

const read = (...names) => readFileSync(path.join(root, ...names), 'utf8');
const { contributes, version } = JSON.parse(read('editors/vscode/package.json'));
const settings = contributes.configuration.properties;
const codesIn = (text) => [...text.matchAll(/^\| `([\w.-]+)` \| /gm)].map(([, code]) => code);

test('each documented setting of the daemon can be set in VS Code, with the same default', () => {
  const documented = [...read('docs/settings.md').matchAll(/^\| `([\w.]+)` \| `([^`]*)` \|/gm)].filter(([, name]) => name !== 'advice.CODE');
  assert.ok(documented.length > 10);
  for (const [, name, value] of documented) assert.deepEqual(settings[`ridgeline.${name}`]?.default, JSON.parse(value), name);
});

test('each kind of advice can be turned off', () => {
  const codes = codesIn(read('docs/advice.md'));
  assert.ok(codes.length > 5);
  for (const code of codes) assert.equal(settings[`ridgeline.advice.${code}`]?.default, true, code);
});

test('the extension has the version of the daemon', () => {
  assert.equal(/project\(ridgeline VERSION ([\d.]+)/.exec(read('CMakeLists.txt'))[1], version);
});
