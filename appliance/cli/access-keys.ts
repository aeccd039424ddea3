// The verbs of SSH keys and key sets, as calls of the API.

import { readFile } from 'node:fs/promises';
import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printable, printJson, standardOutput, table } from './terminal.ts';

type Key = Answer<'addSshKey'>;
type KeySet = Answer<'putKeySet'>;

export async function listKeys(options: ConnectionOptions & { readonly owner?: string }): Promise<void> {
  const query = options.owner === undefined ? {} : { owner: options.owner };
  const { keys } = await operate(await connect(options), 'listSshKeys', { query });
  const output = standardOutput();
  if (options.json) return printJson(output, keys);
  const rows = keys.map(({ id, owner, fingerprint, comment }) => [id, owner, fingerprint, comment]);
  output.write(table(output, ['ID', 'OWNER', 'FINGERPRINT', 'COMMENT'], rows));
}

export async function addKey(file: string, options: ConnectionOptions & { readonly owner?: string }): Promise<void> {
  const key = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ColdironError('usage', `cannot read ${file}: ${error.message}`);
  });
  const body = { key: key.trim(), ...(options.owner !== undefined && { owner: options.owner }) };
  printKey(await operate(await connect(options), 'addSshKey', { body }), 'is added', options);
}

export async function removeKey(reference: string, options: ConnectionOptions): Promise<void> {
  const connection = await connect(options);
  const params = { key: await keyId(connection, reference) };
  printKey(await operate(connection, 'removeSshKey', { params }), 'is removed', options);
}

function printKey(key: Key, what: string, options: ConnectionOptions): void {
  const output = standardOutput();
  if (options.json) printJson(output, key);
  else output.write(`The key ${key.id} (${key.fingerprint}) of ${printable(key.owner)} ${what}.\n`);
}

/** A fingerprint is what people have at hand; the API takes ids. */
async function keyId(connection: Connection, reference: string): Promise<string> {
  if (!reference.startsWith('SHA256:')) return reference;
  const { keys } = await operate(connection, 'listSshKeys', {});
  const found = keys.find(({ fingerprint }) => fingerprint === reference);
  if (!found) throw new ColdironError('not_found', `no key has the fingerprint ${reference}`);
  return found.id;
}

export async function listSets(options: ConnectionOptions): Promise<void> {
  const { key_sets: sets } = await operate(await connect(options), 'listKeySets', {});
  const output = standardOutput();
  if (options.json) return printJson(output, sets);
  const rows = sets.map((set) => [
    set.name,
    set.owner,
    String(set.keys.length),
    String(set.version),
    rotationText(set),
  ]);
  output.write(table(output, ['NAME', 'OWNER', 'KEYS', 'VERSION', 'ROTATION'], rows));
}

function rotationText({ rotation }: Pick<KeySet, 'rotation'>): string {
  if (rotation === null) return '';
  const { from, to, validated_with: validated } = rotation;
  return `${from} -> ${to}, ${validated === null ? 'not validated' : `validated with ${validated}`}`;
}

export async function showSet(set: string, options: ConnectionOptions): Promise<void> {
  const answer = await operate(await connect(options), 'getKeySet', { params: { set } });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  const state = answer.removed ? ', removed' : '';
  output.write(`${printable(answer.name)} of ${printable(answer.owner)}, version ${answer.version}${state}\n`);
  if (answer.rotation) output.write(`rotation: ${printable(rotationText(answer))}\n`);
  const rows = answer.versions.map(({ version, at, by, keys, removed }) => [
    String(version),
    at,
    by,
    removed ? 'removed' : keys.join(' '),
  ]);
  output.write(table(output, ['VERSION', 'WHEN', 'BY', 'KEYS'], rows));
}

interface PutOptions extends ConnectionOptions {
  readonly key: readonly string[];
  readonly owner?: string;
}

export async function putSet(set: string, options: PutOptions): Promise<void> {
  const connection = await connect(options);
  const keys = await Promise.all(options.key.map((key) => keyId(connection, key)));
  const body = { keys, ...(options.owner !== undefined && { owner: options.owner }) };
  printSet(await operate(connection, 'putKeySet', { params: { set }, body }), options);
}

export async function changeSet(
  operation: 'removeKeySet' | 'finishKeySetRotation',
  set: string,
  options: ConnectionOptions,
): Promise<void> {
  printSet(await operate(await connect(options), operation, { params: { set } }), options);
}

export async function rotateSet(
  set: string,
  options: ConnectionOptions & { readonly from: string; readonly to: string },
): Promise<void> {
  const connection = await connect(options);
  const [from, to] = [await keyId(connection, options.from), await keyId(connection, options.to)];
  printSet(await operate(connection, 'rotateKeySet', { params: { set }, body: { from, to } }), options);
}

interface ValidateOptions extends ConnectionOptions {
  readonly host: string;
  readonly user: string;
  readonly port: string;
}

export async function validateSet(set: string, options: ValidateOptions): Promise<void> {
  const body = { host: options.host, port: wholeNumber('--port', options.port), username: options.user };
  printSet(await operate(await connect(options), 'validateKeySet', { params: { set }, body }), options);
}

export async function rollBackSet(set: string, options: ConnectionOptions & { readonly to?: string }): Promise<void> {
  const body = options.to === undefined ? {} : { version: wholeNumber('--to', options.to) };
  printSet(await operate(await connect(options), 'rollBackKeySet', { params: { set }, body }), options);
}

function printSet(set: KeySet, options: ConnectionOptions): void {
  const output = standardOutput();
  const rotation = set.rotation === null ? '' : ` Rotation: ${printable(rotationText(set))}.`;
  if (options.json) printJson(output, set);
  else
    output.write(`${printable(set.name)} has ${set.keys.length} keys and is at version ${set.version}.${rotation}\n`);
}

interface DefaultOptions extends ConnectionOptions {
  readonly none?: boolean;
  readonly rollback?: boolean;
}

export async function siteDefault(
  site: string | undefined,
  set: string | undefined,
  options: DefaultOptions,
): Promise<void> {
  const chosen = [set !== undefined, options.none === true, options.rollback === true].filter(Boolean).length;
  if (chosen > 1 || (chosen === 1 && site === undefined)) {
    throw new ColdironError('usage', 'give a site, and one of: a key set, --none, --rollback');
  }
  const connection = await connect(options);
  const output = standardOutput();
  if (site === undefined || chosen === 0) {
    const { sites } = await operate(connection, 'listSiteKeySets', {});
    const wanted = sites.filter((each) => site === undefined || each.site === site);
    if (options.json) return printJson(output, wanted);
    const rows = wanted.map((each) => [each.site, each.key_set ?? 'none', each.changed_at, each.changed_by]);
    return output.write(table(output, ['SITE', 'KEY SET', 'SINCE', 'BY'], rows));
  }
  const answer = options.rollback
    ? await operate(connection, 'rollBackSiteKeySet', { params: { site } })
    : await operate(connection, 'putSiteKeySet', { params: { site }, body: { key_set: set ?? null } });
  if (options.json) return printJson(output, answer);
  output.write(`The default key set of ${printable(answer.site)} is ${printable(answer.key_set ?? 'none')}.\n`);
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number)) throw new ColdironError('usage', `${option} takes a whole number, not ${text}`);
  return number;
}
