// What a request below /boot/ asks for. A path only ever chooses among names: nothing in it is decoded, joined or resolved,
// so there is nothing to climb out of.

import { ENTRY_SCRIPT_PATH, MENU_SCRIPT_PATH, REPORT_PATH, SESSION_PATH } from '../../boot/boot-paths.ts';
import { type Mac, parseMac } from '../../domain/mac.ts';
import { shown } from '../../domain/parsed.ts';
import { parseSessionSecret, type SessionSecret } from '../../domain/session.ts';

export type BootRoute =
  | { readonly kind: 'entry-script' }
  | { readonly kind: 'menu-script' }
  | { readonly kind: 'machine-script'; readonly mac: Mac }
  | { readonly kind: 'report' }
  /** By its name in the library. */
  | { readonly kind: 'asset'; readonly name: string }
  | { readonly kind: 'session'; readonly session: SessionRoute }
  | { readonly kind: 'unknown'; readonly reason: string };

/** What is asked of a session: to be opened with a ticket, or something of one that is. */
export type SessionRoute =
  | { readonly what: 'open'; readonly ticket: SessionSecret }
  | { readonly what: 'order' | 'facts' | 'steps' | 'outcome' }
  | { readonly what: 'file'; readonly name: string };

const NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]*(?:\/[A-Za-z0-9][A-Za-z0-9._+-]*){0,5}$/;

export const isBootPath = (path: string): boolean => path.startsWith('/boot/');

/** Behind it stands a ticket: it is not for a log. */
export const isSessionPath = (path: string): boolean => path.startsWith(SESSION_PATH);

export function bootRoute(path: string): BootRoute {
  if (path === ENTRY_SCRIPT_PATH) return { kind: 'entry-script' };
  if (path === MENU_SCRIPT_PATH) return { kind: 'menu-script' };
  if (path === REPORT_PATH) return { kind: 'report' };
  if (isSessionPath(path)) return sessionRoute(path.slice(SESSION_PATH.length));
  const name = path.slice('/boot/'.length);
  if (!NAME.test(name)) return unknown(`not the path of a boot file: ${shown(path)}`);
  const [folder = '', ...rest] = name.split('/');
  const below = rest.join('/');
  if (folder === 'ipxe') return machineScript(below);
  if (below === '' && /^(?:loader|nixos)$/.test(folder)) return unknown(`a folder: ${shown(path)}`);
  switch (folder) {
    case 'loader':
      // The library keeps loaders beside these two folders; over HTTP they are not among the loaders.
      return /^(?:nixos|images)\//.test(below) ? unknown(`no loader: ${shown(path)}`) : { kind: 'asset', name: below };
    case 'nixos':
      return { kind: 'asset', name };
    default:
      return { kind: 'asset', name: `images/${name}` };
  }
}

/** The reason never repeats the path: it may hold a ticket. */
function sessionRoute(below: string): BootRoute {
  const file = /^files\/([a-z][a-z0-9.-]{0,63})$/.exec(below)?.[1];
  if (file !== undefined) return { kind: 'session', session: { what: 'file', name: file } };
  switch (below) {
    case 'order':
    case 'facts':
    case 'steps':
    case 'outcome':
      return { kind: 'session', session: { what: below } };
    default: {
      const ticket = parseSessionSecret(below);
      if (!ticket.ok) return unknown(ticket.reason);
      return { kind: 'session', session: { what: 'open', ticket: ticket.value } };
    }
  }
}

function machineScript(file: string): BootRoute {
  const mac = parseMac(/^([^/]+)\.ipxe$/.exec(file)?.[1] ?? '');
  return mac.ok ? { kind: 'machine-script', mac: mac.value } : unknown(`no script is called ${shown(file)}`);
}

const unknown = (reason: string): BootRoute => ({ kind: 'unknown', reason });
