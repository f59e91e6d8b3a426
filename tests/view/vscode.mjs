/**
 * What the extension uses of the module `vscode`, without an editor: documents with an undo stack, editors with their
 * decorations, settings, commands, messages. Nothing is drawn. `ui` is what a user would see of it and do in it.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

// ---- values

export class Disposable {
  constructor(dispose) {
    this.dispose = dispose;
  }

  static from(...all) {
    return new Disposable(() => all.forEach((one) => one.dispose()));
  }
}

export class EventEmitter {
  listeners = new Set();
  event = (listener) => {
    this.listeners.add(listener);
    return new Disposable(() => this.listeners.delete(listener));
  };

  fire(value) {
    for (const listener of [...this.listeners]) listener(value);
  }

  dispose() {
    this.listeners.clear();
  }
}

export class Uri {
  constructor(scheme, path, fragment = '') {
    Object.assign(this, { scheme, path, fragment });
  }

  static file = (file) => new Uri('file', file);
  static from = ({ scheme, path }) => new Uri(scheme, path);
  static joinPath = (uri, ...parts) => new Uri(uri.scheme, path.join(uri.path, ...parts));
  static parse(text) {
    if (text.startsWith('file:')) return Uri.file(fileURLToPath(text));
    const [, scheme, rest] = /^([\w-]+):(.*)$/s.exec(text);
    return new Uri(scheme, rest);
  }

  get fsPath() {
    return this.path;
  }

  with = ({ fragment }) => new Uri(this.scheme, this.path, fragment);
  toString = () => (this.scheme === 'file' ? pathToFileURL(this.path).href : `${this.scheme}:${this.path}`);
}

export class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

export class Range {
  constructor(...ends) {
    const [start, end] = ends.length === 4 ? [new Position(ends[0], ends[1]), new Position(ends[2], ends[3])] : ends;
    Object.assign(this, { start, end });
  }
}

export class MarkdownString {
  value = '';
  appendText(text) {
    this.value += text;
    return this;
  }
}

export class InlayHint {
  constructor(position, label) {
    Object.assign(this, { position, label });
  }
}

export class ThemeColor {
  constructor(id) {
    this.id = id;
  }
}

export class CodeAction {
  constructor(title, kind) {
    Object.assign(this, { title, kind });
  }
}

export class DocumentLink {
  constructor(range, target) {
    Object.assign(this, { range, target });
  }
}

export class WorkspaceEdit {
  files = [];
  createFile(uri, { contents }) {
    this.files.push({ uri, contents });
  }
}

export class CancellationTokenSource {
  requested = new EventEmitter();
  token = { isCancellationRequested: false, onCancellationRequested: this.requested.event };
  cancel() {
    if (this.token.isCancellationRequested) return;
    this.token.isCancellationRequested = true;
    this.requested.fire();
  }

  dispose() {
    this.requested.dispose();
  }
}

export const ViewColumn = { One: 1 };
export const ConfigurationTarget = { Global: 1, Workspace: 2, WorkspaceFolder: 3 };
export const ColorThemeKind = { Light: 1, Dark: 2, HighContrast: 3, HighContrastLight: 4 };
export const DecorationRangeBehavior = { OpenClosed: 2 };
export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 };
export const CodeActionKind = { QuickFix: 'quickfix' };
export const StatusBarAlignment = { Left: 1 };
export const ProgressLocation = { Window: 10, Notification: 15 };
export const TextEditorRevealType = { InCenterIfOutsideViewport: 2 };

// ---- documents

const events = Object.fromEntries(
  [
    'opened',
    'changed',
    'saved',
    'closed',
    'written',
    'active',
    'visible',
    'selection',
    'configuration',
    'trusted',
    'other',
  ].map((name) => [name, new EventEmitter()]),
);

class TextDocument {
  version = 1;
  isDirty = false;
  before = [];
  undone = [];

  constructor(uri, text) {
    Object.assign(this, { uri, text, languageId: uri.path.endsWith('.py') ? 'python' : 'plaintext' });
  }

  getText = () => this.text;
  get lines() {
    return this.text.split('\n');
  }

  get lineCount() {
    return this.lines.length;
  }

  lineAt(line) {
    const text = this.lines[line];
    return { text, range: new Range(line, 0, line, text.length) };
  }

  offsetAt = ({ line, character }) =>
    this.lines.slice(0, line).reduce((sum, one) => sum + one.length + 1, 0) + character;

  positionAt(offset) {
    const before = this.text.slice(0, offset).split('\n');
    return new Position(before.length - 1, before.at(-1).length);
  }

  /** One step for undo. */
  edit(text) {
    this.before.push(this.text);
    this.undone = [];
    this.become(text);
  }

  undo() {
    if (this.before.length === 0) return;
    this.undone.push(this.text);
    this.become(this.before.pop());
  }

  redo() {
    if (this.undone.length === 0) return;
    this.before.push(this.text);
    this.become(this.undone.pop());
  }

  become(text, isDirty = true) {
    this.text = text;
    this.isDirty = isDirty;
    ++this.version;
    events.changed.fire({ document: this, contentChanges: [{ text }] });
  }

  async save() {
    writeFileSync(this.uri.fsPath, this.text);
    this.isDirty = false;
    events.saved.fire(this);
    events.written.fire(this.uri);
  }
}

class TextEditor {
  decorations = new Map();
  revealed = null;
  selection = new Range(0, 0, 0, 0);

  constructor(document) {
    this.document = document;
  }

  setDecorations(type, ranges) {
    this.decorations.set(
      type,
      ranges.map((one) => (one instanceof Range ? { range: one } : one)),
    );
  }

  revealRange(range) {
    this.revealed = range;
  }

  async edit(build) {
    const edits = [];
    build({
      replace: (range, text) =>
        edits.push([this.document.offsetAt(range.start), this.document.offsetAt(range.end), text]),
    });
    let text = this.document.getText();
    for (const [start, end, replacement] of edits.toSorted((a, b) => b[0] - a[0]))
      text = text.slice(0, start) + replacement + text.slice(end);
    this.document.edit(text);
    return true;
  }
}

const documents = [];
const contents = new Map(); // providers of texts, by scheme
const viewed = []; // editors, the last one in front; one of them at a time is visible

async function openDocument(uri) {
  const open = documents.find((one) => one.uri.toString() === uri.toString());
  if (open !== undefined) return open;
  const text =
    uri.scheme === 'file'
      ? readFileSync(uri.fsPath, 'utf8')
      : await contents.get(uri.scheme).provideTextDocumentContent(uri);
  const document = new TextDocument(uri, text);
  documents.push(document);
  events.opened.fire(document);
  return document;
}

// ---- the user's side

/** What a user sees and does. */
export const ui = {
  events,
  documents,
  folder: '',
  settings: {},
  trusted: true,
  messages: [],
  posted: [],
  ran: [],
  statusItem: null,
  view: null,
  /** Commands that VS Code or another extension has. */
  foreign: [],
  /** Answers of the user to questions for a text or a file. */
  answers: [],
  get editor() {
    return viewed.at(-1);
  },
  set(settings) {
    this.settings = settings;
    events.configuration.fire({
      affectsConfiguration: (section) =>
        Object.keys(settings).some((name) => name.startsWith(section)) || section === 'ridgeline',
    });
  },
  /** What was written outside of the editor shows, unless its text was edited. */
  write(file, text) {
    writeFileSync(file, text);
    const document = documents.find(({ uri }) => uri.fsPath === file);
    if (document !== undefined && !document.isDirty) document.become(text, false);
    events.written.fire(Uri.file(file));
  },
};

// ---- the module

function settingsOf(section = '') {
  const named = (name) => (section === '' ? name : `${section}.${name}`);
  return {
    get: (name, otherwise) => ui.settings[named(name)] ?? otherwise,
    update: async (name, value) => ui.set({ ...ui.settings, [named(name)]: value }),
  };
}

const relative = (uri) => {
  const file = typeof uri === 'string' ? uri : uri.fsPath;
  return file.startsWith(`${ui.folder}/`) ? file.slice(ui.folder.length + 1) : file;
};

export const workspace = {
  get isTrusted() {
    return ui.trusted;
  },
  get textDocuments() {
    return documents;
  },
  get workspaceFolders() {
    return [{ uri: Uri.file(ui.folder), name: path.basename(ui.folder), index: 0 }];
  },
  getConfiguration: settingsOf,
  asRelativePath: relative,
  getWorkspaceFolder: (uri) => (uri.fsPath.startsWith(`${ui.folder}/`) ? workspace.workspaceFolders[0] : undefined),
  openTextDocument: openDocument,
  registerTextDocumentContentProvider: (scheme, provider) => {
    contents.set(scheme, provider);
    provider.onDidChange?.(async (uri) => {
      const document = documents.find((one) => one.uri.toString() === uri.toString());
      if (document !== undefined) document.become(await provider.provideTextDocumentContent(uri), false);
    });
    return new Disposable(() => contents.delete(scheme));
  },
  findFiles: async (pattern) =>
    readdirSync(ui.folder, { recursive: true })
      .filter((name) => name.endsWith(path.extname(pattern)))
      .map((name) => Uri.file(path.join(ui.folder, name))),
  applyEdit: async ({ files }) => {
    for (const { uri, contents: bytes } of files) writeFileSync(uri.fsPath, bytes);
    return true;
  },
  fs: {
    stat: async ({ fsPath }) => {
      if (!existsSync(fsPath)) throw new Error(`${fsPath} does not exist`);
      return { size: statSync(fsPath).size, mtime: statSync(fsPath).mtimeMs };
    },
    readFile: async ({ fsPath }) => readFileSync(fsPath),
  },
  onDidChangeTextDocument: events.changed.event,
  onDidCloseTextDocument: events.closed.event,
  onDidChangeConfiguration: events.configuration.event,
  onDidGrantWorkspaceTrust: events.trusted.event,
};

const show =
  (severity) =>
  (text, ...actions) =>
    new Promise((resolve) => ui.messages.push({ severity, text, actions, choose: resolve }));
const channel = () => ({
  text: '',
  append(more) {
    this.text += more;
  },
  clear() {
    this.text = '';
  },
  show() {},
  dispose() {},
  info() {},
  warn() {},
  error() {},
  appendLine() {},
});
const answer = async () => {
  if (ui.answers.length === 0) throw new Error('the test has no answer to this question');
  return ui.answers.shift();
};

export const window = {
  get activeTextEditor() {
    return ui.editor;
  },
  get visibleTextEditors() {
    return viewed.slice(-1);
  },
  activeNotebookEditor: undefined,
  activeColorTheme: { kind: ColorThemeKind.Dark },
  async showTextDocument(what, { selection } = {}) {
    const document = what instanceof Uri ? await openDocument(what) : what;
    const at = viewed.findIndex((one) => one.document === document);
    const editor = at >= 0 ? viewed.splice(at, 1)[0] : new TextEditor(document);
    const isAnother = viewed.push(editor) === 1 || at !== viewed.length - 1;
    if (selection !== undefined) {
      editor.selection = selection;
      editor.revealed = selection;
      events.selection.fire({ textEditor: editor });
    }
    if (isAnother) {
      events.visible.fire(window.visibleTextEditors);
      events.active.fire(editor);
    }
    return editor;
  },
  createTextEditorDecorationType: (options) => ({
    options,
    dispose() {
      for (const editor of viewed) editor.decorations.delete(this);
    },
  }),
  createOutputChannel: channel,
  createStatusBarItem: () => (ui.statusItem = { text: '', tooltip: '', show() {}, dispose() {} }),
  registerWebviewViewProvider: (_id, provider) => {
    ui.view = provider;
    return new Disposable(() => undefined);
  },
  showErrorMessage: show('error'),
  showWarningMessage: show('warning'),
  showInformationMessage: show('information'),
  showInputBox: answer,
  showQuickPick: async (items) => {
    const wanted = await answer();
    return (await items).find(({ label }) => label.includes(wanted));
  },
  showOpenDialog: answer,
  setStatusBarMessage: (text) => ui.posted.push(text),
  withProgress: (_options, task) => task({ report() {} }, new CancellationTokenSource().token),
  onDidChangeActiveTextEditor: events.active.event,
  onDidChangeVisibleTextEditors: events.visible.event,
  onDidChangeTextEditorSelection: events.selection.event,
  onDidChangeActiveNotebookEditor: events.other.event,
  onDidChangeActiveColorTheme: events.other.event,
};

const registered = new Map();
export const commands = {
  registerCommand: (name, action) => {
    registered.set(name, action);
    return new Disposable(() => registered.delete(name));
  },
  getCommands: async () => [...registered.keys(), ...ui.foreign],
  async executeCommand(name, ...given) {
    if (name === 'setContext') return undefined;
    ui.ran.push([name, ...given]);
    if (name === 'undo') return ui.editor.document.undo();
    return registered.get(name)?.(...given);
  },
};

const nothing = () => new Disposable(() => undefined);
export const languages = { registerDocumentLinkProvider: nothing, registerCodeActionsProvider: nothing };
export const extensions = { getExtension: () => undefined, onDidChange: events.other.event };
export const env = { remoteName: undefined };
