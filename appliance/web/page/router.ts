// Which page is shown. The URL is the state: path for the page, query for filters, tabs and time ranges.

import { computed, signal } from '@preact/signals';
import { type Place, placeOf } from './place.ts';

export { pathTo } from './place.ts';

const address = signal('http://appliance.invalid/');
export const place = computed<Place>(() => placeOf(new URL(address.value)));

export function startRouter(): void {
  address.value = location.href;
  addEventListener('popstate', () => {
    address.value = location.href;
  });
  document.addEventListener('click', followLink);
}

export function navigate(path: string, how: 'push' | 'replace' = 'push'): void {
  if (new URL(path, location.href).href === location.href) return;
  if (how === 'push') history.pushState(null, '', path);
  else history.replaceState(null, '', path);
  const before = place.peek();
  address.value = location.href;
  if (before.path !== place.peek().path) scrollTo(0, 0);
}

/** Changes some values of the query; null removes one. `replace` for what Back should not step through, such as typing. */
export function setQuery(changes: Readonly<Record<string, string | null>>, how: 'push' | 'replace' = 'replace'): void {
  const query = new URLSearchParams(place.peek().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  navigate(place.peek().path + (text === '' ? '' : `?${text}`), how);
}

/** Links are ordinary `<a href>`: opening in a new tab and copying work, and a plain click does not load the document again. */
function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest('a[href]');
  if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return;
  // `data-load`: the document of the target has other rights, so it must be loaded.
  if (link.origin !== location.origin || link.dataset.load !== undefined) return;
  if (placeOf(new URL(link.href)).page === null) return;
  event.preventDefault();
  navigate(link.pathname + link.search + link.hash);
}
