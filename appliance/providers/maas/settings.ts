// `maas:` of the site file, and the environment variables that stand for it: where MAAS is, and the key that it knows us by.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Static, Type } from 'typebox';
import type { Report, ValidPart } from '../../documents/structure.ts';
import { type Instant, SECOND } from '../../domain/instant.ts';
import { type Parsed, parsed, shown, unparsable } from '../../domain/parsed.ts';
import { Secret } from '../../domain/secret.ts';
import { isBelow } from '../../identity/vault/confined-file.ts';
import { readPrivately } from '../../identity/vault/private-file.ts';
import { type MaasKey, parseMaasKey } from './oauth.ts';

const closed = { additionalProperties: false } as const;
const path = () => Type.String({ pattern: '^[^\\0]+$', description: 'a path' });

export const MaasDocument = Type.Object(
  {
    url: Type.Optional(Type.String()),
    token_file: Type.Optional(path()),
    timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 900 })),
    ca_file: Type.Optional(path()),
  },
  closed,
);

export interface MaasSettings {
  /** Ends in `/api/2.0/`. */
  readonly api: URL;
  /** For one answer. */
  readonly timeout: Instant;
  /** PEM; null: the authorities of the system. */
  readonly ca: string | null;
  /** Read for each request, so that a new key counts at once. A reason, which never has the key in it. */
  readonly key: () => Promise<Parsed<MaasKey>>;
}

/** Their names are those of the runbook that sites already use. */
const VARIABLES = { url: 'MAAS_API_BASE_URL', token: 'MAAS_API_TOKEN', timeout: 'MAAS_API_TIMEOUT_MS' } as const;

/** MAAS answers some requests only after a BMC has answered it. */
const DEFAULT_TIMEOUT: Instant = 120 * SECOND;
const LONGEST_TIMEOUT: Instant = 900 * SECOND;

export interface MaasPlaces {
  /** Of the site file, which paths are relative to. */
  readonly folder: string;
  readonly state: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Null: neither the file nor the environment names a MAAS. A key of the file takes precedence over its variable. */
export async function readMaasSettings(
  document: ValidPart<Static<typeof MaasDocument>> | undefined,
  { folder, state, environment }: MaasPlaces,
  report: Report,
): Promise<MaasSettings | null> {
  const variable = (name: string): string | null => environment[name]?.trim() || null;
  const text = document?.url ?? variable(VARIABLES.url);
  if (document === undefined && text === null) return null;
  const at = (key: 'url' | 'timeout'): string =>
    (key === 'url' ? document?.url : document?.timeout_seconds) === undefined
      ? VARIABLES[key]
      : `maas.${key === 'url' ? 'url' : 'timeout_seconds'}`;
  const api = text === null ? unparsable(`missing: where MAAS is, such as http://10.0.0.5:5240/MAAS`) : parseApi(text);
  if (!api.ok) report(text === null ? 'maas.url' : at('url'), api.reason);
  const timeout = timeoutOf(document?.timeout_seconds, variable(VARIABLES.timeout));
  if (!timeout.ok) report(at('timeout'), timeout.reason);
  const key = keySource(document?.token_file && resolve(folder, document.token_file), variable(VARIABLES.token), state);
  if (!key.ok) report('maas.token_file', key.reason);
  const first = key.ok ? await key.value() : null;
  if (first?.ok === false)
    report(document?.token_file === undefined ? VARIABLES.token : 'maas.token_file', first.reason);
  const ca = await caOf(document?.ca_file && resolve(folder, document.ca_file), report);
  if (!api.ok || !timeout.ok || !key.ok || !first?.ok) return null;
  return { api: api.value, timeout: timeout.value, ca, key: key.value };
}

/** With or without `/MAAS`, `/api/2.0` and a slash at the end. */
export function parseApi(text: string): Parsed<URL> {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return unparsable(`not an http or https URL: ${shown(text)}`);
  }
  if (url.username !== '' || url.password !== '') {
    return unparsable('a URL without a user name and a password: the key of MAAS belongs in token_file');
  }
  if (url.search !== '' || url.hash !== '') return unparsable(`a URL without ? and #: ${shown(text)}`);
  const base = url.pathname.replace(/\/+$/, '').replace(/\/api(\/2\.0)?$/, '');
  url.pathname = `${base === '' ? '/MAAS' : base}/api/2.0/`;
  return parsed(url);
}

function timeoutOf(seconds: number | undefined, milliseconds: string | null): Parsed<Instant> {
  if (seconds !== undefined) return parsed(seconds * SECOND);
  if (milliseconds === null) return parsed(DEFAULT_TIMEOUT);
  const value = /^\d{1,9}$/.test(milliseconds) ? Number(milliseconds) : 0;
  return value >= SECOND && value <= LONGEST_TIMEOUT
    ? parsed(value)
    : unparsable(`must be from ${SECOND} to ${LONGEST_TIMEOUT} milliseconds: ${shown(milliseconds)}`);
}

/** The variable is read once: its text is not kept as text. */
function keySource(file: string | undefined, variable: string | null, state: string): Parsed<MaasSettings['key']> {
  if (file !== undefined && isBelow(state, file)) {
    return unparsable(`must be outside the state folder ${state}: ${file}`);
  }
  if (file !== undefined) return parsed(() => readKey(file));
  if (variable === null) return unparsable(`missing: a file with the API key of MAAS, consumer:token:secret`);
  const secret = new Secret(variable);
  return parsed(async () => parseMaasKey(new TextDecoder().decode(secret.reveal()), VARIABLES.token));
}

async function readKey(file: string): Promise<Parsed<MaasKey>> {
  const read = await readPrivately(file, 'group');
  if (read.kind === 'absent') return unparsable(`there is no file ${file}`);
  if (read.kind === 'refused') return unparsable(read.reason);
  return parseMaasKey(read.bytes.toString('utf8').trim(), file);
}

async function caOf(file: string | undefined, report: Report): Promise<string | null> {
  if (file === undefined) return null;
  const pem = await readFile(file, 'utf8').catch(() => null);
  if (pem?.includes('-----BEGIN CERTIFICATE-----')) return pem;
  report('maas.ca_file', pem === null ? `cannot be read: ${file}` : `has no PEM certificate: ${file}`);
  return null;
}
