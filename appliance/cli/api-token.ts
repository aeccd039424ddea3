// API tokens from the command line: list, create, revoke. The text of a new one is shown once.

import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import { ROLES } from '../domain/token.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput, table } from './terminal.ts';

export async function listApiTokens(options: ConnectionOptions): Promise<void> {
  const { tokens } = await operate(await connect(options), 'listTokens', {});
  const output = standardOutput();
  if (options.json) return printJson(output, tokens);
  const rows = tokens.map(({ id, name, role, usable, revoked_at, expires_at }) => [
    id,
    name,
    role,
    usable ? 'usable' : revoked_at ? 'revoked' : 'expired',
    expires_at ?? 'never',
  ]);
  output.write(table(output, ['ID', 'NAME', 'ROLE', 'STATE', 'EXPIRES'], rows));
}

interface CreateOptions extends ConnectionOptions {
  readonly role: string;
  readonly expiresInHours?: string;
  readonly output?: string;
}

export async function createApiToken(name: string, options: CreateOptions): Promise<void> {
  const role = ROLES.find((each) => each === options.role);
  if (role === undefined) throw new ColdironError('usage', `--role is one of ${ROLES.join(', ')}, not ${options.role}`);
  const hours = options.expiresInHours === undefined ? undefined : Number(options.expiresInHours);
  if (hours !== undefined && !Number.isInteger(hours)) {
    throw new ColdironError('usage', `--expires-in-hours takes a whole number, not ${options.expiresInHours}`);
  }
  const connection = await connect(options);
  // The file comes first: a token that cannot be written down must not be made.
  const handle = options.output === undefined ? null : await newFile(resolve(options.output));
  try {
    const body = { name, role, ...(hours !== undefined && { expires_in_hours: hours }) };
    const { token, ...made } = await operate(connection, 'createToken', { body });
    const output = standardOutput();
    if (handle === null) {
      if (options.json) return printJson(output, { ...made, token });
      return output.write(`${token}\n`);
    }
    await handle.writeFile(`${token}\n`);
    await handle.sync();
    if (options.json) return printJson(output, { ...made, file: options.output });
    output.write(`${options.output} holds the token ${made.name} (${made.id}) with the role ${made.role}.\n`);
  } finally {
    await handle?.close();
  }
}

async function newFile(file: string) {
  try {
    return await open(file, 'wx', 0o600);
  } catch (error) {
    throw new ColdironError('usage', `cannot create ${file}: ${(error as Error).message}`);
  }
}

export async function revokeApiToken(reference: string, options: ConnectionOptions): Promise<void> {
  const connection = await connect(options);
  const { tokens } = await operate(connection, 'listTokens', {});
  const found =
    tokens.find(({ id }) => id === reference) ?? tokens.find(({ name, usable }) => usable && name === reference);
  if (!found) throw new ColdironError('not_found', `no token has this id, and no usable token this name: ${reference}`);
  const revoked = await operate(connection, 'revokeToken', { params: { token: found.id } });
  const output = standardOutput();
  if (options.json) return printJson(output, revoked);
  output.write(`The token ${revoked.name} (${revoked.id}) is revoked.\n`);
}
