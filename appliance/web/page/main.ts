// The first module of the page.

import { render } from 'preact';
import { html } from './html.ts';
import { startRouter } from './router.ts';
import { startSession } from './session.ts';
import { App } from './shell/app.ts';
import { startTheme } from './theme.ts';
import { startClock } from './time.ts';

startTheme();
startRouter();
startClock();
startSession();
const root = document.getElementById('page');
if (root) {
  root.replaceChildren();
  render(html`<${App} />`, root);
}
