// The receivers of the site file (`export:`): their schema, and what it says in the terms of this folder.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Static, Type } from 'typebox';
import type { Report, ValidPart } from '../documents/structure.ts';
import { SEVERITIES } from '../domain/events/event-row.ts';
import { EVENT_KINDS } from '../domain/events/event-table.ts';
import { shown } from '../domain/parsed.ts';
import { LABELS, type Label } from './message.ts';
import type { Selection } from './select.ts';
import { FACILITY_NAMES, type Facility } from './syslog-message.ts';

const closed = { additionalProperties: false } as const;
const path = () => Type.String({ pattern: '^[^\\0]+$', description: 'a path' });

export const ExportDocument = Type.Array(
  Type.Object(
    {
      name: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,62}$', description: 'a name: lower case, digits and "-"' }),
      webhook: Type.Optional(
        Type.Object({ url: Type.String(), secret_file: path(), ca_file: Type.Optional(path()) }, closed),
      ),
      loki: Type.Optional(
        Type.Object(
          {
            url: Type.String(),
            tenant: Type.Optional(Type.String({ pattern: '^[\\w.-]{1,150}$', description: 'the name of a tenant' })),
            username: Type.Optional(Type.String({ pattern: '^[^:\\0-\\x1f]{1,255}$', description: 'a user name' })),
            password_file: Type.Optional(path()),
            token_file: Type.Optional(path()),
            ca_file: Type.Optional(path()),
            stream_labels: Type.Optional(Type.Array(Type.Enum([...LABELS]))),
          },
          closed,
        ),
      ),
      syslog: Type.Optional(
        Type.Object(
          {
            address: Type.String(),
            transport: Type.Optional(Type.Enum(['udp', 'tcp', 'tls'])),
            facility: Type.Optional(Type.Enum([...FACILITY_NAMES])),
            ca_file: Type.Optional(path()),
          },
          closed,
        ),
      ),
      kinds: Type.Optional(Type.Array(Type.String())),
      severity: Type.Optional(Type.Enum([...SEVERITIES])),
      nodes: Type.Optional(Type.Array(Type.String())),
      backfill: Type.Optional(Type.Boolean()),
    },
    closed,
  ),
);

type ReceiverDocument = NonNullable<ValidPart<Static<typeof ExportDocument>>[number]>;

export interface WebhookSettings {
  readonly kind: 'webhook';
  readonly url: URL;
  readonly secretFile: string;
  /** PEM; null: the authorities of the system. */
  readonly ca: string | null;
}

export interface LokiSettings {
  readonly kind: 'loki';
  readonly url: URL;
  readonly ca: string | null;
  readonly tenant: string | null;
  /** Without a user name, the file contains a bearer token. */
  readonly login: { readonly username: string | null; readonly file: string } | null;
  readonly streamLabels: readonly Label[];
}

export interface SyslogSettings {
  readonly kind: 'syslog';
  readonly transport: 'udp' | 'tcp' | 'tls';
  readonly host: string;
  readonly port: number;
  readonly facility: Facility;
  readonly ca: string | null;
}

export interface ReceiverSettings {
  readonly name: string;
  readonly target: WebhookSettings | LokiSettings | SyslogSettings;
  readonly selection: Selection;
  /** A new receiver also gets the events that are already in the log. */
  readonly backfill: boolean;
}

/** Where it is, for a person. URLs of the site file contain no credentials. */
export const targetText = ({ target }: ReceiverSettings): string =>
  target.kind === 'syslog' ? `${target.transport}://${target.host}:${target.port}` : target.url.href;

/** `folder`: of the site file, which paths are relative to. */
export async function readReceivers(
  documents: ValidPart<Static<typeof ExportDocument>>,
  folder: string,
  report: Report,
): Promise<ReceiverSettings[]> {
  const found: ReceiverSettings[] = [];
  for (const [index, document] of documents.entries()) {
    if (document?.name === undefined) continue;
    const { name, kinds = [], severity = 'info', nodes = [], backfill = false } = document;
    const at = `export[${index}]`;
    if (found.some((each) => each.name === name)) report(`${at}.name`, `${name} is the name of two receivers`);
    const target = await targetOf(document, at, folder, report);
    const known = kinds.filter((kind) => kind !== undefined);
    for (const kind of known)
      if (!isKind(kind)) report(`${at}.kinds`, `no event has the kind ${shown(kind)}: see docs/events.md`);
    const selection = { kinds: known, severity, nodes: nodes.filter((node) => node !== undefined) };
    if (target) found.push({ name, target, selection, backfill });
  }
  return found;
}

const isKind = (text: string): boolean => EVENT_KINDS.some((kind) => kind === text || kind.startsWith(`${text}.`));

const KINDS = ['webhook', 'loki', 'syslog'] as const;

async function targetOf(
  document: ReceiverDocument,
  at: string,
  folder: string,
  report: Report,
): Promise<ReceiverSettings['target'] | null> {
  const given = KINDS.filter((kind) => Object.hasOwn(document, kind));
  if (given.length !== 1) {
    report(at, `needs exactly one of ${KINDS.join(', ')}; it has ${given.length === 0 ? 'none' : given.join(', ')}`);
    return null;
  }
  const { webhook, loki, syslog } = document;
  if (webhook) return webhookTarget(webhook, `${at}.webhook`, folder, report);
  if (loki) return lokiTarget(loki, `${at}.loki`, folder, report);
  return syslog ? syslogTarget(syslog, `${at}.syslog`, folder, report) : null;
}

async function webhookTarget(
  { url: text, secret_file, ca_file }: NonNullable<ReceiverDocument['webhook']>,
  at: string,
  folder: string,
  report: Report,
): Promise<WebhookSettings | null> {
  const url = urlOf(text, `${at}.url`, report);
  const ca = await caOf(ca_file, `${at}.ca_file`, folder, report);
  if (!url || secret_file === undefined) return null;
  return { kind: 'webhook', url, secretFile: resolve(folder, secret_file), ca };
}

async function lokiTarget(
  document: NonNullable<ReceiverDocument['loki']>,
  at: string,
  folder: string,
  report: Report,
): Promise<LokiSettings | null> {
  const { url: text, tenant, username, password_file, token_file, ca_file, stream_labels = ['site_id'] } = document;
  const url = urlOf(text, `${at}.url`, report);
  const ca = await caOf(ca_file, `${at}.ca_file`, folder, report);
  if ((username === undefined) !== (password_file === undefined)) {
    report(at, 'username and password_file belong together');
  }
  if (token_file !== undefined && username !== undefined)
    report(at, 'has a token_file and a username: use one of them');
  const file = password_file ?? token_file;
  if (url && file !== undefined && url.protocol === 'http:' && !isThisHost(url.hostname)) {
    report(`${at}.url`, 'the password or token would be sent unencrypted: use https');
  }
  if (!url) return null;
  return {
    kind: 'loki',
    url,
    ca,
    tenant: tenant ?? null,
    login: file === undefined ? null : { username: username ?? null, file: resolve(folder, file) },
    streamLabels: stream_labels.filter((label) => label !== undefined),
  };
}

const STANDARD_PORT = { udp: 514, tcp: 514, tls: 6514 } as const;

async function syslogTarget(
  { address, transport = 'tcp', facility = 'local0', ca_file }: NonNullable<ReceiverDocument['syslog']>,
  at: string,
  folder: string,
  report: Report,
): Promise<SyslogSettings | null> {
  if (ca_file !== undefined && transport !== 'tls') report(`${at}.ca_file`, 'has a meaning only with transport: tls');
  const ca = await caOf(ca_file, `${at}.ca_file`, folder, report);
  if (address === undefined) return null;
  const [, host, port] = /^([A-Za-z0-9][\w.-]{0,252})(?::(\d{1,5}))?$/.exec(address) ?? [];
  if (host === undefined || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) {
    report(`${at}.address`, `must be a host and a port, like logs.example.net:6514: ${shown(address)}`);
    return null;
  }
  return { kind: 'syslog', transport, host, port: Number(port ?? STANDARD_PORT[transport]), facility, ca };
}

/** The address is shown in the API, so it must not contain a password. */
function urlOf(text: string | undefined, at: string, report: Report): URL | null {
  if (text === undefined) return null;
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    report(at, `must be a URL that begins with https:// or http://: ${shown(text.replace(/\/\/[^/@]*@/, '//…@'))}`);
    return null;
  }
  if (url.username !== '' || url.password !== '') {
    report(at, 'must not contain a user name or password: the file that is named beside it has the secret');
    return null;
  }
  return url;
}

const isThisHost = (host: string): boolean => host === 'localhost' || host === '[::1]' || /^127\./.test(host);

async function caOf(file: string | undefined, at: string, folder: string, report: Report): Promise<string | null> {
  if (file === undefined) return null;
  const found = resolve(folder, file);
  const text = await readFile(found, 'utf8').catch(() => null);
  if (text?.includes('-----BEGIN CERTIFICATE-----')) return text;
  report(at, text === null ? `cannot be read: ${found}` : `contains no PEM certificate: ${found}`);
  return null;
}
