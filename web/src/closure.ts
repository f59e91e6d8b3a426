/** How the figures add up: lines and named items are the iteration and the peak; and how it was measured. */
import { bytes, duration, share } from '../../editors/vscode/src/figures';
import { h } from '../../editors/vscode/src/view/dom';
import { type Data, part, wholeOf } from './data';
import { definitions } from './summary';

export function closure({ report, texts }: Data): HTMLElement {
  const whole = wholeOf(report);
  const lines = {
    name: report.lines.length === 1 ? '1 line of yours' : `${report.lines.length} lines of yours`,
    ms: report.lines.reduce((sum, { timeMs }) => sum + timeMs.self, 0),
    held: report.lines.reduce((sum, { memoryBytes }) => sum + memoryBytes.atPeak, 0),
  };
  const other = report.other.map(({ name, timeMs, peakBytes }) => ({ name, ms: timeMs, held: peakBytes }));
  const rows = [lines, ...other];
  const total = rows.reduce((sum, { ms, held }) => ({ ms: sum.ms + ms, held: sum.held + held }), { ms: 0, held: 0 });
  const row = (name: string, ms: number, held: number, kind = 'tr') =>
    h(
      kind,
      {},
      h('th', { scope: 'row' }, name),
      h('td', {}, duration(ms)),
      h('td', {}, share(part(ms, whole.ms))),
      h('td', {}, bytes(held)),
    );
  const measured = texts.notes.filter(({ label }) => label !== 'warning' && label !== 'skipped');
  return h(
    'section',
    { 'aria-label': 'Closure' },
    h('div.title', {}, h('h2', {}, 'How the figures add up')),
    h(
      'table.sums',
      {},
      h(
        'thead',
        {},
        h('tr', {}, h('th'), ...['Time', 'Share', 'Memory'].map((text) => h('th', { scope: 'col' }, text))),
      ),
      h('tbody', {}, ...rows.map(({ name, ms, held }) => row(name, ms, held))),
      h(
        'tfoot',
        {},
        row('together', total.ms, total.held),
        row('iteration, and memory at the peak', whole.ms, whole.bytes),
      ),
    ),
    definitions(measured),
  );
}
