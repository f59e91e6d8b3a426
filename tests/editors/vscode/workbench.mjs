/** A real VS Code (code-server) in a real Chromium, and what a user does in it. Every wait is for what shows. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { patience, until } from './until.mjs';
import { ViewDriver } from './view_driver.mjs';

export { until };

export const root = fileURLToPath(new URL('../../..', import.meta.url));
const codeServer = process.env.CODE_SERVER ?? path.join(root, 'build/code-server/code-server');

const userSettings = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.colorTheme': 'Default Dark Modern',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'chat.commandCenter.enabled': false,
  'editor.minimap.enabled': false,
  'editor.fontSize': 13,
  'extensions.ignoreRecommendations': true,
  'git.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'files.autoSave': 'off',
  'ridgeline.python': process.env.RIDGELINE_FORKED_PYTHON ?? path.join(root, '.venv/bin/python'), // tests/forkserver
  'ridgeline.timeBudget': 0.5,
};

/** What `./dev build` packed. */
export function builtVsix() {
  const name = readdirSync(path.join(root, 'build')).find((file) => /^ridgeline-.*\.vsix$/.test(file));
  if (name === undefined) throw new Error('There is no build/ridgeline-VERSION.vsix: ./dev build makes it.');
  return path.join(root, 'build', name);
}

export function launchBrowser(...more) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  });
}

/** One code-server and one browser, for windows of their own. */
export class VSCode {
  static async start(vsix, settings = {}) {
    const vscode = new VSCode();
    vscode.folder = mkdtempSync(path.join(tmpdir(), 'ridgeline-vscode-'));
    const inside = (...names) => path.join(vscode.folder, ...names);
    vscode.settingsFile = inside('data/User/settings.json');
    vscode.programs = inside('programs');
    for (const folder of [path.dirname(vscode.settingsFile), vscode.programs]) mkdirSync(folder, { recursive: true });
    vscode.set(settings);
    const folders = [
      '--extensions-dir',
      inside('extensions'),
      '--user-data-dir',
      inside('data'),
      '--config',
      inside('config.yaml'),
    ];
    writeFileSync(inside('config.yaml'), 'auth: none\n');
    // VSCODE_CLI: the environment is as it is given, not that of a login shell.
    const env = {
      ...process.env,
      RIDGELINE_CACHE: process.env.RIDGELINE_CACHE ?? path.join(root, 'build/cache'),
      OMP_WAIT_POLICY: 'passive',
      PATH: `${vscode.programs}:${process.env.PATH}`,
      VSCODE_CLI: '1',
      RIDGELINE_TEST_PYTHON: path.join(root, '.venv/bin/python'),
      RIDGELINE_TEST_PYTHON_WITHOUT_TORCH: '/usr/bin/python3',
    };
    delete env.VSCODE_IPC_HOOK_CLI;
    Object.assign(vscode, { folders, env });
    await ended(spawn(codeServer, [...folders, '--install-extension', vsix], { env, stdio: 'ignore' }));
    vscode.server = spawn(
      codeServer,
      [...folders, '--auth', 'none', '--bind-addr', '127.0.0.1:0', '--disable-telemetry', '--disable-update-check'],
      { env, detached: true },
    );
    vscode.address = await said(vscode.server, /HTTP server listening on (http:\S+)/);
    vscode.browser = await launchBrowser();
    return vscode;
  }

  /** The user's settings: these, and what all tests need. Windows that are open follow. */
  set(settings) {
    writeFileSync(this.settingsFile, JSON.stringify({ ...userSettings, ...settings }));
  }

  /** Installs a folder as an extension; removing it is up to the caller. */
  addExtension(folder) {
    const vsix = path.join(this.folder, `${path.basename(folder)}.vsix`);
    execFileSync(
      path.join(root, 'editors/vscode/node_modules/.bin/vsce'),
      ['package', '--no-dependencies', '--allow-missing-repository', '--skip-license', '--out', vsix],
      { cwd: folder, stdio: 'ignore' },
    );
    this.codeServer('--install-extension', vsix);
  }

  removeExtension(id) {
    this.codeServer('--uninstall-extension', id);
  }

  codeServer(...options) {
    execFileSync(codeServer, [...this.folders, ...options], { env: this.env, stdio: 'ignore' });
  }

  /** A program that is found first on the path. */
  program(name, script) {
    writeFileSync(path.join(this.programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  /** A copy of an example, as a workspace of its own. */
  project(example = 'mlp') {
    const folder = mkdtempSync(path.join(this.folder, `${example}-`));
    cpSync(path.join(root, 'examples', example), folder, { recursive: true });
    writeFileSync(path.join(folder, 'pyproject.toml'), '');
    return folder;
  }

  /** A window on a folder, whose authors are trusted, or not; null: VS Code does not ask. */
  async open(folder, { trust = true, width = 1280, height = 800 } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height } });
    const page = await context.newPage();
    page.setDefaultTimeout(patience);
    await page.goto(`${this.address}?folder=${encodeURIComponent(folder)}`);
    await page.locator('.explorer-viewlet .monaco-list-row').first().waitFor();
    if (trust !== null)
      await page
        .getByRole('button', { name: trust ? 'Yes, I trust the authors' : "No, I don't trust the authors" })
        .click();
    return new Window(page, folder);
  }

  async stop() {
    await this.browser?.close();
    if (this.server) {
      const end = ended(this.server);
      process.kill(-this.server.pid);
      await end.catch(() => undefined);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function ended(child) {
  return new Promise((resolve, reject) =>
    child
      .once('error', reject)
      .once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`exit status ${code}`)))),
  );
}

function said(child, pattern) {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`code-server ended with ${code}`)));
    createInterface(child.stdout).on('line', (line) => {
      const match = pattern.exec(line);
      if (match) resolve(match[1]);
    });
    child.stderr.resume();
  });
}

export class Window extends ViewDriver {
  constructor(page, folder) {
    super(page);
    this.folder = folder;
  }

  async close() {
    await this.page.goto('about:blank'); // so that the extension host ends with the window
    await this.page.context().close();
  }

  // ---- files

  /** On the disk. */
  read(name) {
    return readFileSync(path.join(this.folder, name), 'utf8');
  }

  write(name, text) {
    writeFileSync(path.join(this.folder, name), text);
  }

  async openFile(name) {
    await until(async () => {
      // a file that was just written may be missing from a first list
      await this.page.keyboard.press('Escape');
      await this.page.keyboard.press('Control+P');
      await this.page.locator('.quick-input-widget input').fill(name);
      await this.page
        .locator('.quick-input-list .monaco-list-row', { hasText: name })
        .first()
        .waitFor({ timeout: 10_000 });
    });
    await this.page.keyboard.press('Enter');
    await this.page.locator('.tab.active', { hasText: name }).waitFor();
  }

  async save() {
    await this.page.keyboard.press('Control+S');
    await this.page.locator('.tab.active.dirty').waitFor({ state: 'detached' });
  }

  // ---- the editor

  /** The lines that show, by number: text, hints with it, and the marker in the gutter. */
  lines() {
    return this.page
      .locator('.editor-group-container.active .monaco-editor')
      .first()
      .evaluate((editor) => {
        const top = (element) => parseFloat(element.style.top);
        const find = (selector) =>
          new Map([...editor.querySelectorAll(selector)].map((element) => [top(element), element]));
        const texts = find('.view-lines > .view-line');
        const glyphs = find('.glyph-margin-widgets > .cgmr');
        const lines = {};
        for (const number of editor.querySelectorAll('.margin-view-overlays .line-numbers')) {
          const at = top(number.parentElement);
          const picture = glyphs.has(at) ? getComputedStyle(glyphs.get(at)).backgroundImage : '';
          const svg = /base64,([^"]+)/.exec(picture);
          const title = svg && /<title>time (\d) memory (\d)( stale)?( called)?/.exec(atob(svg[1]));
          lines[Number(number.textContent)] = {
            text: (texts.get(at)?.textContent ?? '').replaceAll('\u00a0', ' '),
            marker: title && {
              time: Number(title[1]),
              memory: Number(title[2]),
              stale: title[3] !== undefined,
              called: title[4] !== undefined,
            },
          };
        }
        return lines;
      });
  }

  async lineWith(text) {
    const found = Object.entries(await this.lines()).find(([, line]) => line.text.includes(text));
    return found === undefined ? null : { number: Number(found[0]), ...found[1] };
  }

  async markers() {
    return Object.values(await this.lines()).flatMap(({ marker }) => (marker ? [marker] : []));
  }

  /** Puts the cursor before the text. */
  async goTo(what) {
    const { number, text } = await this.lineWith(what);
    await this.focusEditor();
    await this.page.keyboard.press('Control+G');
    const input = this.page.locator('.quick-input-widget input');
    await input.fill(`:${number}:${text.indexOf(what) + 1}`);
    await this.page.keyboard.press('Enter');
    await input.waitFor({ state: 'hidden' });
  }

  /** Replaces text on one line, as typing does. */
  async replace(before, after) {
    await this.goTo(before);
    for (let i = 0; i < before.length; ++i) await this.page.keyboard.press('Shift+ArrowRight');
    await this.page.keyboard.insertText(after);
  }

  async focusEditor() {
    await this.page.keyboard.press('Control+1');
    await this.page.locator('.editor-group-container.active .monaco-editor.focused').waitFor();
  }

  async hover(text) {
    const word = this.page.locator('.editor-group-container.active .view-line span', { hasText: text }).last();
    const box = await word.boundingBox();
    await this.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 4 });
    return this.page.locator('.monaco-hover:not(.hidden)', { hasText: '%' }).first();
  }

  /** Hovers over a row of the view until the line with that text is marked in the editor. */
  async hoverMarks(row, text) {
    const marked = this.page.locator('.view-overlays .cdr[class*="ced-"]').first();
    const line = this.page.locator('.view-line', { hasText: text });
    await until(async () => {
      await this.page.mouse.move(0, 0); // what is drawn anew below a pointer that rests may not be entered
      await row.hover();
      const [mark, box] = await Promise.all([
        marked.boundingBox({ timeout: 2000 }),
        line.boundingBox({ timeout: 2000 }),
      ]);
      assert.ok(Math.abs(mark.y - box.y) <= 2, `${text} is marked`);
    });
  }

  lens(text) {
    return this.page.locator('.codelens-decoration a', { hasText: text });
  }

  // ---- the window

  async command(title) {
    await this.page.keyboard.press('F1');
    await this.page.locator('.quick-input-widget input').fill(`>${title}`);
    await this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().click();
  }

  get status() {
    return this.page.locator('.statusbar-item[id$="ridgeline.status"]');
  }

  notification(text) {
    return this.page.locator('.notifications-toasts .notification-list-item', { hasText: text });
  }

  /** Profiles the file in the editor by its lens, and waits for the figures. */
  async profile() {
    await this.lens('Profile').click();
    await this.lens('samples/s').waitFor();
    await this.lens('Profile').waitFor(); // the first figures are there before the profile has ended
  }

  // ---- the Ridgeline view

  /** The webview's document. */
  get view() {
    return this.page.frameLocator('iframe.webview.ready[src*="extensionId=ridgeline."]').frameLocator('#active-frame');
  }

  /** The document of the report's tab. */
  get reportPage() {
    return this.page
      .locator('iframe.webview.ready:not([src*="purpose=webviewView"])')
      .contentFrame()
      .locator('#active-frame')
      .contentFrame();
  }

  async openView() {
    await this.command('Ridgeline: Open View');
    await this.view.locator('main').waitFor();
  }

  async resizeSideBar(width) {
    const { x, width: now } = await this.page.locator('.part.sidebar').boundingBox();
    await this.page.mouse.move(x + now, 500);
    await this.page.mouse.down();
    await this.page.mouse.move(x + width, 500, { steps: 4 });
    await this.page.mouse.up();
  }
}
