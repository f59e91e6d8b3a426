/** A bar that can be moved by mouse and by keys: a figure with its interval, relative to the maximum. */
import type { Question } from '../messages';
import { h, place } from './dom';

export interface Reading {
  value: number;
  interval: { low: number; high: number | null } | null;
  /** The end of the bar, and its text. */
  most: number;
  mostText: string;
  text: string;
  /** For screen readers. */
  spoken: string;
  note: string;
  warning: string;
}

export interface SliderEvents {
  /** To this figure. Each drag and each run of keys is a gesture with a number of its own. */
  drag(value: number, gesture: number): void;
  step(key: 'less' | 'more' | 'half' | 'double' | 'least' | 'most', gesture: number): void;
}

const keys: Record<string, Parameters<SliderEvents['step']>[0]> = {
  ArrowLeft: 'less', ArrowDown: 'less', ArrowRight: 'more', ArrowUp: 'more',
  PageDown: 'half', PageUp: 'double', Home: 'least', End: 'most',
};
let gestures = 0;

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
  private dragging: { gesture: number; value: number; frame: boolean } | null = null;
  private keyGesture: number | null = null;

  constructor(name: string, kind: 'time' | 'memory', private readonly events: SliderEvents) {
    this.track = h('div.track', { role: 'slider', tabindex: 0, 'aria-label': name, 'aria-valuemin': 0, title: 'Drag, or use the arrow keys: the batch size in the code follows' },
      this.fill, this.interval, h('div.grip'));
    this.element = h(`section.slider.${kind}`, {}, h('div.head', {}, h('h2', {}, name), this.text), this.track, h('div.foot', {}, this.note, this.end), this.warning);
    this.listen();
  }

  get isDragged(): boolean {
    return this.dragging !== null;
  }

  show(reading: Reading | null): void {
    this.element.hidden = reading === null;
    if (reading === null) return;
    this.most = reading.most;
    place(this.fill, 0, reading.value / reading.most);
    const { low, high } = reading.interval ?? { low: reading.value, high: reading.value };
    place(this.interval, low / reading.most, ((high ?? reading.most) - low) / reading.most);
    this.interval.hidden = reading.interval === null;
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
      this.track.setPointerCapture(event.pointerId);
      this.track.focus();
      event.preventDefault();
      this.dragging = { gesture: gestures++, value: 0, frame: false };
      this.element.classList.add('dragged');
      this.dragTo(event);
    });
    this.track.addEventListener('pointermove', (event) => this.dragTo(event));
    const end = () => {
      this.dragging = null;
      this.element.classList.remove('dragged');
    };
    this.track.addEventListener('pointerup', end);
    this.track.addEventListener('pointercancel', end);
    this.track.addEventListener('keydown', (event) => {
      const step = keys[event.key];
      if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.keyGesture ??= gestures++;
      this.events.step(step, this.keyGesture);
    });
    this.track.addEventListener('keyup', () => (this.keyGesture = null));
    this.track.addEventListener('blur', () => (this.keyGesture = null));
  }

  /** At most one question per painted frame. */
  private dragTo(event: PointerEvent): void {
    const drag = this.dragging;
    if (drag === null) return;
    const { left, width } = this.track.getBoundingClientRect();
    drag.value = Math.min(1, Math.max(0.001, (event.clientX - left) / width)) * this.most;
    if (drag.frame) return;
    drag.frame = true;
    requestAnimationFrame(() => {
      drag.frame = false;
      this.events.drag(drag.value, drag.gesture);
    });
  }
}

/** The batch size that a key leads to. */
export function stepped(key: Parameters<SliderEvents['step']>[0], now: number, largest: number): Question {
  const to = { less: now - 1, more: now + 1, half: Math.floor(now / 2), double: now * 2, least: 1, most: largest }[key];
  return { batchSize: Math.max(1, to) };
}
