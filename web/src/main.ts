/** The page of the HTML report. Whatever comes from the report is text: nothing here makes markup of it. */
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { h } from '../../editors/vscode/src/view/dom';
import { batchSizes } from './batches';
import { closure } from './closure';
import { readData } from './data';
import { device } from './device';
import { icicle } from './icicle';
import { lineTable, moduleTable } from './costs';
import { memoryOverTime } from './memory';
import { linkLines } from './editor';
import { heading, keyFigures, warnings } from './summary';

const data = readData();
document.title = `${data.texts.title} · Ridgeline`;
const main = h('main');
document.body.append(main);
const sections = [
  heading,
  warnings,
  keyFigures,
  icicle,
  lineTable,
  moduleTable,
  memoryOverTime,
  batchSizes,
  device,
  closure,
];
for (const section of sections) main.append(...[section(data)].filter((element) => element !== null));
linkLines();
