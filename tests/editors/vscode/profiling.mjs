import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { long, ownWindow, vscode } from './shared.mjs';
import { root, until } from './workbench.mjs';

test('a profile shows in the gutter, at the ends of the lines, in lens, hover and status bar', async (t) => {
  const window = await ownWindow(t);
  await window.profile();
  await until(async () => {
    const { text, marker } = await window.lineWith('self.relu(self.fc1(hidden))');
    assert.match(text, /\d+(\.\d)? % · (≈\s)?[\d.]+ (µs|ms|s)/);
    assert.ok(marker.time >= 2 && !marker.stale, JSON.stringify(marker));
  });
  const weights = await window.lineWith('self.fc1 = nn.Linear');
  assert.ok(weights.marker.memory >= 3, JSON.stringify(weights.marker));
  assert.match(weights.text, /MiB/);
  assert.equal((await window.lineWith('class MLP')).marker, null);
  const call = (await window.lineWith('logits = model(images)')).marker;
  assert.ok(call.called && call.time >= 4, JSON.stringify(call)); // it only calls
  assert.equal(weights.marker.called, false);
  await window.lens('MiB of').waitFor();
  await window.status.getByText(/samples\/s/).waitFor();
  // The pointer may pass the gutter, which has a hover of its own.
  await until(async () => assert.match(await (await window.hover('fc2')).innerText(), /backward/));
});

const notebook = JSON.stringify({
  nbformat: 4,
  nbformat_minor: 5,
  metadata: { language_info: { name: 'python' } },
  cells: [
    {
      id: 'one',
      cell_type: 'code',
      source: ['answer = 6 * 7'],
      metadata: {},
      outputs: [],
      execution_count: null,
    },
  ],
});

test('a notebook is not profiled, and the message and the view say how to go on', async (t) => {
  const window = await ownWindow(t, { file: null });
  window.write('train.ipynb', notebook);
  await window.openFile('train.ipynb');
  await window.page.locator('.notebook-editor .cell').first().waitFor();
  await window.openView();
  await window.view.getByText('train.ipynb is a notebook, and notebooks are not profiled').waitFor();
  assert.equal(
    await window.view.getByRole('button', { name: 'Export as Python script' }).count(),
    0,
    'there is no Jupyter extension',
  );
  assert.equal(await window.view.getByRole('button', { name: 'Profile this file' }).count(), 0);
  await window.command('Ridgeline: Profile');
  const message = window.notification('train.ipynb is a notebook, and notebooks are not profiled');
  await message.waitFor();
  assert.equal(await message.getByRole('button', { name: 'Export' }).count(), 0);
  await message.getByRole('button', { name: 'Write Entry Point' }).click();
  await window.page.locator('.quick-input-list .monaco-list-row', { hasText: 'MLP' }).waitFor();
  await window.page.keyboard.press('Escape');
  await window.openFile('entry.py');
  await window.view.getByRole('button', { name: 'Profile this file' }).waitFor();
});

long('a notebook is exported by the Jupyter extension, where there is one', async (t) => {
  vscode.addExtension(path.join(root, 'tests/editors/vscode/jupyter-extension'));
  t.after(() => vscode.removeExtension('ms-toolsai.jupyter'));
  const exported = async (window) => {
    await window.page.locator('.tab.active', { hasText: 'Untitled' }).waitFor();
    await until(async () => assert.ok(await window.lineWith('answer = 6 * 7')));
    await window.page.locator('.tab', { hasText: 'train.ipynb' }).click();
    await window.page.locator('.notebook-editor .cell').first().waitFor();
  };
  const window = await ownWindow(t, { file: null });
  window.write('train.ipynb', notebook);
  await window.openFile('train.ipynb');
  await window.page.locator('.notebook-editor .cell').first().waitFor();
  await until(async () => {
    // once the stand-in has started
    await window.command('Ridgeline: Profile');
    const message = window.notification('train.ipynb is a notebook');
    const button = message.getByRole('button', {
      name: 'Export as Python Script',
    });
    await button.waitFor({ timeout: 5000 }).catch(async (error) => {
      await window.page.keyboard.press('Escape');
      throw error;
    });
    await button.click();
  });
  await exported(window);
  await window.openView();
  await window.view.getByRole('button', { name: 'Export as Python script' }).click();
  await exported(window);
});

test('a workspace that is not trusted is not run', async (t) => {
  const window = await ownWindow(t, { trust: false });
  await window.lens('Profile').click();
  const warning = window.notification('which is not trusted');
  await warning.waitFor();
  await warning.getByRole('button', { name: 'Manage Workspace Trust' }).click();
  await window.page.getByRole('button', { name: 'Trust', exact: true }).first().click();
  await window.page.locator('.tab', { hasText: 'entry.py' }).click();
  await window.profile();
});

test('without workspace trust the daemon asks before it runs the code', async (t) => {
  vscode.set({ 'security.workspace.trust.enabled': false });
  t.after(() => vscode.set({}));
  const window = await ownWindow(t, { trust: null });
  const question = window.notification('Profiling runs the code of');
  await window.lens('Profile').click();
  await question.getByRole('button', { name: 'Not now' }).click();
  await question.waitFor({ state: 'detached' });
  assert.equal(await window.lens('samples/s').count(), 0);
  await window.lens('Profile').click();
  await question.getByRole('button', { name: 'Profile', exact: true }).click();
  await window.lens('samples/s').waitFor();
});

test('a mistake is shown at its line, with the traceback, until it is mended', async (t) => {
  const window = await ownWindow(t);
  await window.profile();
  await window.openView();
  await window.replace('self.fc2(hidden)', 'self.fc2(images)');
  await until(async () => assert.ok((await window.markers()).every(({ stale }) => stale)));
  await window.save();
  await window.status.getByText('Ridgeline: failed').waitFor();
  await window.view.getByText('The last profile failed').waitFor();
  await window.page.locator('.squiggly-error').first().waitFor();
  const line = await window.lineWith('self.fc2(images)');
  const [squiggle, text] = await Promise.all([
    window.page.locator('.squiggly-error').first().boundingBox(),
    window.page.locator('.view-line', { hasText: 'self.fc2(images)' }).boundingBox(),
  ]);
  assert.ok(Math.abs(squiggle.y - text.y) < text.height, 'the squiggle is at the line');
  assert.match(line.text, /images/);
  await window.view.getByRole('button', { name: 'Show traceback' }).click();
  await window.page.locator('.tab.active', { hasText: 'Traceback' }).waitFor();
  await until(async () => {
    const shown = Object.values(await window.lines())
      .map(({ text }) => text)
      .join('\n');
    assert.match(shown, new RegExp(`entry\\.py", line ${line.number}, in forward`));
  });
  await window.view.getByRole('button', { name: 'Go to the line' }).click();
  await window.page.locator('.tab.active', { hasText: 'entry.py' }).waitFor();
  await window.replace('self.fc2(images)', 'self.fc2(hidden)');
  await window.save();
  await window.page.locator('.squiggly-error').first().waitFor({ state: 'detached' });
  await until(async () => assert.ok((await window.markers()).some(({ stale }) => !stale)));
});

long('figures are stale after an edit, and fresh after a save', async (t) => {
  const window = await ownWindow(t);
  await window.profile();
  await window.openView();
  await window.view.locator('.breakdown .row').first().waitFor();
  await window.replace('lr=0.01', 'lr=0.02');
  await until(async () => assert.match((await window.lineWith('self.relu(self.fc1')).text, /\(stale\)/));
  await window.view.getByText('Stale: the figures are from before entry.py was changed').waitFor();
  await window.status.getByText('(stale)').waitFor();
  assert.ok((await window.markers()).every(({ stale }) => stale));
  await window.save();
  await until(async () => {
    const markers = await window.markers();
    assert.ok(markers.length > 0 && markers.every(({ stale }) => !stale));
    assert.doesNotMatch((await window.lineWith('self.relu(self.fc1')).text, /stale/);
  });
  await window.view.getByText('Stale:').waitFor({ state: 'detached' });

  await window.command('Ridgeline: Toggle Profile on Save');
  await window.page.getByText('Profile on save is off.').waitFor();
  await window.replace('lr=0.02', 'lr=0.03');
  await window.save();
  await window.lens('(stale)').first().waitFor();
  await window.command('Ridgeline: Toggle Profile on Save');
  await window.page.getByText('Profile on save is on.').waitFor();
});

test('the hints at the ends of lines are hidden and shown, by the command and by its keys', async (t) => {
  const window = await ownWindow(t);
  const line = async () => (await window.lineWith('self.relu(self.fc1(hidden))')).text;
  await window.profile();
  await until(async () => assert.match(await line(), /\d %/));
  await window.command('Ridgeline: Toggle Inlay Hints');
  await window.page.getByText('Hints at the ends of the lines are off.').waitFor();
  await until(async () => assert.doesNotMatch(await line(), /\d %/));
  await window.focusEditor();
  await window.page.keyboard.press('Control+Alt+r');
  await window.page.keyboard.press('h');
  await until(async () => assert.match(await line(), /\d %/));
});

test('the keys profile, open the view and the report, and cancel; the lines of the report are links', async (t) => {
  const window = await ownWindow(t);
  const keys = async (last) => {
    await window.page.keyboard.press('Control+Alt+r');
    await window.page.keyboard.press(last);
  };
  await window.lens('Profile').waitFor();
  await window.focusEditor();
  await keys('p');
  await window.lens('samples/s').waitFor();
  await window.focusEditor();
  await keys('v');
  await window.view.locator('.breakdown .row').first().waitFor();
  await window.focusEditor();
  await keys('r');
  await window.page.locator('.tab.active', { hasText: 'Report of entry.py' }).waitFor();
  const place = window.reportPage.locator('.place', { hasText: /^entry\.py:\d+$/ }).first();
  const [, line] = /:(\d+)$/.exec(await place.innerText());
  await place.click();
  await window.page.locator('.tab.active', { hasText: /^entry\.py/ }).waitFor();
  await window.page.getByText(`Ln ${line}, Col 1`).waitFor();
  await window.replace('optimizer.zero_grad()', '__import__("time").sleep(600)');
  await keys('p');
  await window.status.getByText('Profiling').waitFor();
  await window.focusEditor();
  await keys('c');
  await window.status.getByText('Profiling').waitFor({ state: 'detached' });
});

test('the step runs in the interpreter that is selected in the Python extension', async (t) => {
  vscode.addExtension(path.join(root, 'tests/editors/vscode/python-extension'));
  vscode.set({ 'ridgeline.python': '' });
  t.after(() => {
    vscode.set({});
    vscode.removeExtension('ms-python.python');
  });
  const window = await ownWindow(t);
  await window.lens('Profile').click();
  const message = window.notification('/usr/bin/python3');
  await message.getByRole('button', { name: 'Select Interpreter' }).click();
  await message.waitFor({ state: 'detached' });
  await window.profile();
});

test('where torch is missing, an interpreter is chosen from a list; for an import of our own none is offered', async (t) => {
  vscode.set({ 'ridgeline.python': '/usr/bin/python3' });
  t.after(() => vscode.set({}));
  const folder = vscode.project();
  symlinkSync(path.join(root, '.venv'), path.join(folder, '.venv'));
  const window = await ownWindow(t, { folder });
  await window.lens('Profile').click();
  await window.notification('/usr/bin/python3').getByRole('button', { name: 'Select Interpreter' }).click();
  const list = window.page.locator('.quick-input-widget');
  const rows = list.locator('.monaco-list-row');
  await rows.filter({ hasText: 'without torch' }).first().waitFor();
  assert.match(await rows.first().innerText(), /\.venv\/bin\/python[^]*has torch/);
  await rows.first().click();
  await window.status.getByText(/samples\/s/).waitFor();
  assert.match(JSON.parse(window.read('.vscode/settings.json'))['ridgeline.python'], /\.venv\/bin\/python$/);

  writeFileSync(path.join(folder, 'helper.py'), '');
  await window.replace('import torch', 'from helper import missing; import torch');
  await window.command('Ridgeline: Profile');
  const message = window.notification('cannot import name');
  await message.getByRole('button', { name: 'Show Traceback' }).waitFor();
  assert.equal(await message.getByRole('button', { name: 'Select Interpreter' }).count(), 0);
});

test('a trace is imported from the explorer, and the lines of its report are links', async (t) => {
  const folder = vscode.project();
  const call = (name, ts, dur, more) => ({
    ph: 'X',
    pid: 1,
    tid: 1,
    name,
    ts,
    dur,
    ...more,
  });
  const steps = Array.from({ length: 4 }, (_, i) => [
    call(`ProfilerStep#${i}`, 10000 * i, 9000, { cat: 'user_annotation' }),
    call('entry.py(25): forward', 10000 * i + 100, 8000, {
      cat: 'python_function',
      args: { 'Python id': 2 * i + 1, 'Python parent id': null },
    }),
    call('aten::mm', 10000 * i + 200, 7000, { cat: 'cpu_op' }),
  ]).flat();
  writeFileSync(path.join(folder, 'trace.json'), JSON.stringify({ schemaVersion: 1, traceEvents: steps }));
  writeFileSync(path.join(folder, 'broken.json'), '{"traceEvents": [');
  const window = await ownWindow(t, { folder, file: null });
  const importFile = async (name) => {
    const item = window.page.locator('.monaco-menu').getByText('Import Trace');
    await until(async () => {
      // a menu opened early lacks the item, and one that has just opened takes no click
      if ((await item.count()) === 0) {
        await window.page.keyboard.press('Escape');
        await window.page.locator('.explorer-viewlet .monaco-list-row', { hasText: name }).click({ button: 'right' });
      }
      await item.waitFor({ timeout: 2000 });
      await item.click({ timeout: 1000 }).catch(() => undefined);
      await item.waitFor({ state: 'detached', timeout: 1000 });
    });
  };
  await importFile('broken.json');
  await window.notification('could not import broken.json').waitFor();
  await importFile('trace.json');
  await window.page.locator('.tab.active', { hasText: 'trace.json.txt' }).waitFor();
  await window.page.locator('.view-line .detected-link', { hasText: 'entry.py:25' }).first().waitFor();
  await window.goTo('entry.py:25');
  await window.command('Open Link'); // by a click: in the test of the keys
  await window.page.locator('.tab.active', { hasText: 'entry.py' }).waitFor();
  await window.page.getByText('Ln 25, Col 1').waitFor();
  await window.command('Ridgeline: Toggle Inlay Hints');
  await window.page.getByText('Hints at the ends of the lines are off.').waitFor();
  vscode.set({});
});

long('an entry point is written from the file in the editor, or for a class of the workspace', async (t) => {
  const window = await ownWindow(t, { file: null });
  window.write(
    'net.py',
    'from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, images):\n        return images\n\n\nclass Other:\n    pass\n',
  );
  window.write('notes.py', 'x = 1\n');
  await window.openFile('net.py');
  await window.command('Ridgeline: Write Entry Point');
  await window.page.locator('.tab.active', { hasText: 'entry_2.py' }).waitFor(); // entry.py is the example's
  assert.match(window.read('entry_2.py'), /from net import Net\n[^]*return Net\(\)[^]*NotImplementedError/);
  await window.page.getByText(/^Ln \d+, Col \d+ \(\d+ selected\)$/).waitFor(); // what is left to do
  window.write(
    'bert.py',
    'from transformers import BertPreTrainedModel\n\n\nclass Bert(BertPreTrainedModel):\n    pass\n',
  );
  window.write(
    'mine.py',
    'from bert import Bert\n\n\nclass Mine(Bert):\n    pass\n\n\nclass Config(dict):\n    pass\n',
  );
  await window.openFile('notes.py');
  await window.command('Ridgeline: Write Entry Point');
  const choices = window.page.locator('.quick-input-list .monaco-list-row');
  await choices.filter({ hasText: 'Net' }).waitFor();
  assert.deepEqual((await choices.locator('.label-name').allInnerTexts()).map((name) => name.trim()).sort(), [
    'Bert',
    'MLP',
    'Mine',
    'Net',
  ]);
  await choices.filter({ hasText: 'Net' }).click();
  await window.page.locator('.tab.active', { hasText: 'entry_3.py' }).waitFor();
  assert.match(
    window.read('entry_3.py'),
    /from net import Net\n[^]*return Net\(\)[^]*def input_provider\(batch_size=32\)/,
  );
  await window.lens('Profile').waitFor();
  window.write('gan.py', readFileSync(path.join(root, 'tests/data/entry_points/gan.py'), 'utf8'));
  await window.openFile('gan.py');
  await window.command('Ridgeline: Write Entry Point');
  await window.page.locator('.tab.active', { hasText: 'entry_4.py' }).waitFor();
  await window.lens('Profile').waitFor();
  await window.page.getByText('Ln 1, Col 1', { exact: true }).waitFor(); // nothing is left to do, and nothing is selected
});

const script = `import sys
import torch
from torch import nn

model = nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print("arguments", *sys.argv[1:], flush=True)
if "--sleep" in sys.argv:
    __import__("time").sleep(600)
while True:
    optimizer.zero_grad()
    loss = model(torch.randn(32, 64)).square().mean()
    loss.backward()
    optimizer.step()
`;

test('a training script is profiled as it is, with the arguments of launch.json', async (t) => {
  const window = await ownWindow(t, { file: null });
  const launch = (args) =>
    window.write(
      '.vscode/launch.json',
      JSON.stringify({
        configurations: [
          {
            name: 'another',
            type: 'debugpy',
            request: 'launch',
            program: '${workspaceFolder}/other.py',
            args: ['--wrong'],
          },
          {
            name: 'train',
            type: 'debugpy',
            request: 'launch',
            program: '${workspaceFolder}/train.py',
            args,
          },
        ],
      }),
    );
  mkdirSync(path.join(window.folder, '.vscode'), { recursive: true });
  launch(['--name', '${fileBasename}']);
  window.write('train.py', script);
  await window.openFile('train.py');
  await window.lens('Write entry point').waitFor();
  await window.lens('Profile this script').click();
  await window.lens('samples/s').waitFor();
  await until(async () => assert.match((await window.lineWith('loss.backward()')).text, /\d %/));
  await window.openView();
  await window.view.getByText('batch size 32').first().waitFor();
  await window.view.getByText('Only batch size 32 was measured: nothing is predicted for others.').waitFor();
  await window.lens('samples/s').click();
  await window.page.locator('.tab.active', { hasText: 'Report of train.py' }).waitFor();
  await window.reportPage.getByRole('heading', { name: 'train.py' }).waitFor();
  await window.command('View: Close Editor'); // the quick list of files has it, too

  // A script that waits is cancelled; the figures before stay.
  launch(['--sleep']);
  await window.openFile('train.py');
  await window.lens('Profile this script').click();
  await window.status.getByText('Profiling').waitFor();
  await window.status.click();
  await window.status.getByText('Profiling').waitFor({ state: 'detached' });
  await window.lens('Profile this script').waitFor();
});

const scriptWithOption = `import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8)
model = nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(640, 64)), batch_size=parser.parse_args().batch_size)
while True:
    for (x,) in loader:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
`;

long('a batch size that an argument of launch.json decides is written there', async (t) => {
  const window = await ownWindow(t, { file: null });
  mkdirSync(path.join(window.folder, '.vscode'), { recursive: true });
  const program = '${workspaceFolder}/train.py';
  const configuration = { name: 'train', type: 'debugpy', request: 'launch', program, args: ['--batch-size', '32'] };
  window.write('.vscode/launch.json', JSON.stringify({ configurations: [configuration] }));
  window.write('train.py', scriptWithOption);
  await window.openFile('train.py');
  await window.lens('Profile this script').click();
  await window.openView();
  const size = window.view.locator('.recommended button.size').first();
  await size.waitFor();
  const chosen = await size.innerText();
  await size.click();
  await window.notification('The configuration train of launch.json has it now').waitFor();
  await until(async () =>
    assert.deepEqual(JSON.parse(window.read('.vscode/launch.json')).configurations[0].args, ['--batch-size', chosen]),
  );
  assert.equal(window.read('train.py'), scriptWithOption);
  await window.notification('of launch.json has it now').getByRole('button', { name: 'Undo' }).click();
  await until(async () =>
    assert.deepEqual(JSON.parse(window.read('.vscode/launch.json')).configurations[0].args, ['--batch-size', '32']),
  );
});
