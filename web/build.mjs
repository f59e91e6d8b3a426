// build.mjs OUTPUT: writes the page as one file: the bundled script and the style sheet inside of src/page.html, under a
// policy that allows these two and nothing else. The report's data is put into it by server/report/html_report.cpp.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const { outputFiles } = await build({
  entryPoints: [here('src/main.ts')],
  outfile: 'page.js', // with page.css, of what is imported
  write: false,
  bundle: true,
  minify: true,
  charset: 'utf8',
  target: 'es2022',
  legalComments: 'inline', // the licence of uPlot goes where it goes
});
const bundled = (extension) => outputFiles.find(({ path }) => path.endsWith(extension)).text;
const [script, style] = [bundled('.js'), bundled('.css')];
if (/<\/(script|style)|<!--/i.test(script + style)) throw new Error('The bundle would end its own element.');

const parts = {
  RIDGELINE_POLICY: `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`,
  RIDGELINE_STYLE: style,
  RIDGELINE_SCRIPT: script,
};
const page = readFileSync(here('src/page.html'), 'utf8');
writeFileSync(
  process.argv[2],
  page.replace(new RegExp(Object.keys(parts).join('|'), 'g'), (name) => parts[name]),
);
