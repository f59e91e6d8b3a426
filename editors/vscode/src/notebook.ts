/** Notebooks are not profiled: what to do with one instead. */
import * as vscode from 'vscode';
import { viewCommands } from './messages';
import { showInformation } from './notify';

/** The notebook in the active editor. */
export function activeNotebook(): vscode.NotebookDocument | undefined {
  return vscode.window.activeNotebookEditor?.notebook;
}

/** Whether the Jupyter extension, or another in its place, can export the active notebook. */
export async function canExport(): Promise<boolean> {
  return (await vscode.commands.getCommands(true)).includes(viewCommands.export);
}

export async function explainNotebook({ uri }: vscode.NotebookDocument): Promise<void> {
  const [exportIt, writeEntryPoint] = ['Export as Python Script', 'Write Entry Point'];
  const choice = await showInformation(
    `${vscode.workspace.asRelativePath(uri)} is a notebook, and notebooks are not profiled. Export it as a Python script (Export in its toolbar, or \`jupyter nbconvert --to script\`), then write an entry point for its model class.`,
    ...((await canExport()) ? [exportIt] : []),
    writeEntryPoint,
  );
  if (choice === exportIt) await vscode.commands.executeCommand(viewCommands.export);
  if (choice === writeEntryPoint) await vscode.commands.executeCommand(viewCommands.entryPoint);
}
