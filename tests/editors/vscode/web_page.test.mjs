/** What a web page can do to a daemon that listens on a port of its user's machine: nothing. Here, because here is a browser. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launchBrowser, root, until } from './workbench.mjs';

const framed = (message) => {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  return `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
};
const initialize = (id) =>
  framed({ id, method: 'initialize', params: { processId: null, rootUri: null, capabilities: {} } });

let folder,
  token,
  daemon,
  port,
  log = '',
  web,
  browser,
  page;

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'web-'));
  token = path.join(folder, 'token');
  daemon = spawn(path.join(root, 'build/bin/ridgeline'), ['serve', '--socket=0', `--token-file=${token}`]);
  port = await new Promise((done, fail) => {
    daemon.once('exit', (code) => fail(new Error(`the daemon ended with ${code}: ${log}`)));
    daemon.stderr.on('data', (words) => {
      log += words;
      const match = /listening on 127\.0\.0\.1:(\d+); .*\n/.exec(log);
      if (match) done(match[1]);
    });
  });
  web = createServer((request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>a page</title>'),
  );
  await new Promise((done) => web.listen(0, '127.0.0.1', done));
  browser = await launchBrowser('--host-resolver-rules=MAP *.test 127.0.0.1'); // as a name that is bound anew to this machine
  page = await browser.newPage();
  await page.goto(`http://page.test:${web.address().port}/`);
});

after(async () => {
  await browser?.close();
  web?.close();
  daemon?.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** Whether a request of the page is answered by anybody at all; what the answer says, the page may not be let know. */
const answered = (url, options) =>
  page.evaluate(
    async ([url, options]) => {
      try {
        await fetch(url, { mode: 'no-cors', ...options });
        return true;
      } catch {
        return false;
      }
    },
    [url, options],
  );

/** What a client that has the token is told: the daemon serves it, and knows of no session before. */
function served() {
  return new Promise((done, fail) => {
    const socket = connect(Number(port), '127.0.0.1', () =>
      socket.write(
        framed({ id: 1, method: 'ridgeline/authenticate', params: { token: readFileSync(token, 'utf8').trim() } }) +
          initialize(2),
      ),
    );
    let words = '';
    socket.on('error', fail).on('data', (data) => {
      words += data;
      if (words.includes('"serverInfo"')) socket.end(() => done(words));
    });
  });
}

const messages = initialize(1) + framed({ method: 'initialized', params: {} });
for (const host of ['127.0.0.1', 'localhost', 'rebound.test']) {
  test(`a page is not answered by ${host}`, async () => {
    const own = `http://${host === '127.0.0.1' ? host : 'page.test'}:${web.address().port}/`;
    assert.equal(await answered(own), true, 'where somebody listens, it is answered');
    const url = `http://${host}:${port}/`;
    for (const options of [
      {},
      { method: 'POST', body: messages },
      { method: 'POST', body: messages, headers: { 'content-type': 'text/plain' } },
      { method: 'POST', body: messages, keepalive: true },
    ])
      assert.equal(await answered(url, options), false, JSON.stringify(options));
    assert.equal(
      await page.evaluate(
        (url) =>
          new Promise((done) => {
            const socket = new WebSocket(url);
            socket.onopen = () => done('open');
            socket.onerror = () => done('refused');
          }, url),
        `ws://${host}:${port}/`,
      ),
      'refused',
    );
    const refused = page.waitForEvent('requestfailed', {
      predicate: (request) => request.isNavigationRequest(),
      timeout: 30_000,
    });
    await page.evaluate(
      ([url, body]) => {
        const form = Object.assign(document.createElement('form'), {
          method: 'POST',
          action: url,
          enctype: 'text/plain',
          target: 'answer',
        });
        form.append(
          Object.assign(document.createElement('textarea'), { name: 'Content-Length: 5\r\n\r\n', value: body }),
        );
        document.body.append(Object.assign(document.createElement('iframe'), { name: 'answer' }), form);
        form.submit();
      },
      [url, messages],
    );
    assert.equal((await refused).url(), url);
  });
}

test('afterwards it serves who has the token, and has served nobody before', async () => {
  assert.equal(daemon.exitCode, null);
  assert.match(await served(), /"id":2/);
  await until(async () => assert.equal(log.match(/session \d+: a client/g)?.length ?? 0, 1, log)); // it logs after it answers
});
