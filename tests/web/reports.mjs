/** Reports to open: the samples that the unit tests expect, changed as a test needs them, rendered by the real binary. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const binary = process.env.RIDGELINE_BINARY ?? path.join(root, 'build/bin/ridgeline');

export const sample = (name = 'sample') =>
  JSON.parse(readFileSync(path.join(root, `tests/data/report/${name}.json`), 'utf8'));

/** The report as `ridgeline report --format` writes it. `files`: the project's, by path, as they are today. */
export function rendered(folder, report, format, files = {}) {
  report.entry.projectRoot = path.join(folder, 'project');
  report.entry.path = path.join(folder, 'project/entry.py');
  report.id ??= '0123456789abcdef';
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(folder, 'project', name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const source = path.join(folder, 'report.json');
  const output = path.join(folder, `report.${format}`);
  writeFileSync(source, JSON.stringify(report));
  execFileSync(binary, ['report', source, '--format', format, '--output', output], {
    env: { ...process.env, RIDGELINE_CACHE: path.join(folder, 'cache') },
  });
  return output;
}

/** The sample with `count` module instances, each with an operation and weights, in a tree of a hundred per layer. */
export function large(count) {
  const report = sample();
  const part = (name, type, share, children = [], line = 0) => ({
    name,
    type,
    location: line === 0 ? null : { file: 'net.py', line },
    definition: null,
    calls: 1,
    timeMs: report.iteration.timeMs * share,
    peakBytes: Math.floor(report.memory.peakBytes * share),
    children,
    byPhaseMs: Object.fromEntries(Object.entries(report.iteration.byPhaseMs).map(([phase, ms]) => [phase, ms * share])),
  });
  const layers = Math.ceil(count / 100);
  report.breakdown.children = Array.from({ length: layers }, (_, layer) =>
    part(
      `layer${layer}`,
      'Sequential',
      1 / layers,
      Array.from({ length: 99 }, (_, i) =>
        part(`${i}`, 'Linear', 1 / layers / 99, [part('linear', '', 1 / layers / 99)], layer * 100 + i + 1),
      ),
      layer * 100 + 100,
    ),
  );
  const [line] = report.lines;
  report.lines = Array.from({ length: count }, (_, i) => ({
    ...line,
    file: 'net.py',
    line: i + 1,
    timeMs: { ...line.timeMs, self: report.iteration.timeMs / count },
  }));
  return report;
}
