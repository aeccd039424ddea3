import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect, stateFolder } from '../../appliance/cli/connection.ts';
import { loadConfig } from '../../appliance/config.ts';
import { ColdironError, ERRORS } from '../../appliance/domain/errors.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { ALICE, useEnrollment } from '../identity/enrollment-rig.ts';
import { withNodeApi } from '../identity/mutual-tls.ts';

let folder: string;
let server: Server | null = null;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coldiron-connection-'));
});
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((closed) => (server ? server.close(closed) : closed(null)));
  server = null;
  rmSync(folder, { recursive: true, force: true });
});

async function answering(listener: RequestListener): Promise<void> {
  const listening = createServer(listener);
  server = listening;
  await new Promise<void>((listens) => listening.listen(join(folder, 'coldiron.sock'), listens));
}

const refusalOf = async (work: Promise<unknown>): Promise<ColdironError> => {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ColdironError);
  return error as ColdironError;
};

const siteFile = (text: string): string => {
  const file = join(folder, 'coldiron.yaml');
  writeFileSync(file, text);
  return file;
};

describe('the state folder of an appliance', () => {
  it.each(['{}', 'state: here', 'state: /elsewhere/state', 'state: ../up', 'listen: { boot: off }', 'sites: []'])(
    'is found as the appliance finds it: %s',
    async (text) => {
      const file = siteFile(text);
      expect(await stateFolder({ config: file })).toBe((await loadConfig(file)).state);
    },
  );

  it.each(['state: 5', 'state: [', "state: ''", 'state:', '- a'])(
    'is not guessed from a broken site file: %s',
    async (text) => {
      const file = siteFile(text);
      const refusal = await refusalOf(stateFolder({ config: file }));
      expect(refusal).toEqual(await refusalOf(loadConfig(file)));
    },
  );

  it('is an error when the site file does not exist', async () => {
    const file = join(folder, 'nowhere.yaml');
    expect(await refusalOf(stateFolder({ config: file }))).toEqual(await refusalOf(loadConfig(file)));
  });
});

describe('a connection to an appliance', () => {
  it('sends the request and returns the answer', async () => {
    await answering((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        const { method, url, headers } = request;
        response.end(JSON.stringify({ method, url, type: headers['content-type'], body }));
      });
    });
    const connection = await connect({ state: folder });
    expect(
      await connection.call('GET', '/api/v1/nodes', { query: { match: 'a b', in: undefined, label: ['x=1', 'y=2'] } }),
    ).toEqual({
      method: 'GET',
      url: '/api/v1/nodes?match=a+b&label=x%3D1&label=y%3D2',
      body: '',
    });
    const long = 'ü'.repeat(1_000_000);
    expect(await connection.call('POST', '/api/v1/x', { body: { long } })).toEqual({
      method: 'POST',
      url: '/api/v1/x',
      type: 'application/json',
      body: JSON.stringify({ long }),
    });
  });

  it('reports a refusal with the message of the appliance', async () => {
    await answering((_, response) => {
      response.statusCode = 409;
      response.end(JSON.stringify({ code: 'conflict', message: 'not now', details: ['a', 'b'], correlation_id: 'x' }));
    });
    const refusal = await refusalOf((await connect({ state: folder })).call('DELETE', '/api/v1/x', {}));
    expect([refusal.code, refusal.message, refusal.details]).toEqual(['conflict', 'not now', ['a', 'b']]);
  });

  it('shows the hint of a refusal, or the hint of its code if it has none', async () => {
    const hints = ['Cancel it first.', undefined];
    await answering((_, response) => {
      response.statusCode = 409;
      response.end(JSON.stringify({ code: 'conflict', message: 'not now', hint: hints.shift(), correlation_id: 'x' }));
    });
    const connection = await connect({ state: folder });
    expect((await refusalOf(connection.call('GET', '/api/v1/x', {}))).hint).toBe('Cancel it first.');
    expect((await refusalOf(connection.call('GET', '/api/v1/x', {}))).hint).toBe(ERRORS.conflict.hint);
  });

  it('reads a refusal that arrives before the whole request was sent', async () => {
    await answering((request, response) => {
      response.writeHead(413, { connection: 'close' });
      response.end(JSON.stringify({ code: 'invalid_request', message: 'too long', correlation_id: 'x' }), () => {
        setImmediate(() => request.socket.destroy());
      });
    });
    const connection = await connect({ state: folder });
    const refusal = await refusalOf(connection.call('POST', '/api/v1/x', { body: { long: 'x'.repeat(8_000_000) } }));
    expect(['invalid_request', 'not_running']).toContain(refusal.code);
  });

  it('reports not_running when nothing listens on the socket', async () => {
    const refusal = await refusalOf((await connect({ state: folder })).call('GET', '/api/v1/nodes', {}));
    expect([refusal.code, refusal.message]).toEqual([
      'not_running',
      `no appliance is running at ${join(folder, 'coldiron.sock')}`,
    ]);
  });

  it('reports an answer that ends early', async () => {
    await answering((request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{');
      setImmediate(() => request.socket.destroy());
    });
    const refusal = await refusalOf((await connect({ state: folder })).call('GET', '/api/v1/nodes', {}));
    expect(refusal.code).toBe('not_running');
  });
});

describe('an appliance at a URL', () => {
  const rig = useEnrollment();
  const at = (server: string) => {
    const tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, 'secret');
    return connect({ server, tokenFile });
  };

  it('with an untrusted certificate is reported as untrusted, not as stopped', async () => {
    const names = [{ kind: 'ip', address: mustParse(parseIpv4('127.0.0.1')) }] as const;
    const credentials = await rig().authority.serverCredentials(names, ALICE);
    await withNodeApi(
      credentials,
      async (port) => {
        const refusal = await refusalOf((await at(`https://127.0.0.1:${port}`)).call('GET', '/api/v1/nodes', {}));
        expect([refusal.code, refusal.hint]).toEqual([
          'server_untrusted',
          expect.stringContaining('NODE_EXTRA_CA_CERTS'),
        ]);
      },
      'optional',
    );
  });

  it('without TLS is reported as such when its URL says https', async () => {
    const listening = createServer();
    server = listening;
    await new Promise<void>((listens) => listening.listen(0, '127.0.0.1', listens));
    const { port } = listening.address() as AddressInfo;
    const refusal = await refusalOf((await at(`https://127.0.0.1:${port}`)).call('GET', '/api/v1/nodes', {}));
    expect([refusal.code, refusal.message]).toEqual([
      'unreachable',
      `https://127.0.0.1:${port} does not answer with TLS`,
    ]);
    expect(refusal.hint).toContain('http://');
  });

  it('without a route is reported as unreachable', async () => {
    // TCP has no broadcast: the kernel refuses at once, and no packet leaves this machine.
    const refusal = await refusalOf((await at('http://255.255.255.255:8443')).call('GET', '/api/v1/nodes', {}));
    expect(refusal.code).toBe('unreachable');
  });
});
