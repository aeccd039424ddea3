// `coldiron ui`: prints a link that opens the web page. The code is in the fragment of the URL, which browsers send to nobody.

import { ColdironError } from '../domain/errors.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput } from './terminal.ts';

interface UiOptions extends ConnectionOptions {
  readonly url?: string;
}

export async function printSignInLink(options: UiOptions): Promise<void> {
  const base = options.url ?? options.server;
  if (base !== undefined && !/^https?:\/\//.test(base)) {
    throw new ColdironError('usage', `--url takes a URL like https://appliance:8443, not ${base}`);
  }
  const { url, expires_at } = await signInLink(await connect(options), base);
  const output = standardOutput();
  if (options.json) return printJson(output, { url, expires_at });
  output.write(`${url}\n`);
}

/** `base`: how browsers reach the appliance, when that is not the address on which it listens. */
export async function signInLink(
  connection: Connection,
  base?: string,
): Promise<{ readonly url: string; readonly expires_at: string }> {
  const { code, url, expires_at } = await operate(connection, 'createSignInCode', { body: {} });
  const link = base === undefined ? url : `${base.replace(/\/+$/, '')}/sign-in#code=${code}`;
  if (link === null) throw new ColdironError('service_unavailable', 'the management listener is not up yet; try again');
  return { url: link, expires_at };
}
