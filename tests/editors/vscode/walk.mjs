/**
 * walk.mjs [PROJECT...]: the walk of a new user in VS Code, for the projects of tests/editors/walk, as a line of JSON each: from the
 * script to a change that pays, tried, applied to it and measured. It counts clicks and the seconds that one waits, and
 * keeps a picture of each step in build/pictures. `./dev bench walk` makes a table of it.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { builtVsix, root, until, VSCode } from './workbench.mjs';

const projects = path.join(root, 'tests/editors/walk');
const names = process.argv.length > 2 ? process.argv.slice(2) : readdirSync(projects).sort();
const pictures = path.join(root, 'build/pictures');
const longest = 240_000;

class Walk {
  clicks = 0;
  waits = {};
  answers = {};

  constructor(window, name) {
    this.window = window;
    this.name = name;
  }

  async click(target) {
    ++this.clicks;
    await target.click();
  }

  /** What one waits for after a click. */
  async waitFor(what, condition) {
    const start = performance.now();
    await until(condition, longest);
    this.waits[what] = Math.round((performance.now() - start) / 100) / 10;
  }

  async picture(step) {
    await this.window.page.screenshot({ path: path.join(pictures, `walk-${this.name}-${step}.png`) });
  }

  async show(selector) {
    await this.window.view
      .locator(selector)
      .first()
      .evaluate((section) => section.scrollIntoView());
  }

  text(selector) {
    return this.window.view
      .locator(selector)
      .first()
      .innerText({ timeout: 2000 })
      .then((text) => text.replaceAll(/\s+/g, ' ').trim());
  }
}

async function assertThat(condition, message) {
  if (!(await condition)) throw new Error(message);
}

async function walked(vscode, name) {
  const folder = mkdtempSync(path.join(vscode.folder, `${name}-`));
  cpSync(path.join(projects, name), folder, { recursive: true });
  const window = await vscode.open(folder, { width: 1360, height: 1000 });
  const walk = new Walk(window, name);
  const whatIf = window.view.locator('.what-if');
  try {
    await walk.click(window.page.locator('.explorer-viewlet .monaco-list-row', { hasText: 'train.py' }));
    await walk.click(window.page.locator('.activitybar [aria-label^="Ridgeline"]').first());
    await window.view.locator('main').waitFor();
    await window.resizeSideBar(400);
    await walk.picture('1-opened');

    await walk.click(window.view.getByRole('button', { name: 'Profile this script' }));
    await walk.waitFor('profile', () =>
      window.view.locator('.facts', { hasText: 'per iteration' }).waitFor({ timeout: 500 }),
    );
    await walk.waitFor('ready', () =>
      assertThat(
        window.status.innerText().then((text) => !/rofiling/.test(text)),
        'it is profiled',
      ),
    );
    walk.answers.facts = await walk.text('.facts');
    await walk.picture('2-profiled');
    walk.answers.recommended = await walk.text('.recommended');
    await walk.show('.aspect.time');
    await walk.picture('3-time');
    walk.answers.costliest = await walk.text('.costs .row');
    await walk.show('.peak');
    await walk.picture('4-memory');
    walk.answers.memory = await walk.text('.peak');

    await walk.show('.what-if');
    await walk.click(whatIf.getByRole('button', { name: 'Ask what changes would bring' }));
    await walk.waitFor('what if', () => whatIf.getByRole('button', { name: 'Try all' }).waitFor({ timeout: 500 }));
    await walk.waitFor('the rest', () =>
      assertThat(
        whatIf
          .getByRole('button', { name: 'Cancel' })
          .count()
          .then((count) => count === 0),
        'it has answered',
      ),
    );
    await walk.show('.what-if');
    await walk.picture('5-asked');
    const paying = whatIf.locator('div > .changes > li');
    walk.answers.paying = await paying.evaluateAll((rows) =>
      rows.map((row) => row.innerText.replaceAll(/\s+/g, ' ').trim()),
    );
    walk.answers.useless = await whatIf.locator('details .changes > li .title').allTextContents();
    walk.answers.leftOut = await whatIf.locator('details .reasons > li').allTextContents();
    const size = window.view.locator('.recommended button.size').first();
    const quick = {
      hasNotText: /as fast|unclear|torch\.compile/,
      has: window.page.getByRole('button', { name: 'Apply' }),
    };
    const offered = paying.filter(quick).first();
    if ((await offered.count()) > 0) {
      walk.answers.change = await offered.locator('.title').innerText();
      const row = whatIf.locator('.changes > li:visible', { hasText: walk.answers.change }).first();
      await walk.click(row.getByRole('button', { name: 'Try' }));
      await walk.waitFor('try', () => row.locator('.said.tried .figure').waitFor({ timeout: 500 }));
      walk.answers.tried = await row.locator('.said.tried .figure').innerText();
      await walk.picture('6-tried');
      await walk.click(row.getByRole('button', { name: 'Apply' }));
      const question = window.page.locator('.notifications-toasts').getByRole('button', { name: 'Write' });
      await until(async () => {
        if ((await question.count()) > 0) {
          await walk.picture('7-diff');
          await walk.click(question);
        }
        await row.getByText('Applied').waitFor({ timeout: 500 });
      });
      await walk.picture('8-applied');
      await window.save();
      await walk.click(window.view.getByRole('button', { name: 'Profile again' }));
      await walk.waitFor('measured', () => whatIf.locator('.applied .said.measured .figure').waitFor({ timeout: 500 }));
      walk.answers.measured = await whatIf.locator('.applied .said.measured .figure').innerText();
      await walk.picture('9-measured');
    } else if ((await size.count()) > 0) {
      const chosen = await size.innerText();
      walk.answers.change = `batch size ${chosen}`;
      await walk.show('.recommended');
      await walk.click(size);
      await window.view.getByRole('button', { name: `Profile with ${chosen}` }).waitFor();
      await walk.picture('8-applied');
      await walk.click(window.view.getByRole('button', { name: `Profile with ${chosen}` }));
      await walk.waitFor('measured', () =>
        window.view.locator('.facts', { hasText: `batch size ${chosen} · ` }).waitFor({ timeout: 500 }),
      );
      walk.answers.measured = await walk.text('.facts');
      await walk.picture('9-measured');
    }
  } catch (error) {
    walk.failure = String(error).slice(0, 600);
    await walk.picture('failed');
  }
  await window.close();
  const { clicks, waits, answers, failure } = walk;
  return { name, clicks, waits, answers, failure };
}

mkdirSync(pictures, { recursive: true });
const vscode = await VSCode.start(builtVsix(), {
  'ridgeline.python': process.env.WALK_PYTHON,
  'ridgeline.timeBudget': 10, // as a user has it
});
try {
  for (const name of names) console.log(JSON.stringify(await walked(vscode, name)));
} finally {
  await vscode.stop();
}
