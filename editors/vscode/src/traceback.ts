/** The last failure: its traceback as a document, and a light bulb at its line that leads there. */
import * as vscode from 'vscode';
import type { Failure } from './protocol';

const scheme = 'ridgeline-traceback';
const uri = vscode.Uri.parse(`${scheme}:Traceback`);
let text = '';
const changed = new vscode.EventEmitter<vscode.Uri>();

export async function showTraceback(failure: Failure): Promise<void> {
  const frames = failure.frames.flatMap((frame) => [
    `  File "${frame.file}", line ${frame.line}, in ${frame.function || '<module>'}`,
    ...(frame.text === '' ? [] : [`    ${frame.text}`]),
  ]);
  text = [
    ...(frames.length > 0 ? ['Traceback (most recent call last):', ...frames] : []),
    failure.message,
    '',
    `kind: ${failure.kind}   stage: ${failure.stage}`,
    ...(failure.output === '' ? [] : ['', 'Last output of the process:', failure.output]),
  ].join('\n');
  changed.fire(uri);
  await vscode.window.showTextDocument(uri, { preview: true });
}

/** Goes to the innermost line of the user's own code. */
export async function goToFailure(failure: Failure): Promise<void> {
  const inWorkspace = failure.frames.filter(
    (frame) => frame.line > 0 && vscode.workspace.getWorkspaceFolder(vscode.Uri.file(frame.file)),
  );
  const frame = inWorkspace.at(-1);
  if (frame === undefined) return showTraceback(failure);
  const line = frame.line - 1;
  await vscode.window.showTextDocument(vscode.Uri.file(frame.file), { selection: new vscode.Range(line, 0, line, 0) });
}

export function registerTraceback(): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.workspace.registerTextDocumentContentProvider(scheme, {
      onDidChange: changed.event,
      provideTextDocumentContent: () => text,
    }),
    vscode.languages.registerCodeActionsProvider(
      { language: 'python' },
      {
        provideCodeActions: (_document, _range, { diagnostics }) =>
          diagnostics
            .filter(({ source, severity }) => source === 'ridgeline' && severity === vscode.DiagnosticSeverity.Error)
            .map((diagnostic) => {
              const action = new vscode.CodeAction('Show the traceback', vscode.CodeActionKind.QuickFix);
              action.diagnostics = [diagnostic];
              action.command = { title: action.title, command: 'ridgeline.showTraceback' };
              return action;
            }),
      },
    ),
  );
}
