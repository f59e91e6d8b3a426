/** The first interpreter has no torch; the command selects the one in RIDGELINE_TEST_PYTHON. */
const vscode = require('vscode');

exports.activate = (context) => {
  const changed = new vscode.EventEmitter();
  let path = process.env.RIDGELINE_TEST_PYTHON_WITHOUT_TORCH;
  context.subscriptions.push(
    changed,
    vscode.commands.registerCommand('python.setInterpreter', () => {
      path = process.env.RIDGELINE_TEST_PYTHON;
      changed.fire({ path, resource: undefined });
    }),
  );
  return {
    ready: Promise.resolve(),
    environments: {
      getActiveEnvironmentPath: () => ({ id: path, path }),
      resolveEnvironment: async (environment) => ({ executable: { uri: vscode.Uri.file(environment.path) } }),
      onDidChangeActiveEnvironmentPath: changed.event,
    },
  };
};
