/** A bar that can be moved by mouse and by keys: a figure with its interval, relative to the maximum. */
import { h, place } from './dom';

export interface Reading {
  value: number;
  interval: { low: number; high: number | null } | null;
  /** The end of the bar, and its text. */
  most: number;
  /** Whether the end is a maximum; else the bar is not filled. */
  isBounded: boolean;
  mostText: string;
  text: string;
  /** For screen readers. */
  spoken: string;
  note: string;
  warning: string;
}

export interface SliderEvents {
  /** To this figure. A drag or a run of keys ends with commit() or cancel(). */
  drag(value: number): void;
  step(key: 'less' | 'more' | 'half' | 'double' | 'least' | 'most'): void;
  commit(): void;
  cancel(): void;
}

const keys: Record<string, Parameters<SliderEvents['step']>[0]> = {
  ArrowLeft: 'less',
  ArrowDown: 'less',
  ArrowRight: 'more',
  ArrowUp: 'more',
  PageDown: 'half',
  PageUp: 'double',
  Home: 'least',
  End: 'most',
};
const keyRestMs = 500; // after the last key is released, before the batch size is written

export class Slider {
  readonly element: HTMLElement;
  private readonly text = h('span.figure');
  private readonly note = h('div.note');
  private readonly end = h('span.end');
  private readonly warning = h('div.warning', { role: 'status' });
  private readonly fill = h('div.fill');
  private readonly interval = h('div.interval');
  private readonly track: HTMLElement;
  private most = 1;
  private drag: { value: number; frame: number | null } | null = null;
  private isKeyed = false;
  private rest: number | undefined;

  constructor(
    name: string,
    kind: 'time' | 'memory',
    private readonly events: SliderEvents,
  ) {
    this.track = h(
      'div.track',
      {
        role: 'slider',
        tabindex: 0,
        'aria-label': name,
        'aria-valuemin': 0,
        title: 'Drag, or use the arrow keys: the batch size is written into the code at the end; Escape cancels',
      },
      this.fill,
      this.interval,
      h('div.grip'),
    );
    this.element = h(
      `section.slider.${kind}`,
      {},
      h('div.head', {}, h('h2', {}, name), this.text),
      this.track,
      h('div.foot', {}, this.note, this.end),
      this.warning,
    );
    this.listen();
  }

  show(reading: Reading | null): void {
    this.element.hidden = reading === null;
    if (reading === null) return;
    this.most = reading.most;
    place(this.fill, 0, reading.value / reading.most);
    this.fill.hidden = !reading.isBounded;
    const { low, high } = reading.interval ?? { low: reading.value, high: reading.value };
    place(this.interval, low / reading.most, ((high ?? reading.most) - low) / reading.most);
    this.interval.hidden = reading.interval === null || !reading.isBounded;
    this.text.textContent = reading.text;
    this.note.textContent = reading.note;
    this.end.textContent = reading.mostText;
    this.warning.textContent = reading.warning;
    this.track.setAttribute('aria-valuemax', String(reading.most));
    this.track.setAttribute('aria-valuenow', String(Math.min(reading.value, reading.most)));
    this.track.setAttribute('aria-valuetext', reading.spoken);
  }

  private listen(): void {
    this.track.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      this.endKeys('commit');
      this.track.setPointerCapture(event.pointerId);
      this.track.focus();
      event.preventDefault();
      this.drag = { value: 0, frame: null };
      this.element.classList.add('dragged');
      this.dragTo(event);
    });
    this.track.addEventListener('pointermove', (event) => this.dragTo(event));
    this.track.addEventListener('pointerup', () => this.endDrag('commit'));
    this.track.addEventListener('pointercancel', () => this.endDrag('cancel'));
    this.track.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const step = keys[event.key];
      if (event.key === 'Escape' && (this.drag !== null || this.isKeyed)) {
        this.endDrag('cancel');
        this.endKeys('cancel');
      } else if (step !== undefined && this.drag === null) {
        clearTimeout(this.rest);
        this.isKeyed = true;
        this.events.step(step);
      } else {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    });
    this.track.addEventListener('keyup', () => {
      clearTimeout(this.rest);
      if (this.isKeyed) this.rest = setTimeout(() => this.endKeys('commit'), keyRestMs);
    });
    this.track.addEventListener('blur', () => this.endKeys('commit'));
  }

  private endKeys(how: 'commit' | 'cancel'): void {
    clearTimeout(this.rest);
    if (!this.isKeyed) return;
    this.isKeyed = false;
    this.events[how]();
  }

  private endDrag(how: 'commit' | 'cancel'): void {
    const drag = this.drag;
    if (drag === null) return;
    this.drag = null;
    this.element.classList.remove('dragged');
    if (drag.frame !== null) {
      cancelAnimationFrame(drag.frame);
      if (how === 'commit') this.events.drag(drag.value);
    }
    this.events[how]();
  }

  /** At most one question per painted frame. */
  private dragTo(event: PointerEvent): void {
    const drag = this.drag;
    if (drag === null) return;
    const { left, width } = this.track.getBoundingClientRect();
    drag.value = Math.min(1, Math.max(0.001, (event.clientX - left) / width)) * this.most;
    drag.frame ??= requestAnimationFrame(() => {
      drag.frame = null;
      this.events.drag(drag.value);
    });
  }
}

/** The batch size that a key leads to. */
export function stepped(key: Parameters<SliderEvents['step']>[0], now: number, largest: number): number {
  return Math.max(
    1,
    { less: now - 1, more: now + 1, half: Math.floor(now / 2), double: now * 2, least: 1, most: largest }[key],
  );
}
