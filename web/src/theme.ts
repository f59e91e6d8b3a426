/** Light and dark: the reader's system decides until the reader does. What is painted on a canvas is painted again. */
import { button } from '../../editors/vscode/src/view/dom';

type Theme = 'light' | 'dark';

const system = matchMedia('(prefers-color-scheme: dark)');
const painters: (() => void)[] = [];

/** Calls `paint` whenever colours change: another theme, or paper. */
export function onColours(paint: () => void): void {
  painters.push(paint);
}

const repaint = () => painters.forEach((paint) => paint());

/** The value of a custom property of style.css, for a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function now(): Theme {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === 'light' || chosen === 'dark' ? chosen : system.matches ? 'dark' : 'light';
}

/** A button that changes to the other theme. A file that was opened twice has a choice of its own in each window. */
export function themeSwitch(): HTMLButtonElement {
  const other = (): Theme => (now() === 'dark' ? 'light' : 'dark');
  const element = button('button.theme', '', () => {
    document.documentElement.dataset['theme'] = other();
    update();
  });
  const update = () => {
    element.textContent = other() === 'dark' ? '☾ Dark' : '☀ Light';
    element.setAttribute('aria-label', `Change to the ${other()} theme`);
    repaint();
  };
  system.addEventListener('change', update);
  let chosen: string | undefined;
  addEventListener('beforeprint', () => {
    // paper is light, and so is what is painted for it
    chosen = document.documentElement.dataset['theme'];
    document.documentElement.dataset['theme'] = 'light';
    repaint();
  });
  addEventListener('afterprint', () => {
    if (chosen === undefined) delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = chosen;
    repaint();
  });
  update();
  return element;
}
