/** All tests of the extension, in one process: they share one code-server and one browser. */
import './profiling.mjs';
import './view.mjs';
import './costliest.mjs';
import './library.mjs';
import './whatif.mjs';
import './tasks.mjs';
import './daemon.mjs';

if (process.env.UPDATE_PICTURES) await import('./pictures.mjs');
