/** Writes an entry point: from the training script in the editor or, without one, for a model class of the user's choice. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import { classesIn, modelsOf, type PythonClass } from './modelClasses';
import { showError, showInformation } from './notify';
import { sanitizeText } from './sanitizeText';

type ModelClass = PythonClass & { file: vscode.Uri };

const fileLimit = 2000;

/** `template` has the placeholders {name} and {module}, of the class. Without `from`: the file in the editor. */
export async function writeEntryPoint(daemon: Daemon, template: vscode.Uri, from?: vscode.Uri): Promise<void> {
  const script =
    from === undefined ? vscode.window.activeTextEditor?.document : await vscode.workspace.openTextDocument(from);
  if (script?.languageId === 'python') {
    const written = await daemon
      .request('ridgeline/entryPoint', { textDocument: { uri: script.uri.toString() } })
      .catch(() => undefined);
    if (written !== undefined) return createFile(vscode.Uri.joinPath(script.uri, '..', written.fileName), written.text);
  }
  const found = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: 'Looking for model classes' },
    findModels,
  );
  if (found.length === 0) {
    void showInformation(
      'No model class was found: no class of this workspace is derived from Module or PreTrainedModel.',
    );
    return;
  }
  const items = found.map((model) => ({
    label: `$(symbol-class) ${model.name}`,
    description: sanitizeText(`${vscode.workspace.asRelativePath(model.file)}:${model.line + 1}`),
    model,
  }));
  const choice = await vscode.window.showQuickPick(items, {
    title: 'Write an entry point',
    placeHolder: 'Which class is the model?',
    matchOnDescription: true,
  });
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
  const line = ['TODO', '# guessed']
    .map((mark) => lines.findIndex((text) => text.includes(mark)))
    .find((index) => index >= 0);
  await vscode.window.showTextDocument(document, line === undefined ? {} : { selection: document.lineAt(line).range });
}

async function findModels(): Promise<ModelClass[]> {
  const files = await vscode.workspace.findFiles(
    '**/*.py',
    '**/{.venv,venv,site-packages,node_modules,build,__pycache__}/**',
    fileLimit,
  );
  const classes = await Promise.all(
    files.map(async (file) =>
      classesIn(Buffer.from(await vscode.workspace.fs.readFile(file)).toString()).map((one) => ({ ...one, file })),
    ),
  );
  return modelsOf(classes.flat()).sort((a, b) => a.name.localeCompare(b.name));
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
