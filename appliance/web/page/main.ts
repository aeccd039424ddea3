// The first module of the page.

import { render } from 'preact';
import { html } from './html.ts';
import { startRouter } from './router.ts';
import { startSession } from './session.ts';
import { App } from './shell/app.ts';
import { startTheme } from './theme.ts';
import { tick } from './time.ts';

startTheme();
startRouter();
setInterval(() => {
  if (!document.hidden) tick();
}, 1000);
startSession();
const root = document.getElementById('page');
if (root) {
  root.replaceChildren();
  render(html`<${App} />`, root);
}
