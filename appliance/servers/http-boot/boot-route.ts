// Parses the path of a request below /boot/. A path only selects among known names: nothing in it is decoded, joined or
// resolved, so path traversal is impossible.

import {
  ENTRY_SCRIPT_PATH,
  MEDIUM_PATH,
  MENU_SCRIPT_PATH,
  mediumNameIn,
  REPORT_PATH,
  SESSION_PATH,
} from '../../boot/boot-paths.ts';
import { type Mac, parseMac } from '../../domain/mac.ts';
import { shown } from '../../domain/parsed.ts';
import { parseSessionSecret, type SessionSecret } from '../../domain/session.ts';

export type BootRoute =
  | { readonly kind: 'entry-script' }
  | { readonly kind: 'menu-script' }
  | { readonly kind: 'machine-script'; readonly mac: Mac }
  | { readonly kind: 'report' }
  /** `name`: in the library. */
  | { readonly kind: 'asset'; readonly name: string }
  | { readonly kind: 'session'; readonly session: SessionRoute }
  /** `name`: unguessable, so it must not be logged. */
  | { readonly kind: 'medium'; readonly name: string }
  | { readonly kind: 'unknown'; readonly reason: string };

/** A session request: open one with a ticket, or use an open one. */
export type SessionRoute =
  | { readonly what: 'open'; readonly ticket: SessionSecret }
  | { readonly what: 'order' | 'facts' | 'steps' | 'outcome' }
  | { readonly what: 'file'; readonly name: string };

const NAME = /^[A-Za-z0-9][A-Za-z0-9._+-]*(?:\/[A-Za-z0-9][A-Za-z0-9._+-]*){0,5}$/;

export const isBootPath = (path: string): boolean => path.startsWith('/boot/');

export const isSessionPath = (path: string): boolean => path.startsWith(SESSION_PATH);

/** The start of a path whose rest must not be logged: a ticket, or the name of a medium. Null: the path is no secret. */
export const secretPathStart = (path: string): string | null =>
  [SESSION_PATH, MEDIUM_PATH].find((start) => path.startsWith(start)) ?? null;

export function bootRoute(path: string): BootRoute {
  if (path === ENTRY_SCRIPT_PATH) return { kind: 'entry-script' };
  if (path === MENU_SCRIPT_PATH) return { kind: 'menu-script' };
  if (path === REPORT_PATH) return { kind: 'report' };
  if (isSessionPath(path)) return sessionRoute(path.slice(SESSION_PATH.length));
  if (path.startsWith(MEDIUM_PATH)) {
    const medium = mediumNameIn(path);
    return medium === null ? unknown('no medium has this name') : { kind: 'medium', name: medium };
  }
  const name = path.slice('/boot/'.length);
  if (!NAME.test(name)) return unknown(`no boot file has this path: ${shown(path)}`);
  const [folder = '', ...rest] = name.split('/');
  const below = rest.join('/');
  if (folder === 'ipxe') return machineScript(below);
  if (below === '' && /^(?:loader|nixos)$/.test(folder)) return unknown(`${shown(path)} is a folder, not a file`);
  switch (folder) {
    case 'loader':
      // The library keeps loaders next to these two folders; over HTTP they are not below loader/.
      return /^(?:nixos|images)\//.test(below)
        ? unknown(`${shown(path)} is not a loader`)
        : { kind: 'asset', name: below };
    case 'nixos':
      return { kind: 'asset', name };
    default:
      return { kind: 'asset', name: `images/${name}` };
  }
}

/** The reason never contains the path: it may hold a ticket. */
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
  return mac.ok ? { kind: 'machine-script', mac: mac.value } : unknown(`no script has the name ${shown(file)}`);
}

const unknown = (reason: string): BootRoute => ({ kind: 'unknown', reason });
