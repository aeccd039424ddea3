// Converts the settings of installed systems: accounts, disks, images, time zones and the bootstrap script of the site.

import { parseByteSize } from '../domain/byte-size.ts';
import { parseObjectName } from '../domain/names.ts';
import { type Parsed, parsed, shown, unparsable } from '../domain/parsed.ts';
import { parseSshKeyLine } from '../domain/ssh-key.ts';
import { MAX_SUDO_COMMANDS, parseSudoCommand } from '../domain/sudo-policy.ts';
import type { DiskLayout, SiteBootstrap, SudoGrant } from '../domain/system.ts';
import type { AccountDraft, Draft, ImageDraft, Items, StorageDraft } from './drafts.ts';
import type { Fields } from './fields.ts';
import type { AccountSection, BootstrapSection, ImageSection, StorageSection } from './schema-parts.ts';

export function declareAccounts(fields: Fields<{ accounts?: AccountSection[] }>): Items<AccountDraft> {
  const taken = new Set<string>();
  return fields.items('accounts', (account) => {
    const name = account.value('name', undefined);
    if (name === 'root') account.report('name', 'root cannot log in; declare an account with admin: true instead');
    else if (name !== undefined && taken.has(name)) account.report('name', `${name} is declared twice`);
    else if (name !== undefined) taken.add(name);
    const admin = account.value('admin', false);
    return { name, sshKeys: account.list('ssh_keys', parseSshKey), admin, sudo: declareSudo(account, admin === true) };
  });
}

const NO_ROOT =
  'gives no root rights by itself: list the commands in sudo, and name who reviewed them in sudo_reviewed_by';
const BLANKET = 'gives every command as root without a password: list the commands that are needed instead';

function declareSudo(account: Fields<AccountSection>, admin: boolean): SudoGrant | null | undefined {
  if (!account.has('sudo')) {
    if (account.has('sudo_reviewed_by')) account.report('sudo_reviewed_by', 'there is no sudo to review');
    if (admin) account.warn('admin', NO_ROOT);
    return null;
  }
  if (!account.has('sudo_reviewed_by')) account.report('sudo_reviewed_by', 'is missing: name who reviewed sudo');
  const reviewer = account.value('sudo_reviewed_by', undefined);
  const commands = account.list('sudo', (text) => (text === 'all' ? parsed(text) : parseSudoCommand(text)));
  const known = commands?.filter((command) => command !== undefined) ?? [];
  if (known.includes('all') && known.length > 1) account.report('sudo', 'all cannot stand beside commands');
  if (known.length > MAX_SUDO_COMMANDS) account.report('sudo', `has more than ${MAX_SUDO_COMMANDS} commands`);
  if (known.includes('all')) account.warn('sudo', BLANKET);
  if (reviewer === undefined || known.length !== commands?.length) return undefined;
  return { commands: known.includes('all') ? 'all' : known, reviewer };
}

function parseSshKey(text: string): Parsed<string> {
  const key = parseSshKeyLine(text);
  return key.ok ? parsed(key.value.line) : key;
}

/** How many disks each layout needs. */
const DISKS: Readonly<Record<DiskLayout, { readonly min: number; readonly max: number; readonly text: string }>> = {
  single: { min: 1, max: 1, text: 'one disk' },
  luks: { min: 1, max: 1, text: 'one disk' },
  mirror: { min: 2, max: 16, text: 'two disks or more' },
  lvm: { min: 1, max: 16, text: 'one disk or more' },
  zfs: { min: 1, max: 16, text: 'one disk or more' },
};
const MEBIBYTE = 2 ** 20;

export function declareStorage(fields: Fields<{ storage?: StorageSection }>): StorageDraft | null | undefined {
  return fields.record('storage', (storage) => {
    const layout = storage.value('layout', 'single');
    const swap = storage.has('swap') ? storage.required('swap', parseByteSize) : 0;
    // The default: the only disk of the machine.
    const disks = storage.has('disks') ? storage.items('disks', declareDisk) : [{ ...ANY_DISK }];
    const needed = layout && DISKS[layout];
    if (needed && disks && (disks.length < needed.min || disks.length > needed.max)) {
      storage.report('disks', `has ${disks.length} entries, but layout ${layout} needs ${needed.text}`);
    }
    disks?.forEach((disk, at) => {
      const same = disks.slice(0, at).findIndex((other) => JSON.stringify(other) === JSON.stringify(disk));
      if (disk && same >= 0) storage.report(`disks[${at}]`, `selects the same disk as disks[${same}]`);
    });
    return {
      layout,
      disks,
      filesystem: storage.value('filesystem', 'ext4'),
      swapMegabytes: swap === undefined ? undefined : Math.round(swap / MEBIBYTE),
    };
  });
}

const ANY_DISK = { byId: null, serial: null, model: null, minBytes: null, maxBytes: null, rotational: null };

function declareDisk(disk: Fields<NonNullable<StorageSection['disks']>[number]>) {
  const minBytes = disk.optional('min_size', parseByteSize);
  const maxBytes = disk.optional('max_size', parseByteSize);
  if (minBytes && maxBytes && minBytes > maxBytes) disk.report('max_size', 'is smaller than min_size');
  return {
    byId: disk.value('by_id', null),
    serial: disk.value('serial', null),
    model: disk.value('model', null),
    minBytes,
    maxBytes,
    rotational: disk.value('rotational', null),
  };
}

export function declareImage(fields: Fields<{ image?: ImageSection }>): ImageDraft | null | undefined {
  return fields.record('image', (image) => {
    const source = image.required('source', parseImageSource);
    return {
      source,
      sha256: image.value('sha256', undefined),
      format: image.value('format', source === undefined ? undefined : formatOf(source)),
    };
  });
}

function formatOf(source: string): 'raw' | 'gzip' | 'zstd' {
  if (source.endsWith('.gz')) return 'gzip';
  return source.endsWith('.zst') ? 'zstd' : 'raw';
}

function parseImageSource(text: string): Parsed<string> {
  if (text.endsWith('.qcow2')) {
    return unparsable(
      `a qcow2 image cannot be written to a disk: convert it to raw (qemu-img convert -O raw): ${shown(text)}`,
    );
  }
  if (/^[A-Za-z0-9][A-Za-z0-9._+/-]{0,199}$/.test(text) && !text.includes('..')) return parsed(text);
  return parseUrl(text, ['http:', 'https:'], 'the name of an asset, or an http(s) URL');
}

/** Only https: nodes send secrets. */
export const parseApiUrl = (text: string): Parsed<string> =>
  parseUrl(text, ['https:'], 'a URL like https://10.0.100.10:8444');

function parseUrl(text: string, protocols: readonly string[], words: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null;
  // The reason never contains the URL: it may have a password in it.
  if (url && (url.username || url.password)) return unparsable('the URL must not contain a user name or a password');
  const plain = /^[\x21\x23-\x26\x28-\x5b\x5d-\x7e]+$/.test(text);
  if (url && plain && protocols.includes(url.protocol) && url.hash === '') return parsed(text);
  return unparsable(`must be ${words}: ${shown(text)}`);
}

/** In the notation of the zone database: systems look for a file of that name. */
export function parseTimezone(text: string): Parsed<string> {
  const known = /^[A-Za-z0-9_+/-]+$/.test(text) ? zoneNamed(text) : null;
  if (known === null) return unparsable(`not a time zone (like Europe/Berlin or UTC): ${shown(text)}`);
  const misspelt = known !== text && known.toLowerCase() === text.toLowerCase();
  return misspelt ? unparsable(`write ${known}: ${shown(text)}`) : parsed(text);
}

function zoneNamed(text: string): string | null {
  // An offset is not a zone of the database, although Intl accepts it.
  if (/^[+-]/.test(text)) return null;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

export function declareBootstrap(
  fields: Fields<{ bootstrap?: BootstrapSection }>,
): Draft<SiteBootstrap> | null | undefined {
  return fields.record('bootstrap', (bootstrap) => {
    if (bootstrap.has('script_file')) {
      bootstrap.report('script_file', 'works only in a file; over the API, send the text of the script as script');
    } else if (!bootstrap.has('script')) bootstrap.report('script_file', 'is missing');
    return {
      name: bootstrap.required('name', parseObjectName),
      version: bootstrap.value('version', undefined),
      script: bootstrap.has('script') ? bootstrap.required('script', parseScript) : undefined,
    };
  });
}

function parseScript(text: string): Parsed<string> {
  if (!text.startsWith('#!')) return unparsable('must start with #! and the program that runs it');
  return text.includes('\0') ? unparsable('has a NUL character: not a script') : parsed(text);
}
