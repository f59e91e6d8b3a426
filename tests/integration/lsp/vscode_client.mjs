// vscode_client.mjs TRANSPORT COMMAND...: one session with VS Code's own client library (vscode-jsonrpc and
// vscode-languageserver-protocol), with the server started by COMMAND as vscode-languageclient starts it. TRANSPORT is
// stdio, pipe or socket: for the last two the client listens. Prints what it saw, as JSON.
import { spawn } from 'node:child_process';
import net from 'node:net';
import {
  CancellationTokenSource,
  createClientPipeTransport,
  createClientSocketTransport,
  createProtocolConnection,
  ConfigurationRequest,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ExitNotification,
  generateRandomPipeName,
  HoverRequest,
  InitializedNotification,
  InitializeRequest,
  RegistrationRequest,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver-protocol/node';

const [transport, program, ...options] = process.argv.slice(2);
const uri = 'file:///project/entry.py';

async function freePort() {
  const server = net.createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Starts the server; its process, and its two streams of messages. */
async function start() {
  const run = (extra, stdio) => spawn(program, [...options, ...extra], { stdio });
  if (transport === 'stdio') {
    const server = run(['--stdio'], ['pipe', 'pipe', 'inherit']);
    return [server, new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin)];
  }
  const place = transport === 'pipe' ? generateRandomPipeName() : await freePort();
  const listening = await (transport === 'pipe'
    ? createClientPipeTransport(place)
    : createClientSocketTransport(place));
  const server = run([`--${transport}=${place}`, `--clientProcessId=${process.pid}`], ['ignore', 'inherit', 'inherit']);
  return [server, ...(await listening.onConnected())];
}

async function refusal(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return error.code;
  }
}

const [server, reader, writer] = await start();
const ended = new Promise((done) => server.on('exit', done));
const connection = createProtocolConnection(reader, writer);
const seen = { registered: [], asked: [] };
connection.onRequest(RegistrationRequest.type, ({ registrations }) => {
  seen.registered.push(...registrations.map(({ method }) => method));
});
connection.onRequest(ConfigurationRequest.type, ({ items }) => {
  seen.asked.push(...items.map(({ section }) => section));
  return items.map(() => ({}));
});
connection.listen();

const { serverInfo, capabilities } = await connection.sendRequest(InitializeRequest.type, {
  processId: process.pid,
  rootUri: 'file:///project',
  workspaceFolders: [{ uri: 'file:///project', name: 'project' }],
  capabilities: {
    general: { positionEncodings: ['utf-16'] },
    workspace: { configuration: true, workspaceFolders: true, didChangeConfiguration: { dynamicRegistration: true } },
  },
});
seen.server = serverInfo.name;
seen.encoding = capabilities.positionEncoding;
seen.second = await refusal(connection.sendRequest('initialize', { processId: null, rootUri: null, capabilities: {} }));
await connection.sendNotification(InitializedNotification.type, {});
await connection.sendNotification(DidOpenTextDocumentNotification.type, {
  textDocument: { uri, languageId: 'python', version: 1, text: "a = '😀'\r\n" },
});
await connection.sendNotification(DidChangeTextDocumentNotification.type, {
  textDocument: { uri, version: 2 },
  contentChanges: [{ range: { start: { line: 0, character: 7 }, end: { line: 0, character: 7 } }, text: '!' }],
});
const cancelled = new CancellationTokenSource();
const hover = connection.sendRequest(
  HoverRequest.type,
  { textDocument: { uri }, position: { line: 0, character: 0 } },
  cancelled.token,
);
cancelled.cancel();
await hover.catch(() => null);
seen.unknown = await refusal(connection.sendRequest('no/such', {}));
await connection.sendRequest(ShutdownRequest.type);
seen.late = await refusal(connection.sendRequest('no/such', {}));
await connection.sendNotification(ExitNotification.type);
seen.code = await ended;
connection.dispose();
console.log(JSON.stringify(seen));
process.exit(0);
