/** A table that can be sorted and filtered. Rows are made while they can be seen: it may have any number of them. */
import { button, h } from '../../editors/vscode/src/view/dom';

export interface Column<Row> {
  title: string;
  /** The class of its cells, which gives its width; columns without figures are aligned to the left. */
  name: string;
  text: (row: Row) => string;
  /** What it is sorted by, largest first; a text is sorted by the alphabet. */
  key: (row: Row) => number | string;
  /** The part of the cell that a bar fills. */
  bar?: (row: Row) => number;
}

interface Options<Row> {
  label: string;
  noun: [one: string, many: string];
  columns: Column<Row>[];
  rows: Row[];
  sortedBy: string; // the title of a column
  /** Rows that are hidden until they are asked for or searched, and what they are called. */
  folded?: { holds: (row: Row) => boolean; noun: [one: string, many: string] };
  /** What is searched; in lower case. */
  searched: (row: Row) => string;
  /** Of the rows that are shown. */
  summary: (rows: Row[]) => string;
}

const extra = 8; // rows that are made above and below those that can be seen
const printed = 60; // rows on paper

export class Table<Row> {
  readonly element: HTMLElement;
  private readonly body = h('div.rows', { role: 'rowgroup' });
  private readonly scroller: HTMLElement;
  private readonly field: HTMLInputElement; // what is searched for
  private readonly count = h('span.count', { 'aria-live': 'polite' });
  private readonly headers: HTMLElement[];
  private shown: Row[];
  private sorted: { column: Column<Row>; isReversed: boolean };
  private isPrinting = false;
  private isUnfolded = false;
  private window: [number, number] = [-1, -1];
  private readonly texts = new Map<Row, string>();

  constructor(private readonly options: Options<Row>) {
    const { columns, rows, label } = options;
    const column = columns.find(({ title }) => title === options.sortedBy);
    if (column === undefined) throw new Error(`no column ${options.sortedBy}`);
    this.sorted = { column, isReversed: false };
    this.shown = rows;
    this.headers = columns.map((each) =>
      h(
        `div.${each.name}`,
        { role: 'columnheader' },
        button('button.sort', each.title, () => this.sortBy(each)),
      ),
    );
    this.scroller = h(
      'div.scroller',
      { tabindex: 0, role: 'table', 'aria-label': label, 'aria-rowcount': rows.length + 1 },
      h('div.head', { role: 'rowgroup' }, h('div.row', { role: 'row' }, ...this.headers)),
      this.body,
    );
    this.scroller.addEventListener('scroll', () => this.draw(), { passive: true });
    this.field = h('input.filter', {
      type: 'search',
      placeholder: 'Filter',
      'aria-label': `Filter ${options.noun[1]}`,
    }) as HTMLInputElement;
    this.field.addEventListener('input', () => this.filter());
    this.element = h('div.table', {}, h('div.tools', {}, this.field, this.count, this.unfold()), this.scroller);
    new ResizeObserver(() => this.redraw()).observe(this.scroller);
    addEventListener('beforeprint', () => this.print(true));
    addEventListener('afterprint', () => this.print(false));
    this.filter();
  }

  private filter(): void {
    const wanted = this.field.value.trim().toLowerCase();
    const { rows, noun, summary } = this.options;
    const isFolded = (row: Row) => !this.isUnfolded && !this.isPrinting && this.options.folded?.holds(row) === true;
    this.shown = rows.filter((row) => (wanted === '' ? !isFolded(row) : this.searched(row).includes(wanted)));
    const number = this.shown.length === rows.length ? `${rows.length}` : `${this.shown.length} of ${rows.length}`;
    this.count.textContent = `${number} ${rows.length === 1 ? noun[0] : noun[1]} · ${summary(this.shown)}`;
    this.sort();
  }

  /** A button for the folded rows; null without any. */
  private unfold(): HTMLElement | null {
    const { rows, folded } = this.options;
    const count = folded === undefined ? 0 : rows.filter(folded.holds).length;
    if (folded === undefined || count === 0 || count === rows.length) {
      this.isUnfolded = true;
      return null;
    }
    const name = `${count} ${count === 1 ? folded.noun[0] : folded.noun[1]}`;
    const toggle = button('button.unfold', `Show ${name}`, () => {
      this.isUnfolded = !this.isUnfolded;
      toggle.textContent = `${this.isUnfolded ? 'Hide' : 'Show'} ${name}`;
      this.filter();
    });
    return toggle;
  }

  private searched(row: Row): string {
    const known = this.texts.get(row) ?? this.options.searched(row).toLowerCase();
    this.texts.set(row, known);
    return known;
  }

  private sortBy(column: Column<Row>): void {
    this.sorted = { column, isReversed: column === this.sorted.column && !this.sorted.isReversed };
    this.sort();
  }

  private sort(): void {
    const { column, isReversed } = this.sorted;
    const keys = new Map(this.shown.map((row) => [row, column.key(row)]));
    const order = (a: Row, b: Row) => {
      const [x, y] = [keys.get(a) ?? 0, keys.get(b) ?? 0];
      return typeof x === 'string' || typeof y === 'string' ? (x < y ? -1 : x > y ? 1 : 0) : y - x;
    };
    this.shown.sort(isReversed ? (a, b) => order(b, a) : order);
    this.headers.forEach((header, i) => {
      const isText = typeof column.key(this.shown[0] ?? (this.options.rows[0] as Row)) === 'string';
      const direction = isText !== isReversed ? 'ascending' : 'descending';
      header.setAttribute('aria-sort', this.options.columns[i] === column ? direction : 'none');
    });
    this.scroller.scrollTop = 0;
    this.redraw();
  }

  private print(isPrinting: boolean): void {
    this.isPrinting = isPrinting;
    this.filter();
  }

  private redraw(): void {
    this.window = [-1, -1];
    this.draw();
  }

  private draw(): void {
    const height = Number.parseFloat(getComputedStyle(this.scroller).getPropertyValue('--row'));
    const { scrollTop, clientHeight } = this.scroller;
    const first = this.isPrinting ? 0 : Math.max(0, Math.floor(scrollTop / height) - extra);
    const last = this.isPrinting ? printed : Math.ceil((scrollTop + clientHeight) / height) + extra;
    const end = Math.min(this.shown.length, last);
    if (this.window[0] === first && this.window[1] === end) return;
    this.window = [first, end];
    const rows = this.shown.slice(first, end).map((row, i) => this.row(row, first + i, height));
    if (this.isPrinting && this.shown.length > end)
      rows.push(h('p.note', {}, `… ${this.shown.length - end} more, in the file`));
    this.body.style.height = this.isPrinting ? 'auto' : `${this.shown.length * height}px`;
    this.body.replaceChildren(...rows);
  }

  private row(row: Row, index: number, height: number): HTMLElement {
    const cells = this.options.columns.map(({ name, text, bar }) => {
      const shown = text(row);
      const cell = h(`div.${name}`, { role: 'cell', title: shown.length > 12 ? shown : null }, h('span', {}, shown));
      if (bar) {
        const fill = h('i');
        fill.style.width = `${100 * Math.min(1, bar(row))}%`;
        cell.append(fill);
      }
      return cell;
    });
    const element = h('div.row', { role: 'row', 'aria-rowindex': index + 2 }, ...cells);
    if (!this.isPrinting) element.style.transform = `translateY(${index * height}px)`;
    return element;
  }
}
