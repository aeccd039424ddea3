// Attacks on the port: guessed tokens, unusual TLS, slow and large requests. Legitimate nodes are answered all the time.

import { once } from 'node:events';
import { connect as connectPlainly, type Socket } from 'node:net';
import nodeTls, { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import { needPackages } from '../../interop/packages.ts';
import { newMachineId } from '../../store/samples.ts';
import { NodeApiSite, type NodeClient } from './node-api-site.ts';

beforeAll(() => needPackages(['curl', 'openssl']));

const guess = (n: number): string => `ce_${n.toString(16).padStart(12, '0')}_${'A'.repeat(43)}`;

describe('guessing tokens', () => {
  let site: NodeApiSite;
  beforeAll(async () => {
    site = await NodeApiSite.open();
    // One more guess is allowed every five seconds, however long our guesses take.
    site.stopClock();
  });
  afterAll(() => site.end());

  it('is rate-limited with Retry-After, and adds only a few lines to the audit', async () => {
    const attacker = await site.client({ id: newMachineId() });
    const answers = [];
    for (let n = 0; n < 30; n++) answers.push(await attacker.enroll(guess(n), { request: 'x' }));
    const slowed = answers.filter(({ status }) => status === 429);
    expect(slowed).toHaveLength(20);
    for (const { json, retryAfter } of slowed) {
      expect(json).toMatchObject({ code: 'rate_limited' });
      expect(retryAfter).toBeGreaterThanOrEqual(1);
      expect(retryAfter).toBeLessThanOrEqual(5);
    }
    expect((await site.refusals()).length).toBe(answers.length - slowed.length);
  });

  it('does not lock out the node with the right token at the same address', async () => {
    const machine = await site.machine(1);
    const { token } = await site.issueBundle(machine);
    const attacker = await site.client({ id: newMachineId() });
    for (let n = 0; n < 12; n++) await attacker.enroll(guess(n), { request: 'x' });
    expect(await attacker.enroll(guess(99))).toMatchObject({ status: 429 });
    const node = await site.client(machine);
    expect(await node.enroll(token)).toMatchObject({ status: 200 });
    expect(await node.heartbeat()).toMatchObject({ status: 200 });
  });

  it('is allowed again after a while', async () => {
    const attacker = await site.client({ id: newMachineId() });
    for (let n = 0; n < 12; n++) await attacker.enroll(guess(n), { request: 'x' });
    site.ahead += MINUTE;
    expect(await attacker.enroll(guess(1))).toMatchObject({ status: 403 });
  });
});

describe('the listener', () => {
  let site: NodeApiSite;
  let node: NodeClient;
  const open: Socket[] = [];
  const tls = async (identity: { cert?: string; key?: string } = {}): Promise<TLSSocket> => {
    const socket = connect({ host: '127.0.0.1', port: site.port, ca: node.read('ca.pem'), ...identity });
    open.push(socket);
    await once(socket, 'secureConnect');
    return socket;
  };
  const plain = async (): Promise<Socket> => {
    const socket = connectPlainly(site.port, '127.0.0.1');
    socket.on('error', () => undefined);
    open.push(socket);
    await once(socket, 'connect');
    return socket;
  };
  /** Everything it sends before it closes. */
  const isEnded = async (socket: Socket): Promise<string> => {
    let output = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      output += chunk;
    });
    if (!socket.closed) await once(socket, 'close');
    return output;
  };
  const nodeIsAnswered = async (): Promise<void> => {
    expect(await node.heartbeat()).toMatchObject({ status: 200 });
  };

  beforeAll(async () => {
    site = await NodeApiSite.open();
    node = await site.node(await site.machine(1));
  });
  afterAll(async () => {
    for (const socket of open) socket.destroy();
    await site.end();
  });

  it.each([
    ['TLS 1.2 alone', ['--tls-max', '1.2']],
    ['TLS 1.3 alone', ['--tlsv1.3']],
  ])('answers a node that uses %s', async (_, options) => {
    expect(await node.call('/node/v1/tasks/wait', { options })).toMatchObject({ status: 204 });
  });

  it('answers a node without SNI, and one with another name in SNI', async () => {
    const identity = ['-cert', node.file('cert.pem'), '-key', node.file('key.pem'), '-CAfile', node.file('ca.pem')];
    for (const name of [['-noservername'], ['-servername', 'elsewhere.example']]) {
      const options = [...identity, ...name, '-verify_return_error', '-ign_eof', '-quiet'];
      const { stdout } = await node.openssl(options, 'GET /node/v1/ca HTTP/1.0\r\n\r\n');
      expect(stdout).toContain('200 OK');
    }
  });

  describe('where OpenSSL is built or configured to allow all versions of TLS', () => {
    let lenient: NodeApiSite;
    beforeAll(async () => {
      const usual = nodeTls.DEFAULT_CIPHERS;
      // Above level 0 OpenSSL itself rejects TLS 1.0 and 1.1, whatever the listener allows.
      nodeTls.DEFAULT_CIPHERS = 'DEFAULT:@SECLEVEL=0';
      try {
        lenient = await NodeApiSite.open();
      } finally {
        nodeTls.DEFAULT_CIPHERS = usual;
      }
    });
    afterAll(() => lenient.end());

    const handshake = async (version: string): Promise<string> => {
      const client = await lenient.client({ id: newMachineId() });
      const { stdout, stderr } = await client.openssl([version, '-cipher', 'ALL:@SECLEVEL=0']);
      return stdout + stderr;
    };

    it.each(['-tls1', '-tls1_1'])('rejects %s with the alert of RFC 5246', async (version) => {
      const output = await handshake(version);
      expect(output).toContain('alert protocol version');
      expect(output).not.toContain('BEGIN CERTIFICATE');
    });

    it('accepts TLS 1.2 of the same client', async () => {
      expect(await handshake('-tls1_2')).toContain('BEGIN CERTIFICATE');
    });
  });

  it.each([
    ['plain HTTP', 'GET /node/v1/ca HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['zeros', '\0'.repeat(4096)],
    ['a handshake that is cut off', '\x16\x03\x01\x02\x00\x01\x00'],
    ['a record that claims to be huge', '\x16\x03\x01\xff\xff'],
  ])('closes the connection on %s', async (_, bytes) => {
    const socket = await plain();
    socket.write(Buffer.from(bytes, 'latin1'));
    expect(await isEnded(socket)).not.toContain('200');
    await nodeIsAnswered();
  });

  it('waits neither for a missing handshake nor for a request that arrives byte by byte', async () => {
    const silent = await plain();
    const wordless = await tls();
    const slow = await tls();
    slow.write(
      'POST /node/v1/enroll HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n',
    );
    const drip = setInterval(() => slow.write('x'), 500);
    try {
      await Promise.all([isEnded(silent), isEnded(wordless), isEnded(slow)]);
    } finally {
      clearInterval(drip);
    }
    await nodeIsAnswered();
  });

  it.each([
    ['an enrollment', '/node/v1/enroll', 32 * 1024],
    ['a heartbeat', '/node/v1/heartbeat', 4 * 1024],
  ])('rejects %s of more than its limit, declared or sent', async (_, path, limit) => {
    const identity = { cert: node.read('cert.pem'), key: node.read('key.pem') };
    // Not one byte more than needed: a server with unread bytes resets the connection, and the response is lost.
    for (const tooLarge of [
      `Content-Length: ${limit + 1}\r\n\r\n`,
      `Transfer-Encoding: chunked\r\n\r\n${(limit + 1).toString(16)}\r\n${'x'.repeat(limit + 1)}`,
    ]) {
      const socket = await tls(identity);
      socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${tooLarge}`);
      const output = await isEnded(socket);
      expect(output).toMatch(/^HTTP\/1\.1 413 /);
      expect(output).toContain('payload_too_large');
    }
    await nodeIsAnswered();
  });

  it('answers while a thousand other connections are idle', async () => {
    const idle = await Promise.all(Array.from({ length: 1000 }, plain));
    await nodeIsAnswered();
    await Promise.all(idle.map(isEnded));
    await nodeIsAnswered();
  });
});
