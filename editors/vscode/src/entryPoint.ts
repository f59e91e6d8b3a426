/** Writes an entry point: from the training script in the editor or, without one, for a model class of the user's choice. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import { inert } from './inert';
import { showError, showInformation } from './notify';

interface ModelClass {
  name: string;
  file: vscode.Uri;
  line: number;
}

const fileLimit = 2000;

/** `template` has the placeholders {name} and {module}, of the class. Without `from`: the file in the editor. */
export async function writeEntryPoint(daemon: Daemon, template: vscode.Uri, from?: vscode.Uri): Promise<void> {
  const script = from === undefined ? vscode.window.activeTextEditor?.document : await vscode.workspace.openTextDocument(from);
  if (script?.languageId === 'python') {
    const written = await daemon.request('ridgeline/entryPoint', { textDocument: { uri: script.uri.toString() } }).catch(() => undefined);
    if (written !== undefined) return createFile(vscode.Uri.joinPath(script.uri, '..', written.fileName), written.text);
  }
  const found = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: 'Looking for model classes' }, findModels);
  if (found.length === 0) {
    void showInformation('No model class was found: no class of this workspace has Module as a base.');
    return;
  }
  const items = found.map((model) => ({ label: `$(symbol-class) ${model.name}`, description: inert(`${vscode.workspace.asRelativePath(model.file)}:${model.line + 1}`), model }));
  const choice = await vscode.window.showQuickPick(items, { title: 'Write an entry point', placeHolder: 'Which class is the model?', matchOnDescription: true });
  if (choice === undefined) return;
  const { name, file } = choice.model;
  const target = await freeName(vscode.Uri.joinPath(file, '..'));
  const source = Buffer.from(await vscode.workspace.fs.readFile(template)).toString();
  const text = source.replaceAll('{name}', name).replaceAll('{module}', path.basename(file.fsPath, '.py'));
  await createFile(target, text);
}

/** Creates a file and opens it, with the first line that is to be filled in or was guessed, if there is one, selected. */
async function createFile(target: vscode.Uri, text: string): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(target, { contents: Buffer.from(text) });
  if (!(await vscode.workspace.applyEdit(edit))) {
    void showError(`${vscode.workspace.asRelativePath(target)} could not be written. Is the folder read-only?`);
    return;
  }
  const document = await vscode.workspace.openTextDocument(target);
  const lines = document.getText().split('\n');
  const line = ['TODO', '# guessed'].map((mark) => lines.findIndex((text) => text.includes(mark))).find((index) => index >= 0);
  await vscode.window.showTextDocument(document, line === undefined ? {} : { selection: document.lineAt(line).range });
}

async function findModels(): Promise<ModelClass[]> {
  const files = await vscode.workspace.findFiles('**/*.py', '**/{.venv,venv,site-packages,node_modules,build,__pycache__}/**', fileLimit);
  const models = await Promise.all(files.map(async (file) => modelsIn(file, Buffer.from(await vscode.workspace.fs.readFile(file)).toString())));
  return models.flat().sort((a, b) => a.name.localeCompare(b.name));
}

/** Classes at the top level with a base that is called Module, or ends so: `nn.Module`, `LightningModule`. */
function modelsIn(file: vscode.Uri, text: string): ModelClass[] {
  return [...text.matchAll(/^class\s+(\w+)\s*\(([^)]*)\)\s*:/gm)]
    .filter(([, , bases]) => /Module\b/.test(bases ?? ''))
    .map((match) => ({ name: match[1]!, file, line: text.slice(0, match.index).split('\n').length - 1 }));
}

async function freeName(folder: vscode.Uri): Promise<vscode.Uri> {
  for (let i = 1; ; ++i) {
    const uri = vscode.Uri.joinPath(folder, i === 1 ? 'entry.py' : `entry_${i}.py`);
    try {
      await vscode.workspace.fs.stat(uri);
    } catch {
      return uri;
    }
  }
}
