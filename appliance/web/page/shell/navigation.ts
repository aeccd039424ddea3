// The pages that the navigation offers. A page that has its own entry is a row here.

import { mayActAs, type Role } from '../../../domain/token.ts';
import type { PageName } from '../page-paths.ts';
import type { IconName } from '../parts/icon.ts';
import { session } from '../session.ts';

interface NavigationEntry {
  readonly page: PageName;
  readonly label: string;
  readonly icon: IconName;
  /** Key after `g`. */
  readonly key: string;
  readonly role?: Role;
  /** `bar`: always visible. `phone`: in the bar of a phone too. `more`: in the menu. */
  readonly where: 'phone' | 'bar' | 'more';
}

export const NAVIGATION: readonly NavigationEntry[] = [
  { page: 'fleet', label: 'Fleet', icon: 'list', key: 'f', where: 'phone' },
  { page: 'racks', label: 'Racks', icon: 'rack', key: 'r', where: 'phone' },
  { page: 'technician', label: 'Technician', icon: 'scan', key: 't', where: 'phone' },
  { page: 'networks', label: 'Networks', icon: 'network', key: 'n', where: 'bar' },
  { page: 'inventory', label: 'Inventory', icon: 'file', key: 'i', where: 'bar' },
  { page: 'events', label: 'Events', icon: 'clock', key: 'e', where: 'phone' },
  { page: 'explain', label: 'Explain', icon: 'search', key: 'x', where: 'more' },
  { page: 'clusters', label: 'Clusters', icon: 'network', key: 'c', where: 'more' },
  { page: 'images', label: 'Images', icon: 'file', key: 'm', where: 'more' },
  { page: 'tokens', label: 'Tokens', icon: 'lock', key: 'k', where: 'more', role: 'admin' },
  { page: 'appliance', label: 'Appliance', icon: 'anvil', key: 'a', where: 'more' },
];

export const offered = (): NavigationEntry[] => {
  const who = session.value;
  return NAVIGATION.filter(({ role }) => role === undefined || (who.state === 'in' && mayActAs(who.who.role, role)));
};

/** Pages below a page of the navigation. */
const PARENTS: Readonly<Partial<Record<PageName, PageName>>> = {
  node: 'fleet',
  console: 'fleet',
  rack: 'racks',
  technicianNode: 'technician',
};

export const navigationPage = (page: PageName | null): PageName | null =>
  page === null ? null : (PARENTS[page] ?? page);
