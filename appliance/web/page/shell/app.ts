// The frame around every page: header, armed bar, the page itself, messages and dialogs.

import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { html } from '../html.ts';
import { type KeyBinding, startKeys, useKeys } from '../keys.ts';
import { connection } from '../live/live.ts';
import type { PageName } from '../page-paths.ts';
import { PAGES, type Page } from '../pages.ts';
import { icon } from '../parts/icon.ts';
import { Empty, FailureNotice, Loading } from '../parts/notices.ts';
import { navigate, pathTo, place } from '../router.ts';
import { findSession, session } from '../session.ts';
import { SignInPage } from '../sign-in.ts';
import { ArmedBar } from './armed-bar.ts';
import { Dialogs } from './dialog.ts';
import { BottomBar, Header } from './header.ts';
import { offered } from './navigation.ts';
import { Toasts } from './toasts.ts';

export function App(): VNode {
  const { state } = session.value;
  useEffect(() => {
    startKeys();
    void findSession();
  }, []);
  if (place.value.page === 'signIn' || state === 'out') return html`<${SignInPage} /><${Toasts} />`;
  if (session.value.state === 'unreachable') {
    return html`<main class="sign-in">
      <${FailureNotice} failure=${session.value.failure} retry=${() => void findSession()} />
    </main>`;
  }
  if (state === 'unknown') return html`<p class="loading-page">Loading Coldiron …</p>`;
  return html`<${Frame} />`;
}

function Frame(): VNode {
  const entries = offered();
  useKeys(
    useMemo(
      () =>
        entries.map(
          ({ key, label, page }): KeyBinding => ({
            keys: `g ${key}`,
            does: `go to ${label.toLowerCase()}`,
            run: () => navigate(pathTo(page)),
          }),
        ),
      [entries.length],
    ),
  );
  const { page, params, path } = place.value;
  return html`<a class="skip" href="#content">Skip to the content</a>
    <${Header} />
    <${OfflineBar} />
    <${ArmedBar} />
    <main id="content" tabindex="-1">
      ${page === null ? html`<${UnknownPlace} path=${path} />` : html`<${LoadedPage} name=${page} params=${params} key=${page} />`}
    </main>
    <${BottomBar} />
    <${Toasts} />
    <${Dialogs} />`;
}

function OfflineBar(): VNode | null {
  if (connection.value !== 'offline') return null;
  return html`<p class="offline" role="alert">
    ${icon('signal')}No connection to the appliance. What you see may be old; the page connects again by itself.
  </p>`;
}

const UnknownPlace = ({ path }: { path: string }): VNode =>
  html`<${Empty} title=${`There is no page ${path}`}><p><a href="/">Go to the fleet</a></p><//>`;

const loaded = new Map<PageName, Page>();

function LoadedPage({ name, params }: { name: PageName; params: Readonly<Record<string, string>> }): VNode {
  const [page, setPage] = useState<Page | null>(() => loaded.get(name) ?? null);
  const [problem, setProblem] = useState<string | null>(null);
  const load = PAGES[name];
  useEffect(() => {
    if (page !== null || load === undefined) return;
    load().then(
      (component) => {
        loaded.set(name, component);
        setPage(() => component);
      },
      (error: Error) => setProblem(error.message),
    );
  }, [name]);
  if (load === undefined) {
    return html`<${Empty} title="This page is not built yet">
      <p>The same information is on the command line: <code>coldiron --help</code></p>
      <p><a href="/">Go to the fleet</a></p>
    <//>`;
  }
  if (problem !== null) {
    return html`<${Empty} title="This page could not be loaded">
      <p>${problem}</p>
      <p>The appliance may have been updated, or the connection was lost.</p>
      <p><button type="button" onClick=${() => location.reload()}>Load again</button></p>
    <//>`;
  }
  if (page === null) return html`<${Loading} what="the page" />`;
  return html`<${page} params=${params} />`;
}
