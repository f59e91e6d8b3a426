/** The interpreters of this machine that a project may use, to choose from: files are looked for, none is run. */
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';

const another = 'Another…';
const mostFolders = 200;
/** Folders of environments, each in a folder of its own, below the home folder. */
const environments = ['.virtualenvs', '.pyenv/versions', 'miniconda3/envs', 'miniforge3/envs', 'anaconda3/envs'];

/** The path of the one that the user chooses; those that have torch come first. Undefined: none. */
export async function chooseInterpreter(file: vscode.Uri): Promise<string | undefined> {
  const found = interpretersFor(file).map((program) => ({
    label: program,
    hasTorch: hasTorch(program),
  }));
  found.sort((a, b) => Number(b.hasTorch) - Number(a.hasTorch));
  const items = found.map(({ label, hasTorch }) => ({
    label,
    description: hasTorch ? 'has torch' : 'without torch',
  }));
  const chosen = await vscode.window.showQuickPick([...items, { label: another, description: 'from a folder' }], {
    title: 'Select Interpreter',
    placeHolder: 'The Python interpreter that runs your code',
  });
  if (chosen?.label !== another) return chosen?.label;
  return (await vscode.window.showOpenDialog({ title: 'Select Interpreter' }))?.[0]?.fsPath;
}

/** Of the folders around the file, up to the workspace's, then of the user's environments, then of the PATH. */
function interpretersFor(file: vscode.Uri): string[] {
  const root = vscode.workspace.getWorkspaceFolder(file)?.uri.fsPath ?? path.dirname(file.fsPath);
  const folders = [path.dirname(file.fsPath)];
  for (let last = folders[0]; last !== undefined && last.startsWith(`${root}${path.sep}`); last = folders.at(-1))
    folders.push(path.dirname(last));
  const prefixes = [
    ...folders.flatMap(foldersIn).filter((folder) => existsSync(path.join(folder, 'pyvenv.cfg'))),
    ...[process.env.VIRTUAL_ENV, process.env.CONDA_PREFIX].filter((prefix) => prefix !== undefined),
    ...environments.flatMap((name) => foldersIn(path.join(homedir(), name))),
  ];
  const programs = [
    ...prefixes.map((prefix) => path.join(prefix, 'bin/python')),
    ...(process.env.PATH ?? '').split(path.delimiter).flatMap((folder) => path.join(folder, 'python3')),
  ];
  return [...new Set(programs)].filter((program) => existsSync(program));
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
    return folders.slice(0, mostFolders).map(({ name }) => path.join(folder, name));
  } catch {
    return []; // there is none
  }
}

function hasTorch(program: string): boolean {
  const lib = path.join(path.dirname(program), '../lib');
  return foldersIn(lib).some((folder) => existsSync(path.join(folder, 'site-packages/torch')));
}
