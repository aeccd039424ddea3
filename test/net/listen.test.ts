import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { listenOnTcp } from '../../appliance/net/listen.ts';

describe('a listener that cannot start', () => {
  it('names the port in use and how to free it', async () => {
    const other = createServer();
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const app = Fastify();
    try {
      await expect(listenOnTcp(app, { address: '127.0.0.1', port })).rejects.toMatchObject({
        code: 'service_unavailable',
        message: `cannot listen on 127.0.0.1:${port}: another program listens there already`,
        hint: expect.stringMatching(/^Stop the program that uses the port .* then start again\.$/),
      });
    } finally {
      await app.close();
      other.close();
      await once(other, 'close');
    }
  });

  it('names an address that this machine does not have', async () => {
    const app = Fastify();
    try {
      // RFC 5737: TEST-NET-1 belongs to no machine.
      await expect(listenOnTcp(app, { address: '192.0.2.1', port: 0 })).rejects.toMatchObject({
        message: 'cannot listen on 192.0.2.1:0: this machine does not have that address',
        hint: expect.stringMatching(/^Add the address to this machine/),
      });
    } finally {
      await app.close();
    }
  });
});
