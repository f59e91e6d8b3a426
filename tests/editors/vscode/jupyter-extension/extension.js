/** The command opens the code cells of the active notebook as a Python file that is not saved. */
const vscode = require('vscode');

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand('jupyter.exportAsPythonScript', async () => {
      const cells = vscode.window.activeNotebookEditor.notebook.getCells();
      const content = cells.map((cell) => cell.document.getText()).join('\n');
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: 'python', content }));
    }),
  );
};
