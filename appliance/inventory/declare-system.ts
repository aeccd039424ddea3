// What installed machines are to look like: people, disks, images, clocks and the site's own first steps.

import { parseByteSize } from '../domain/byte-size.ts';
import { parseObjectName } from '../domain/names.ts';
import { type Parsed, parsed, shown, unparsable } from '../domain/parsed.ts';
import { parseSshKeyLine } from '../domain/ssh-key.ts';
import type { DiskLayout, SiteBootstrap } from '../domain/system.ts';
import type { AccountDraft, Draft, ImageDraft, Items, StorageDraft } from './drafts.ts';
import type { Fields } from './fields.ts';
import type { AccountSection, BootstrapSection, ImageSection, StorageSection } from './schema-parts.ts';

export function declareAccounts(fields: Fields<{ accounts?: AccountSection[] }>): Items<AccountDraft> {
  const taken = new Set<string>();
  return fields.items('accounts', (account) => {
    const name = account.value('name', undefined);
    if (name === 'root')
      account.report('name', 'root has no login of its own; an account with admin: true may become it');
    else if (name !== undefined && taken.has(name)) account.report('name', `${name} is there already`);
    else if (name !== undefined) taken.add(name);
    return { name, sshKeys: account.list('ssh_keys', parseSshKey), admin: account.value('admin', false) };
  });
}

function parseSshKey(text: string): Parsed<string> {
  const key = parseSshKeyLine(text);
  return key.ok ? parsed(key.value.line) : key;
}

/** How many disks each layout is made of. */
const DISKS: Readonly<Record<DiskLayout, { readonly least: number; readonly most: number; readonly words: string }>> = {
  single: { least: 1, most: 1, words: 'one disk' },
  luks: { least: 1, most: 1, words: 'one disk' },
  mirror: { least: 2, most: 16, words: 'two disks or more' },
  lvm: { least: 1, most: 16, words: 'one disk or more' },
  zfs: { least: 1, most: 16, words: 'one disk or more' },
};
const MEBIBYTE = 2 ** 20;

export function declareStorage(fields: Fields<{ storage?: StorageSection }>): StorageDraft | null | undefined {
  return fields.record('storage', (storage) => {
    const layout = storage.value('layout', 'single');
    const swap = storage.has('swap') ? storage.required('swap', parseByteSize) : 0;
    // The only disk of the machine, whatever it is.
    const disks = storage.has('disks') ? storage.items('disks', declareDisk) : [{ ...ANY_DISK }];
    const wanted = layout && DISKS[layout];
    if (wanted && disks && (disks.length < wanted.least || disks.length > wanted.most)) {
      storage.report('disks', `names ${disks.length}, but layout ${layout} has ${wanted.words}`);
    }
    disks?.forEach((disk, at) => {
      const same = disks.slice(0, at).findIndex((other) => JSON.stringify(other) === JSON.stringify(disk));
      if (disk && same >= 0) storage.report(`disks[${at}]`, `asks for the same disk as disks[${same}]`);
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
    return unparsable(`is written to the disk as it is: convert it first (qemu-img convert -O raw): ${shown(text)}`);
  }
  if (/^[A-Za-z0-9][A-Za-z0-9._+/-]{0,199}$/.test(text) && !text.includes('..')) return parsed(text);
  return parseUrl(text, ['http:', 'https:'], 'the name of an asset, or an http(s) URL');
}

/** https alone: nodes send what nobody else may read. */
export const parseApiUrl = (text: string): Parsed<string> =>
  parseUrl(text, ['https:'], 'a URL like https://10.0.100.10:8444');

function parseUrl(text: string, protocols: readonly string[], words: string): Parsed<string> {
  const url = URL.canParse(text) ? new URL(text) : null;
  // Never repeated in the reason: it may have a password in it.
  if (url && (url.username || url.password)) return unparsable('a URL here has no user name and no password');
  const plain = /^[\x21\x23-\x26\x28-\x5b\x5d-\x7e]+$/.test(text);
  if (url && plain && protocols.includes(url.protocol) && url.hash === '') return parsed(text);
  return unparsable(`must be ${words}: ${shown(text)}`);
}

/** As the zone database spells it: systems look for a file of that name. */
export function parseTimezone(text: string): Parsed<string> {
  const known = /^[A-Za-z0-9_+/-]+$/.test(text) ? zoneNamed(text) : null;
  if (known === null) return unparsable(`not a time zone (like Europe/Berlin or UTC): ${shown(text)}`);
  const misspelt = known !== text && known.toLowerCase() === text.toLowerCase();
  return misspelt ? unparsable(`write ${known}: ${shown(text)}`) : parsed(text);
}

function zoneNamed(text: string): string | null {
  // An offset is no zone of the database, although the library takes it.
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
      bootstrap.report('script_file', 'is read from where the file is; here, send the script itself as script');
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
