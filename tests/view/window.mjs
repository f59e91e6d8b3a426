/**
 * The extension without VS Code: its own code on a stand-in for the module `vscode` (vscode.mjs), a real daemon, and its
 * view in a page of Chromium, with the styles that VS Code gives a view. What is here is used as in ../editors/vscode.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from '../../editors/vscode/node_modules/esbuild/lib/main.js';
import { patience } from '../editors/vscode/until.mjs';
import { launchBrowser, root, until } from '../editors/vscode/workbench.mjs';
import { ViewDriver } from '../editors/vscode/view_driver.mjs';

const require = createRequire(import.meta.url);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const extension = path.join(root, 'editors/vscode');

const address = 'http://view.test';
const { contributes, version } = JSON.parse(readFileSync(path.join(extension, 'package.json'), 'utf8'));
const defaults = Object.fromEntries(
  Object.entries(contributes.configuration.properties).map(([name, { default: value }]) => [name, value]),
);
export const daemon = process.env.RIDGELINE_BINARY ?? path.join(root, 'build/bin/ridgeline');
const python = process.env.RIDGELINE_FORKED_PYTHON ?? path.join(root, '.venv/bin/python'); // tests/forkserver
const environment = {
  ...process.env,
  RIDGELINE_CACHE: process.env.RIDGELINE_CACHE ?? path.join(root, 'build/cache'),
  OMP_WAIT_POLICY: 'passive',
};
const testSettings = { 'ridgeline.python': python, 'ridgeline.timeBudget': 0.5, 'ridgeline.server.path': daemon };
/** How VS Code dresses a view: checked against it by ../editors/vscode. */
export const dress = JSON.parse(readFileSync(here('webview.json'), 'utf8'));

/** The extension and its view, bundled; and one browser, for windows of their own. */
export class Host {
  static async start() {
    const host = new Host();
    host.folder = mkdtempSync(path.join(tmpdir(), 'ridgeline-view-'));
    host.bundle = path.join(host.folder, 'extension.cjs');
    const stand = { vscode: here('vscode.mjs'), 'vscode-languageclient/node': here('client.mjs') };
    const standIns = {
      name: 'stand-ins',
      setup: (made) =>
        made.onResolve({ filter: /^vscode(-languageclient\/node)?$/ }, ({ path: name }) => ({ path: stand[name] })),
    };
    await build({
      stdin: {
        contents:
          "export { activate, deactivate } from './src/extension'; export { ui, commands, Uri, window } from 'vscode';",
        resolveDir: extension,
      },
      bundle: true,
      platform: 'node',
      format: 'cjs',
      target: 'node20',
      outfile: host.bundle,
      plugins: [standIns],
      nodePaths: [path.join(extension, 'node_modules')],
      logLevel: 'error',
    });
    const { outputFiles } = await build({
      entryPoints: [path.join(extension, 'src/view/main.ts')],
      bundle: true,
      target: 'es2022',
      write: false,
      logLevel: 'error',
    });
    host.served = {
      '/dist/view.js': ['text/javascript', outputFiles[0].text],
      '/media/view.css': ['text/css', readFileSync(path.join(extension, 'media/view.css'), 'utf8')],
    };
    host.browser = await launchBrowser();
    execFileSync(daemon, ['doctor', '--python', python], { env: environment, stdio: 'ignore' }); // builds the agent, if it is to be built
    return host;
  }

  /** A copy of an example, as a workspace of its own. */
  project(example = 'mlp') {
    const folder = mkdtempSync(path.join(this.folder, `${example}-`));
    cpSync(path.join(root, 'examples', example), folder, { recursive: true });
    writeFileSync(path.join(folder, 'pyproject.toml'), '');
    return folder;
  }

  async open(folder = this.project(), { height = 1200, settings = {} } = {}) {
    delete require.cache[this.bundle];
    const { activate, deactivate, ...module } = require(this.bundle); // an instance for each window
    Object.assign(module.ui, {
      folder,
      environment,
      settings: { ...defaults, ...testSettings, ...settings },
      diagnostics: new Map(),
    });
    await activate({
      subscriptions: [],
      extensionUri: module.Uri.file(extension),
      extension: { packageJSON: { version } },
      asAbsolutePath: (name) => path.join(extension, name),
    });
    const context = await this.browser.newContext({ viewport: { width: 300, height } });
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    return new Window(this, module, deactivate, page, folder);
  }

  async stop() {
    await this.browser?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const plain = (text) => text.replaceAll('\u00a0', ' ');
const textOf = (label) => plain(typeof label === 'string' ? label : label.map(({ value }) => value).join(''));

/** What a user sees of the text and in the view, and does there. */
class Window extends ViewDriver {
  constructor(host, module, deactivate, page, folder) {
    super(page);
    Object.assign(this, { host, ...module, deactivate, folder });
  }

  get view() {
    return this.page;
  }

  async close() {
    await this.page.context().close();
    await this.deactivate();
  }

  // ---- files

  file = (name) => path.join(this.folder, name);
  read = (name) => readFileSync(this.file(name), 'utf8');
  write = (name, text) => this.ui.write(this.file(name), text);
  openFile = (name) => this.window.showTextDocument(this.Uri.file(this.file(name)));
  save = () => this.ui.editor.document.save();

  // ---- the editor

  get document() {
    return this.ui.editor.document;
  }

  /** The name of the file in front. */
  get inFront() {
    return path.basename(this.document.uri.path);
  }

  /** The line that the cursor is on, from 1. */
  get cursor() {
    return this.ui.editor.selection.start.line + 1;
  }

  async cursorIsAt(line) {
    await until(async () => assert.equal(this.cursor, Number(line)));
  }

  /** By number: text, hints with it, and the marker in the gutter. */
  async lines() {
    const { document, decorations } = this.ui.editor;
    const shown = Object.fromEntries(document.lines.map((text, i) => [i + 1, { text, marker: null, hover: '' }]));
    for (const { position, label } of (await this.ui.client.hints(document)) ?? [])
      shown[position.line + 1].text += ` ${textOf(label)}`;
    for (const [type, places] of decorations) {
      const svg = /base64,(.+)/.exec(type.options.dark?.gutterIconPath?.path ?? '');
      const title = svg && /<title>time (\d) memory (\d)( stale)?( called)?/.exec(atob(svg[1]));
      for (const { range, hoverMessage } of title ? places : []) {
        Object.assign(shown[range.start.line + 1], {
          marker: {
            time: Number(title[1]),
            memory: Number(title[2]),
            stale: title[3] !== undefined,
            called: title[4] !== undefined,
          },
          hover: hoverMessage.value,
        });
      }
    }
    return shown;
  }

  async lineWith(text) {
    const found = Object.entries(await this.lines()).find(([, line]) => line.text.includes(text));
    return found === undefined ? null : { number: Number(found[0]), ...found[1] };
  }

  async markers() {
    return Object.values(await this.lines()).flatMap(({ marker }) => (marker ? [marker] : []));
  }

  /** The lines that the view has marked, from 1. */
  get marked() {
    return [...this.ui.editor.decorations]
      .filter(([{ options }]) => options.isWholeLine)
      .flatMap(([, places]) => places.map(({ range }) => range.start.line + 1));
  }

  async replace(before, after) {
    const { text } = this.document;
    assert.equal(text.split(before).length, 2, `${before} is there once`);
    this.document.edit(text.replace(before, () => after));
  }

  /** Hovers over a row of the view until the line with that text is marked. */
  async hoverMarks(row, text) {
    const { number } = await this.lineWith(text);
    await until(async () => {
      await this.page.mouse.move(0, 0); // what is drawn anew below a pointer that rests may not be entered
      await row.hover();
      await until(async () => assert.deepEqual(this.marked, [number]), 2000);
    });
  }

  /** The daemon's, and what stands in the gutter. */
  async hover(text) {
    const [number, { text: line, hover }] = Object.entries(await this.lines()).findLast(([, one]) =>
      one.text.includes(text),
    );
    const answer = await this.ui.client.sendRequest('textDocument/hover', {
      textDocument: { uri: this.document.uri.toString() },
      position: { line: number - 1, character: line.indexOf(text) },
    });
    return plain(`${answer?.contents.value ?? ''}\n${hover}`);
  }

  async lenses() {
    const all = await this.ui.client.sendRequest('textDocument/codeLens', {
      textDocument: { uri: this.document.uri.toString() },
    });
    return (all ?? []).map(({ command }) => ({ ...command, title: plain(command.title) }));
  }

  /** Waits for a lens with that text. */
  lens(text) {
    return until(async () => {
      const lens = (await this.lenses()).find(({ title }) =>
        typeof text === 'string' ? title.includes(text) : text.test(title),
      );
      assert.ok(lens, `a lens has ${text}`);
      return lens;
    });
  }

  // ---- the window

  command = (name, ...given) => this.commands.executeCommand(name, ...given);

  get status() {
    return plain(this.ui.statusItem.text.replace(/\$\([^)]*\)/g, '')).trim();
  }

  statusHas(text) {
    return until(async () => assert.match(this.status, text));
  }

  /** Waits for a message with that text. */
  message(text) {
    return until(async () => {
      const message = this.ui.messages.find((one) => plain(one.text).includes(text));
      assert.ok(message, `${text}, not ${JSON.stringify(this.ui.messages)}`);
      return message;
    });
  }

  /** What it starts may go on. */
  async clickLens(text) {
    const { command, arguments: given } = await this.lens(text);
    void this.command(command, ...given);
  }

  /** Profiles the file in the editor by its lens, and waits for the figures. */
  async profile() {
    await this.clickLens('Profile');
    await this.lens('samples/s');
  }

  // ---- the view

  async openView() {
    const { page, host, ui } = this;
    const received = [];
    const webview = {
      options: {},
      html: '',
      cspSource: address,
      asWebviewUri: (uri) => `${address}${uri.path.slice(extension.length)}`,
      onDidReceiveMessage: (listener) => void received.push(listener),
      postMessage: (message) =>
        page
          .evaluate((data) => window.postMessage(data, '*'), message)
          .then(
            () => true,
            () => false,
          ),
    };
    ui.view.resolveWebviewView({ webview, visible: true, onDidChangeVisibility() {}, onDidDispose() {} });
    await page.exposeFunction('sendToExtension', (message) => received.forEach((listener) => listener(message)));
    await page.addInitScript((dress) => {
      window.acquireVsCodeApi = () => ({ postMessage: (message) => void window.sendToExtension(message) });
      new MutationObserver((_, observer) => {
        if (document.body === null) return;
        observer.disconnect();
        document.body.className = dress.className;
        for (const [name, value] of Object.entries(dress.variables))
          document.documentElement.style.setProperty(name, value);
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(dress.styles);
        document.adoptedStyleSheets = [sheet];
      }).observe(document, { childList: true, subtree: true });
    }, dress);
    await page.route(`${address}/**`, (route) => {
      const [contentType, body] = host.served[new URL(route.request().url()).pathname] ?? ['text/html', webview.html];
      return route.fulfill({ contentType, body });
    });
    await page.goto(`${address}/`);
    await page.locator('main header').waitFor({ state: 'attached' });
  }

  async resizeSideBar(width) {
    await this.page.setViewportSize({ ...this.page.viewportSize(), width });
  }
}

export { root, until };
