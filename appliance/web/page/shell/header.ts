// The bar at the top of every page: where one is, search, what is armed, what needs attention, who one is.

import type { VNode } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { html } from '../html.ts';
import { type KeyBinding, useKeys } from '../keys.ts';
import { connection, fleet, revision } from '../live/live.ts';
import { icon } from '../parts/icon.ts';
import { Menu, type MenuItem } from '../parts/menu.ts';
import { navigate, pathTo, place, setQuery } from '../router.ts';
import { session, signOut } from '../session.ts';
import { capital } from '../text.ts';
import { setTheme, THEMES, theme } from '../theme.ts';
import { openHelp } from './help.ts';
import { navigationPage, offered } from './navigation.ts';

export function Header(): VNode {
  const current = navigationPage(place.value.page);
  const entries = offered();
  const more = entries.filter(({ where }) => where === 'more');
  return html`<header class="bar">
    <a class="brand" href="/" aria-label="Coldiron: the fleet">${icon('anvil', 'solid')}<span>Coldiron</span></a>
    <nav class="pages" aria-label="Pages">
      ${entries
        .filter(({ where }) => where !== 'more')
        .map(
          ({ page, label }) =>
            html`<a href=${pathTo(page)} aria-current=${page === current ? 'page' : undefined} key=${page}>${label}</a>`,
        )}
      <${Menu}
        label="More"
        name="More pages"
        align="left"
        items=${more.map(({ page, label }): MenuItem => ({ label, href: pathTo(page) }))}
      />
    </nav>
    <${Search} />
    <${LiveMark} />
    <${AttentionLink} />
    <${UserMenu} />
  </header>`;
}

/** On a phone: the pages at the thumb. */
export function BottomBar(): VNode {
  const current = navigationPage(place.value.page);
  const entries = offered();
  return html`<nav class="bottom-bar" aria-label="Pages">
    ${entries
      .filter(({ where }) => where === 'phone')
      .map(
        ({ page, label, icon: name }) =>
          html`<a href=${pathTo(page)} aria-current=${page === current ? 'page' : undefined} key=${page}
            >${icon(name)}<span>${label}</span></a
          >`,
      )}
    <${Menu}
      label=${html`${icon('more')}<span>More</span>`}
      name="More pages"
      items=${entries
        .filter(({ where }) => where !== 'phone')
        .map(({ page, label }): MenuItem => ({ label, href: pathTo(page) }))}
    />
  </nav>`;
}

function Search(): VNode {
  const input = useRef<HTMLInputElement>(null);
  const onFleet = place.value.page === 'fleet';
  const [typed, setTyped] = useState('');
  const value = onFleet ? (place.value.query.get('q') ?? '') : typed;
  useKeys(
    useMemo(
      (): KeyBinding[] => [
        { keys: '/', does: 'search and filter', run: () => input.current?.select() },
        { keys: '?', does: 'this list', run: openHelp },
      ],
      [],
    ),
  );
  const change = (text: string): void => (onFleet ? setQuery({ q: text }) : setTyped(text));
  const submit = (event: Event): void => {
    event.preventDefault();
    const text = value.trim();
    // A whole name opens its node; anything else filters the fleet.
    if (fleet.entries.has(text)) navigate(pathTo('node', { node: text }));
    else if (!onFleet) navigate(pathTo('fleet', {}, { q: text }));
    setTyped('');
    input.current?.blur();
  };
  return html`<form class="search" role="search" onSubmit=${submit}>
    ${icon('search')}
    <input
      ref=${input}
      type="search"
      value=${value}
      placeholder="Search name, MAC, serial, address …"
      aria-label="Search the fleet"
      autocomplete="off"
      spellcheck=${false}
      onInput=${(event: InputEvent) => change((event.target as HTMLInputElement).value)}
      onKeyDown=${(event: KeyboardEvent) => {
        if (event.key !== 'Escape') return;
        change('');
        input.current?.blur();
      }}
    />
    <kbd aria-hidden="true">/</kbd>
  </form>`;
}

const LIVE_WORDS = { connecting: 'connecting', live: 'live', offline: 'no connection' } as const;

function LiveMark(): VNode {
  const state = connection.value;
  return html`<span class=${`live live-${state}`} role="status" title="Whether the rows below are up to date">
    ${icon('dot', 'solid')}<span>${LIVE_WORDS[state]}</span>
  </span>`;
}

function AttentionLink(): VNode {
  const count = revision.value >= 0 ? fleet.counts.attention : 0;
  return html`<a class=${`attention-link ${count > 0 ? 'some' : ''}`} href=${pathTo('fleet', {}, { tab: 'attention' })}>
    ${icon(count > 0 ? 'warning' : 'check')}<span class="figure">${count.toLocaleString('en')}</span>
    <span class="long">${count === 1 ? 'needs' : 'need'} attention</span>
  </a>`;
}

function UserMenu(): VNode | null {
  const who = session.value;
  if (who.state !== 'in') return null;
  const { actor, role } = who.who;
  const name = actor.replace(/^\w+:/, '');
  return html`<${Menu}
    name=${`${name}: account and settings`}
    label=${html`${icon('user')}<span class="user-name">${name}</span>`}
    items=${[
      { label: `Signed in as ${name}`, note: `role ${role}`, disabled: `role ${role}` },
      null,
      ...THEMES.map(
        (each): MenuItem => ({
          label: each === 'system' ? 'Colours of the system' : `${capital(each)} colours`,
          checked: theme.value === each,
          run: () => setTheme(each),
        }),
      ),
      null,
      { label: 'Keys', run: openHelp },
      { label: 'Sign out', run: () => void signOut() },
    ]}
  />`;
}
