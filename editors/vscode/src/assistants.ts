/** Offers the tools of `ridgeline mcp` to the editor's assistant, where it takes servers from extensions: VS Code 1.101. Seen
 * in 1.103, by hand: the tests run 1.100. */
import * as vscode from 'vscode';
import type { Daemon } from './daemon';

/** Newer than the types that this extension is built with. */
interface Assistants {
  readonly registerMcpServerDefinitionProvider?: (
    id: string,
    provider: { provideMcpServerDefinitions(): Promise<object[]> },
  ) => vscode.Disposable;
}
type StdioServer = new (
  label: string,
  command: string,
  args: string[],
  env: Record<string, string>,
  version: string,
) => object;

/** One server for each folder of a trusted workspace. None where the profiles are on another host. */
export function offerTools(daemon: Daemon, version: string): vscode.Disposable {
  const { lm, McpStdioServerDefinition } = vscode as unknown as {
    lm?: Assistants;
    McpStdioServerDefinition?: StdioServer;
  };
  const register = lm?.registerMcpServerDefinitionProvider;
  if (register === undefined || McpStdioServerDefinition === undefined) return new vscode.Disposable(() => undefined);
  const provider = {
    async provideMcpServerDefinitions() {
      const host = vscode.workspace.getConfiguration('ridgeline.server').get('ssh', '');
      if (!vscode.workspace.isTrusted || process.platform !== 'linux' || host !== '') return [];
      const program = await daemon.program();
      return (vscode.workspace.workspaceFolders ?? [])
        .filter((folder) => folder.uri.scheme === 'file')
        .map((folder) => {
          const args = ['mcp', '--project', folder.uri.fsPath];
          return new McpStdioServerDefinition(`Ridgeline: ${folder.name}`, program, args, {}, version);
        });
    },
  };
  try {
    return register.call(lm, 'ridgeline.tools', provider);
  } catch {
    return new vscode.Disposable(() => undefined); // VS Code 1.100 has it, and lets no extension use it
  }
}
