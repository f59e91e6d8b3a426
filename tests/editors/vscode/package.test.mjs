/** What package.json says, against what is documented. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { anotherMachine } from './machine.mjs';
import { builtVsix, root } from './workbench.mjs';

const read = (...names) => readFileSync(path.join(root, ...names), 'utf8');
const { contributes, version } = JSON.parse(read('editors/vscode/package.json'));
const settings = contributes.configuration.properties;
/** What a source of the extension exports, where it needs nothing of VS Code. */
const source = async (name) => {
  const { transformSync } = createRequire(path.join(root, 'editors/vscode/package.json'))('esbuild');
  return import(
    `data:text/javascript,${encodeURIComponent(transformSync(read('editors/vscode/src', name), { loader: 'ts' }).code)}`
  );
};
const codesIn = (text) => [...text.matchAll(/^\| `([\w.-]+)` \| /gm)].map(([, code]) => code);

test('each documented setting of the daemon can be set in VS Code, with the same default', () => {
  const documented = [...read('docs/user/settings.md').matchAll(/^\| `([\w.]+)` \| `([^`]*)` \|/gm)].filter(
    ([, name]) => name !== 'advice.CODE',
  );
  assert.ok(documented.length > 10);
  for (const [, name, value] of documented)
    assert.deepEqual(settings[`ridgeline.${name}`]?.default, JSON.parse(value), name);
});

test('each kind of advice can be turned off', () => {
  const codes = codesIn(read('docs/user/advice.md'));
  assert.ok(codes.length > 5);
  for (const code of codes) assert.equal(settings[`ridgeline.advice.${code}`]?.default, true, code);
});

test('the extension has the version of the daemon', () => {
  assert.equal(/project\(ridgeline VERSION ([\d.]+)/.exec(read('CMakeLists.txt'))[1], version);
});

/** As VS Code has it (src/vs/base/common/linkedText.ts), for notifications. */
const link = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/i;

const inVsix = (expression, ...words) =>
  execFileSync(path.join(root, '.venv/bin/python'), [
    '-c',
    `import sys, zipfile; vsix = zipfile.ZipFile(sys.argv[1]); sys.stdout.buffer.write(${expression})`,
    builtVsix(),
    ...words,
  ]);
/** The bytes of a file in the .vsix. */
const unpacked = (name) => inVsix('vsix.read(sys.argv[2])', name);
/** The names of all of its files, sorted. */
const packed = () => inVsix("'\\n'.join(sorted(vsix.namelist())).encode()").toString().split('\n');

test('the .vsix has what a registry of extensions asks for', () => {
  const manifest = JSON.parse(unpacked('extension/package.json'));
  for (const field of ['name', 'displayName', 'publisher', 'version', 'description', 'license'])
    assert.match(manifest[field], /\S/, field);
  assert.match(manifest.engines.vscode, /^\^1\.\d+\.0$/);
  // Those that VS Code's gallery knows; an unknown one is refused.
  const known = [
    'AI',
    'Azure',
    'Chat',
    'Data Science',
    'Debuggers',
    'Education',
    'Extension Packs',
    'Formatters',
    'Keymaps',
    'Language Packs',
    'Linters',
    'Machine Learning',
    'Notebooks',
    'Other',
    'Programming Languages',
    'SCM Providers',
    'Snippets',
    'Testing',
    'Themes',
    'Visualization',
  ];
  assert.ok(
    manifest.categories.length > 0 && manifest.categories.every((category) => known.includes(category)),
    JSON.stringify(manifest.categories),
  );
  assert.ok(manifest.keywords.length > 0 && manifest.keywords.length <= 30);
  const icon = unpacked(`extension/${manifest.icon}`);
  assert.equal(icon.subarray(1, 4).toString(), 'PNG');
  assert.ok(icon.readUInt32BE(16) >= 128 && icon.readUInt32BE(20) >= 128, 'the icon is 128 pixels or more');
  assert.match(unpacked('extension/LICENSE.txt').toString(), /Apache License/);
  assert.ok(unpacked('extension/THIRD_PARTY_LICENSES').length > 1000);
  assert.match(
    unpacked('extension/changelog.md').toString(),
    new RegExp(`^## ${version.replaceAll('.', '\\.')}$`, 'm'),
  );
  // A gallery shows it without the repository: a relative link would lead nowhere, but to a picture in the package.
  const readme = unpacked('extension/readme.md').toString();
  assert.match(readme, /^# Ridgeline/);
  const pictures = [...readme.matchAll(/!\[[^\]]+\]\(([^):]+\.png)\)/g)].map(([, picture]) => picture);
  assert.ok(pictures.length > 0);
  for (const picture of pictures)
    assert.equal(unpacked(`extension/${picture}`).subarray(1, 4).toString(), 'PNG', picture);
  assert.deepEqual(
    [...readme.matchAll(/\]\((?!https:\/\/|#)([^)]*)\)|(?:src|href)="(?!https:)[^"]*"/g)]
      .filter(([, link]) => !pictures.includes(link))
      .map(([link]) => link),
    [],
  );
  assert.match(unpacked('extension.vsixmanifest').toString(), /TargetPlatform="linux-/);
});

test('all that is put together for the .vsix is in it', () => {
  const folder = path.join(root, 'build/vsix');
  const renamed = { 'README.md': 'readme.md', 'CHANGELOG.md': 'changelog.md', LICENSE: 'LICENSE.txt' };
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && file.name !== '.vscodeignore')
    .map((file) => path.relative(folder, path.join(file.parentPath, file.name)))
    .map((name) => `extension/${renamed[name] ?? name}`);
  assert.ok(files.includes('extension/bin/ridgeline'));
  assert.deepEqual(
    packed().filter((name) => name.startsWith('extension/')),
    files.sort(),
  );
});

test('text from outside is sanitized in notifications and labels', async () => {
  const { sanitizeText } = await source('sanitizeText.ts');
  for (const hostile of [
    '[a](command:b)',
    '[a](https://example.org "t")',
    '[a]([b](file:///c))',
    '[a](\u0000command:b)',
    '$(trash) a',
    '[[a]](COMMAND:b)',
  ]) {
    const shown = sanitizeText(`x ${hostile} y`);
    assert.doesNotMatch(shown.replaceAll(/\s/g, ' '), link, hostile);
    assert.doesNotMatch(shown, /\$\(|[\x00-\x08\u202e]/, hostile);
  }
  assert.equal(sanitizeText('/home/me/net.py could not be written.'), '/home/me/net.py could not be written.');
  assert.equal(sanitizeText('x'.repeat(5000)).length, 1024);
});

test('figures are formatted by the rules of the daemon', async () => {
  const figures = await source('figures.ts');
  const { estimatedBytes, figure, ...rules } = JSON.parse(read('tests/data/figures.json'));
  assert.deepEqual(Object.keys(rules), ['duration', 'bytes', 'share']);
  for (const [rule, cases] of Object.entries({ ...rules, rate: figure })) {
    for (const [value, text] of cases) assert.equal(figures[rule](value), text, `${rule} of ${value}`);
  }
  for (const [estimate, text] of estimatedBytes)
    assert.equal(figures.estimated(estimate, figures.bytes), text, JSON.stringify(estimate));
});

test('model classes are those with a base that is one, also in another file', async () => {
  const { classesIn, modelsOf } = await source('modelClasses.ts');
  const names = (...texts) => modelsOf(texts.flatMap(classesIn)).map(({ name }) => name);
  assert.deepEqual(names('class Net(Base): pass\nclass Base(nn.Module): pass\nclass Other(Thing): pass\n'), [
    'Net',
    'Base',
  ]);
  assert.deepEqual(
    names('class A(B):\n  x = 1\n', 'class B(C):\n', 'class C(transformers.BertPreTrainedModel, Generic[T]):\n'),
    ['A', 'B', 'C'],
  );
  assert.deepEqual(
    names('class M(Generic[T], torch.nn.Module, metaclass=Meta):\n', 'class L(\n    L.LightningModule,\n):\n'),
    ['M', 'L'],
  );
  assert.deepEqual(names('class A(B):\nclass B(A):\nclass Modules(ModuleList2):\nclass D(metaclass=Module):\n'), []);
  assert.deepEqual(
    classesIn('import x\n\n\nclass Net(nn.Module):\n').map(({ line }) => line),
    [3],
  );
});

test('the daemon is that of the setting, the extension, the environment, the path, in this order', async () => {
  const { findProgram } = await source('program.ts');
  const all = { setting: '/set/ridgeline', bundled: '/extension/bin/ridgeline', python: '/project/.venv/bin/python' };
  const found = (places, ...there) => findProgram({ ...all, ...places }, (file) => there.includes(file));
  const beside = '/project/.venv/bin/ridgeline';
  assert.equal(found({}, all.bundled, beside), all.setting); // also when it is not there: the message names it
  assert.equal(found({ setting: '' }, all.bundled, beside), all.bundled);
  assert.equal(found({ setting: '' }, beside), beside);
  assert.equal(found({ setting: '' }), 'ridgeline');
  assert.equal(found({ setting: '', python: undefined }, beside), 'ridgeline');
});

test('the server is started here on Linux, and over ssh from other systems', async (t) => {
  const { elsewhere, serverCommand } = await source('program.ts');
  const host = { name: 'box', program: '', options: ['-p2222'] };
  assert.deepEqual(serverCommand('linux', '/bin/ridgeline', undefined).args, ['serve', '--stdio']);
  assert.deepEqual(serverCommand('linux', '/bin/ridgeline', { ...host, program: '/opt/r' }), {
    command: '/bin/ridgeline',
    args: ['remote', '--program=/opt/r', '--ssh-option=-p2222', '--', 'box'],
  });
  assert.equal(serverCommand('darwin', 'ridgeline', undefined), undefined);
  assert.match(elsewhere, /ridgeline\.server\.ssh/);
  assert.deepEqual(serverCommand('win32', 'ridgeline', host), {
    command: 'ssh',
    args: ['-T', '-p2222', '--', 'box', 'ridgeline serve --stdio'],
  });

  // What a Mac would run, on a host that has nothing but the program.
  const { host: name, options } = await anotherMachine(t, path.join(root, 'tests/remote'));
  const there = { name, options, program: path.join(root, 'build/bin/ridgeline') };
  const { command, args } = serverCommand('darwin', 'ridgeline', there);
  const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => server.kill());
  const text = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { processId: null, rootUri: null, capabilities: {} },
  });
  server.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  let answer = '';
  for await (const part of server.stdout) if ((answer += part).includes('"serverInfo"')) break;
  assert.match(answer, /"name":"ridgeline"/);
});

test('a daemon of another version than the extension is named', async () => {
  const { versionWarning } = await source('program.ts');
  assert.equal(versionWarning('/bin/ridgeline', '0.1.0', '0.1.0'), undefined);
  assert.match(
    versionWarning('/bin/ridgeline', '0.2.0', '0.1.0'),
    /\/bin\/ridgeline started is version 0\.2\.0.*this extension is version 0\.1\.0/,
  );
  assert.match(versionWarning('ridgeline', undefined, '0.1.0'), /version unknown/);
});

test('notifications have one place', () => {
  const folder = path.join(root, 'editors', 'vscode', 'src');
  const showing = readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .filter((name) => /show(Error|Warning|Information)Message/.test(read('editors/vscode/src', name)));
  assert.deepEqual(showing, ['notify.ts']);
});
