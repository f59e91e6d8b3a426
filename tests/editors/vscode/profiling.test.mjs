/** Profiles and their figures in the editor, and the daemon's ends: in one process, beside that of view.test.mjs. */
import './profiling.mjs';
import './daemon.mjs';
