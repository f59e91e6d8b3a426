/** A machine to profile on: a real sshd, with the built agents of the folder `agents`; `drop()` breaks its connections. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { root } from './workbench.mjs';

export async function anotherMachine(t, agents) {
  const machine = spawn(path.join(root, '.venv/bin/python'), [path.join(root, 'tests/remote/sshd.py'), agents], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => new Promise((resolve) => machine.once('exit', resolve).stdin.end()));
  const [said] = await once(createInterface(machine.stdout), 'line');
  return { ...JSON.parse(said), drop: () => machine.stdin.write('drop\n') };
}
