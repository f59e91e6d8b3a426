/** The device: how long it works, what waits for what, and its kernels. */
import { duration, share } from '../../editors/vscode/src/figures';
import { h } from '../../editors/vscode/src/view/dom';
import { type Data, part } from './data';
import { stack } from './summary';
import { Table } from './table';

export function device({ report, texts }: Data): HTMLElement | null {
  const { device: found } = report;
  if (found === undefined) return null;
  const whole = report.iteration.timeMs;
  const work = [
    { label: 'kernels', text: share(part(found.kernelMs, whole)) },
    { label: 'copies alone', text: share(part(found.copyMs, whole)) },
    ...(found.idleMs === null ? [] : [{ label: 'idle', text: share(part(found.idleMs, whole)) }]),
  ];
  const waits = Object.values(found.waitsMs ?? {}).filter((ms) => ms > 0);
  const kernels = new Table({
    label: 'Kernels',
    noun: ['kernel', 'kernels'],
    rows: found.kernels,
    sortedBy: 'Time',
    columns: [
      { title: 'Kernel', name: 'kernel', text: ({ name }) => name, key: ({ name }) => name },
      {
        title: 'Time',
        name: 'number.time',
        text: ({ timeMs }) => duration(timeMs),
        key: ({ timeMs }) => timeMs,
        bar: ({ timeMs }) => part(timeMs, whole),
      },
      {
        title: 'Share',
        name: 'number.share',
        text: ({ timeMs }) => share(part(timeMs, whole)),
        key: ({ timeMs }) => timeMs,
      },
      {
        title: 'Launches',
        name: 'number.more',
        text: ({ launches }) => String(Number(launches.toFixed(1))),
        key: ({ launches }) => launches,
      },
      { title: 'Mean', name: 'number.more', text: ({ meanMs }) => duration(meanMs), key: ({ meanMs }) => meanMs },
      {
        title: 'Mostly on',
        name: 'called.more',
        text: ({ location }) => (location === null ? '' : `${location.file}:${location.line}`),
        key: ({ location }) => location?.file ?? '',
      },
    ],
    searched: ({ name, location }) => `${name} ${location?.file ?? ''}`,
    summary: (rows) => duration(rows.reduce((sum, { timeMs }) => sum + timeMs, 0)),
  });
  return h(
    'section',
    { 'aria-label': 'Device' },
    h('div.title', {}, h('h2', {}, `Device ${found.index}`)),
    h('ul.legend', {}, ...texts.device.map(({ label, text }) => h('li', {}, `${label} `, h('b', {}, text)))),
    ...stack(
      work,
      [found.kernelMs, found.copyMs, found.idleMs ?? 0],
      (label) => ({ kernels: 'time', 'copies alone': 'copies' })[label] ?? 'idle',
    ),
    waits.length === 0 ? null : h('h3', {}, 'What waits for what'),
    ...stack(texts.waits, waits, (label) => `wait-${label}`),
    kernels.element,
  );
}
