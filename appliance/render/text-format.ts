// Inserts a value into a text of each format so that it stays one value. What cannot be made safe is rejected, not altered.

import { env } from './formats/env.ts';
import { grub } from './formats/grub.ts';
import { hosts } from './formats/hosts.ts';
import { ipxe } from './formats/ipxe.ts';
import { json } from './formats/json.ts';
import { nftables } from './formats/nftables.ts';
import { nix } from './formats/nix.ts';
import { shell } from './formats/shell.ts';
import { unit } from './formats/unit.ts';
import { yaml } from './formats/yaml.ts';
import { zone } from './formats/zone.ts';

export const TEXT_FORMATS = { ipxe, grub, nix, yaml, json, shell, env, unit, zone, hosts, nftables } as const;
export type TextFormatName = keyof typeof TEXT_FORMATS;

/** Folders whose templates all have one format, and no extension. */
const BY_FOLDER: Readonly<Record<string, TextFormatName>> = { ipxe: 'ipxe', grub: 'grub' };

const BY_EXTENSION: Readonly<Record<string, TextFormatName>> = {
  nix: 'nix',
  yaml: 'yaml',
  yml: 'yaml',
  json: 'json',
  sh: 'shell',
  env: 'env',
  conf: 'unit',
  service: 'unit',
  socket: 'unit',
  timer: 'unit',
  path: 'unit',
  mount: 'unit',
  swap: 'unit',
  network: 'unit',
  netdev: 'unit',
  link: 'unit',
  zone: 'zone',
  hosts: 'hosts',
  nft: 'nftables',
};

/** By template name: `ipxe/installer` by its folder, `nixos/configuration.nix` by its extension. */
export function formatOf(template: string): TextFormatName | null {
  const own = (table: Readonly<Record<string, TextFormatName>>, key: string): TextFormatName | null =>
    Object.hasOwn(table, key) ? (table[key] ?? null) : null;
  return own(BY_FOLDER, template.split('/', 1)[0] ?? '') ?? own(BY_EXTENSION, extensionOf(template));
}

/** Without the dot; empty if there is none. */
export const extensionOf = (template: string): string => /\.([a-z]+)$/.exec(template)?.[1] ?? '';
