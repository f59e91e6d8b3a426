/** The tables: what each line and each module costs. */
import { bytes, duration, share } from '../../editors/vscode/src/figures';
import { h } from '../../editors/vscode/src/view/dom';
import { type Data, type Node, part, type Whole, wholeOf } from './data';
import { Table } from './table';

const sum = <Row>(rows: Row[], value: (row: Row) => number) => rows.reduce((total, row) => total + value(row), 0);
const negligible = 0.0005; // of the iteration or of the peak: it would be shown as 0.0 %
const orNothing = (ms: number) => (ms > 0 ? duration(ms) : '–');

function summaryOf<Row>(whole: Whole, time: (row: Row) => number, memory: (row: Row) => number) {
  return (rows: Row[]) => {
    const [ms, held] = [sum(rows, time), sum(rows, memory)];
    return `${duration(ms)}, ${share(part(ms, whole.ms))} of the iteration · ${bytes(held)} at the peak`;
  };
}

export function lineTable({ report, texts }: Data): HTMLElement | null {
  if (report.lines.length === 0) return null;
  const whole = wholeOf(report);
  const rows = report.lines.map((line, i) => ({
    ...line,
    ...(texts.lines[i] ?? {
      place: `${line.file}:${line.line}`,
      source: null,
      calls: '–',
      attained: null,
      energy: null,
    }),
    count: line.calls ?? 0,
  }));
  type Row = (typeof rows)[number];
  const code = ({ source }: Row) => source?.trim() ?? '';
  const isAttainedKnown = rows.some(({ attained }) => attained !== null);
  const attains = {
    title: 'Of roofline',
    name: 'number.more',
    text: ({ attained }: Row) => (attained === null ? '–' : share(attained.fraction)),
    key: ({ attained }: Row) => attained?.fraction ?? -1,
  };
  const isEnergyKnown = rows.some(({ energy }) => energy !== null);
  const takes = {
    title: 'Energy',
    name: 'number.more',
    text: ({ energy }: Row) => energy?.text ?? '–',
    key: ({ energy }: Row) => energy?.joules ?? -1,
  };
  const table = new Table<Row>({
    label: 'Lines',
    noun: ['line', 'lines'],
    rows,
    sortedBy: 'Self',
    folded: {
      holds: ({ timeMs, memoryBytes }) =>
        part(timeMs.total, whole.ms) < negligible && part(memoryBytes.atPeak, whole.bytes) < negligible,
      noun: ['line that costs almost nothing', 'lines that cost almost nothing'],
    },
    columns: [
      {
        title: 'Line',
        name: 'place',
        text: ({ place }) => place,
        key: ({ file, line }) => `${file}:${String(line).padStart(9, '0')}`,
      },
      { title: 'Source', name: 'code', text: code, key: code },
      {
        title: 'Self',
        name: 'number.time',
        text: ({ timeMs }) => duration(timeMs.self),
        key: ({ timeMs }) => timeMs.self,
        bar: ({ timeMs }) => part(timeMs.self, whole.ms),
      },
      {
        title: 'Share',
        name: 'number.share',
        text: ({ timeMs }) => share(part(timeMs.self, whole.ms)),
        key: ({ timeMs }) => timeMs.self,
      },
      {
        title: 'Memory',
        name: 'number.memory',
        text: ({ memoryBytes }) => bytes(memoryBytes.atPeak),
        key: ({ memoryBytes }) => memoryBytes.atPeak,
        bar: ({ memoryBytes }) => part(memoryBytes.atPeak, whole.bytes),
      },
      { title: 'Calls', name: 'number.more.calls', text: ({ calls }) => calls, key: ({ count }) => count },
      {
        title: 'Forward',
        name: 'number.more',
        text: ({ timeMs }) => orNothing(timeMs.forward),
        key: ({ timeMs }) => timeMs.forward,
      },
      {
        title: 'Backward',
        name: 'number.more',
        text: ({ timeMs }) => orNothing(timeMs.backward),
        key: ({ timeMs }) => timeMs.backward,
      },
      {
        title: 'Total',
        name: 'number.more',
        text: ({ timeMs }) => duration(timeMs.total),
        key: ({ timeMs }) => timeMs.total,
      },
      ...(isAttainedKnown ? [attains] : []),
      ...(isEnergyKnown ? [takes] : []),
    ],
    searched: (row) => `${row.place} ${row.file} ${code(row)}`,
    summary: summaryOf<Row>(
      whole,
      ({ timeMs }) => timeMs.self,
      ({ memoryBytes }) => memoryBytes.atPeak,
    ),
  });
  return h(
    `section.lines${isAttainedKnown ? '.attained' : ''}${isEnergyKnown ? '.energy' : ''}`,
    { 'aria-label': 'Lines' },
    h('div.title', {}, h('h2', {}, 'Lines')),
    table.element,
  );
}

interface Module {
  node: Node;
  path: string;
}

/** Modules contain each other: each row has everything inside of it, so no sum is shown. */
function modulesIn(root: Node): Module[] {
  const found: Module[] = [];
  const walk = (node: Node, above: string) => {
    const path = above === '' ? node.name : `${above} › ${node.name}`;
    if (node.type !== '') found.push({ node, path });
    for (const child of node.children) walk(child, path);
  };
  for (const child of root.children) walk(child, '');
  return found;
}

export function moduleTable({ report }: Data): HTMLElement | null {
  const rows = modulesIn(report.breakdown);
  if (rows.length === 0) return null;
  const whole = wholeOf(report);
  const place = ({ node }: Module) => (node.location === null ? '' : `${node.location.file}:${node.location.line}`);
  const table = new Table<Module>({
    label: 'Module instances',
    noun: ['module instance', 'module instances'],
    rows,
    sortedBy: 'Time',
    columns: [
      { title: 'Module', name: 'path', text: ({ path }) => path, key: ({ path }) => path },
      { title: 'Class', name: 'code', text: ({ node }) => node.type, key: ({ node }) => node.type },
      {
        title: 'Time',
        name: 'number.time',
        text: ({ node }) => duration(node.timeMs),
        key: ({ node }) => node.timeMs,
        bar: ({ node }) => part(node.timeMs, whole.ms),
      },
      {
        title: 'Share',
        name: 'number.share',
        text: ({ node }) => share(part(node.timeMs, whole.ms)),
        key: ({ node }) => node.timeMs,
      },
      {
        title: 'Memory',
        name: 'number.memory',
        text: ({ node }) => bytes(node.peakBytes),
        key: ({ node }) => node.peakBytes,
        bar: ({ node }) => part(node.peakBytes, whole.bytes),
      },
      {
        title: 'Calls',
        name: 'number.more.calls',
        text: ({ node }) => String(node.calls),
        key: ({ node }) => node.calls,
      },
      { title: 'Called at', name: 'called.more', text: place, key: place },
    ],
    searched: (row) => `${row.path} ${row.node.type} ${place(row)}`,
    summary: () => 'each with everything inside',
  });
  return h(
    'section.modules',
    { 'aria-label': 'Module instances' },
    h('div.title', {}, h('h2', {}, 'Module instances')),
    table.element,
  );
}
