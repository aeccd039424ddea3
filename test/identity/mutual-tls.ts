// The node API's TLS handshake with real peers: a server with the appliance's credentials that requests a client certificate,
// and two clients.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import type { ServerCredentials } from '../../appliance/identity/authority.ts';

export interface ClientMaterial {
  readonly trustPem: string;
  readonly certificatePem?: string;
  readonly keyPem?: string;
}

export interface ClientOutcome {
  readonly status: number | null;
  readonly output: string;
}

/** Replies `hello <common name>` to clients whose certificate `trustPem` verifies, and to others only with `optional`. */
export async function withNodeApi<T>(
  { chainPem, keyPem, trustPem }: Pick<ServerCredentials, 'chainPem' | 'keyPem' | 'trustPem'>,
  work: (port: number) => Promise<T>,
  certificate: 'required' | 'optional' = 'required',
): Promise<T> {
  const server: Server = createServer(
    { cert: chainPem, key: keyPem, ca: trustPem, requestCert: true, rejectUnauthorized: certificate === 'required' },
    (request, response) => {
      const peer = (request.socket as TLSSocket).getPeerX509Certificate();
      response.end(`hello ${/CN=(.*)/.exec(peer?.subject ?? '')?.[1]}\n`);
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
}

export const curl = (port: number, client: ClientMaterial): Promise<ClientOutcome> =>
  withMaterial(client, (files) =>
    run('curl', [
      ...['--silent', '--show-error', '--max-time', '20', '--noproxy', '*'],
      ...['--cacert', files.trust],
      ...(client.certificatePem ? ['--cert', files.certificate, '--key', files.key] : []),
      `https://127.0.0.1:${port}/`,
    ]),
  );

export const opensslClient = (port: number, client: ClientMaterial): Promise<ClientOutcome> =>
  withMaterial(client, (files) =>
    run(
      'openssl',
      [
        ...['s_client', '-connect', `127.0.0.1:${port}`, '-quiet', '-verify_return_error', '-verify_ip', '127.0.0.1'],
        ...['-CAfile', files.trust],
        // The leaf, followed by the intermediate certificates.
        ...(client.certificatePem
          ? ['-cert', files.certificate, '-cert_chain', files.certificate, '-key', files.key]
          : []),
      ],
      'GET / HTTP/1.0\r\n\r\n',
    ),
  );

async function withMaterial(
  { trustPem, certificatePem = '', keyPem = '' }: ClientMaterial,
  work: (files: Readonly<Record<'trust' | 'certificate' | 'key', string>>) => Promise<ClientOutcome>,
): Promise<ClientOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-tls-'));
  const files = { trust: join(folder, 'trust'), certificate: join(folder, 'certificate'), key: join(folder, 'key') };
  try {
    writeFileSync(files.trust, trustPem);
    writeFileSync(files.certificate, certificatePem);
    writeFileSync(files.key, keyPem, { mode: 0o600 });
    return await work(files);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Keeps the input open: s_client exits at the end of its input without waiting for the reply. */
async function run(command: string, args: readonly string[], input = ''): Promise<ClientOutcome> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    output += chunk;
  });
  child.stdin.on('error', () => undefined);
  child.stdin.write(input);
  try {
    const [status] = await once(child, 'close');
    return { status, output };
  } finally {
    child.kill();
  }
}
