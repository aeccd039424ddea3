// Tabs whose choice is in the URL. They are links, so that each can be opened and shared.

import type { VNode } from 'preact';
import { type Child, html } from '../html.ts';
import { place } from '../router.ts';

export interface TabLink {
  /** The value of the query parameter; the first tab has none. */
  readonly id: string;
  readonly label: Child;
  readonly count?: number;
}

export function TabLinks({ name, label, tabs }: { name: string; label: string; tabs: readonly TabLink[] }): VNode {
  const { path, query } = place.value;
  const chosen = query.get(name) ?? tabs[0]?.id;
  const href = (id: string, at: number): string => {
    const next = new URLSearchParams(query);
    if (at === 0) next.delete(name);
    else next.set(name, id);
    const text = next.toString();
    return path + (text === '' ? '' : `?${text}`);
  };
  return html`<nav class="tabs" aria-label=${label}>
    ${tabs.map(
      (tab, at) =>
        html`<a href=${href(tab.id, at)} aria-current=${tab.id === chosen ? 'page' : undefined} key=${tab.id}
          >${tab.label}${tab.count !== undefined && html`<span class="count">${tab.count.toLocaleString('en')}</span>`}</a
        >`,
    )}
  </nav>`;
}
