/** Writes an entry point for a model class of the user's choice; what its input looks like is left to fill in. */
import * as path from 'node:path';
import * as vscode from 'vscode';

interface ModelClass {
  name: string;
  file: vscode.Uri;
  line: number;
}

const fileLimit = 2000;

export async function writeEntryPoint(): Promise<void> {
  const found = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: 'Looking for model classes' }, findModels);
  if (found.length === 0) {
    void vscode.window.showInformationMessage('No class of this workspace names Module among its bases.');
    return;
  }
  const items = found.map((model) => ({ label: `$(symbol-class) ${model.name}`, description: `${vscode.workspace.asRelativePath(model.file)}:${model.line + 1}`, model }));
  const choice = await vscode.window.showQuickPick(items, { title: 'Write an entry point', placeHolder: 'Which class is the model?', matchOnDescription: true });
  if (choice === undefined) return;
  const { name, file } = choice.model;
  const target = await freeName(vscode.Uri.joinPath(file, '..'));
  const edit = new vscode.WorkspaceEdit();
  edit.createFile(target, { contents: Buffer.from(entryPointFor(name, path.basename(file.fsPath, '.py'))) });
  if (!(await vscode.workspace.applyEdit(edit))) {
    void vscode.window.showErrorMessage(`${vscode.workspace.asRelativePath(target)} could not be written. Is the folder read-only?`);
    return;
  }
  const document = await vscode.workspace.openTextDocument(target);
  const line = document.getText().split('\n').findIndex((text) => text.includes('TODO'));
  await vscode.window.showTextDocument(document, { selection: document.lineAt(Math.max(line, 0)).range });
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

function entryPointFor(name: string, module: string): string {
  return `"""What Ridgeline profiles: the model, its input, and one iteration of the training."""

import torch
from torch import nn

from ${module} import ${name}


def device():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def model_provider():
    return ${name}().to(device())


def input_provider(batch_size=32):
    # TODO: the shapes of your own data
    images = torch.randn(batch_size, 3, 224, 224)
    labels = torch.randint(10, (batch_size,))
    return images.to(device()), labels.to(device())


def iteration_provider(model):
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def iteration(images, labels):
        optimizer.zero_grad()
        loss_function(model(images), labels).backward()
        optimizer.step()

    return iteration
`;
}
