// A hostile BMC, or a host in front of it, answers a login with malformed RMCP+ packets. The BMC behind the attacker is
// OpenIPMI's simulator.

import { createSocket } from 'node:dgram';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { BmcError } from '../../appliance/bmc/bmc-error.ts';
import { bmcSystemClock } from '../../appliance/bmc/clock.ts';
import { ipmiBmc } from '../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { ipmiProber } from '../../appliance/bmc/ipmi/ipmi-probe.ts';
import { PATIENT, QUICK, targetOf } from '../bmc/ipmi/client-rig.ts';
import { startOpenIpmi } from '../bmc/ipmi/openipmi.ts';
import { needPackages } from '../interop/packages.ts';
import {
  AT,
  type Forge,
  forgingProxy,
  OPEN_SESSION_RESPONSE,
  onlyTo,
  payloadOf,
  payloadTypeOf,
  RAKP_2,
  RAKP_4,
  withByte,
  withPayload,
} from './forging-proxy.ts';

const USER = { name: 'admin', password: 'lab-password' };
/** Every reply that is expected arrives, and none of these logins succeeds: short waits end sooner. */
const HASTY = { ...QUICK, timings: { ...QUICK.timings, firstWait: 200 } };
/** With these timings: four offers, three tries of each, at most three waits in a try. */
const MOST_PACKETS = 60;

beforeAll(() => needPackages(['openipmi']));

async function attacked(forge: Forge, deps = HASTY) {
  const proxy = await forgingProxy((await startOpenIpmi()).port, forge);
  const bmc = ipmiBmc(targetOf(proxy.port, USER), { efi: true, keepFor: 0 }, deps);
  onTestFinished(() => bmc.close());
  return { bmc, proxy };
}

const truncated =
  (bytes: number): Forge =>
  (reply) => [withPayload(reply, payloadOf(reply).subarray(0, bytes))];

describe('a BMC that sends a malformed', () => {
  it.each<[what: string, type: number, forge: Forge, failure: BmcError['failure'], words: string]>([
    ['Open Session Response of no bytes', OPEN_SESSION_RESPONSE, truncated(0), 'vanished', 'message tag at byte 0'],
    [
      'Open Session Response that ends before its session id',
      OPEN_SESSION_RESPONSE,
      truncated(6),
      'untrusted',
      'console session id at byte 4: needs 4 bytes',
    ],
    [
      'Open Session Response that ends in an algorithm',
      OPEN_SESSION_RESPONSE,
      truncated(30),
      'untrusted',
      'confidentiality reserved at byte 29',
    ],
    [
      'Open Session Response with the session id 0',
      OPEN_SESSION_RESPONSE,
      (reply) => [
        withPayload(
          reply,
          Buffer.concat([payloadOf(reply).subarray(0, 8), Buffer.alloc(4), payloadOf(reply).subarray(12)]),
        ),
      ],
      'untrusted',
      'BMC session id at byte 8: is 0',
    ],
    [
      'Open Session Response for another session',
      OPEN_SESSION_RESPONSE,
      (reply) => [withByte(reply, AT.payload + 4, (byte) => byte ^ 0xff)],
      'untrusted',
      'an Open Session Response of another session',
    ],
    [
      'Open Session Response without encryption',
      OPEN_SESSION_RESPONSE,
      (reply) => [withByte(reply, AT.payload + 32, () => 0)],
      'untrusted',
      'unauthenticated or unencrypted session',
    ],
    ['RAKP 2 of one byte', RAKP_2, truncated(1), 'vanished', 'status at byte 1: needs 1 bytes, 0 are left'],
    ['RAKP 2 that ends in its code', RAKP_2, truncated(45), 'vanished', 'key exchange code at byte 40'],
    [
      'RAKP 2 with bytes after its code',
      RAKP_2,
      (reply) => [withPayload(reply, Buffer.concat([payloadOf(reply), Buffer.alloc(900)]))],
      'vanished',
      '900 bytes too many',
    ],
    [
      'RAKP 2 whose length field is larger than the packet',
      RAKP_2,
      (reply) => [withPayload(reply, payloadOf(reply), 0xffff)],
      'vanished',
      'payload at byte 16: needs 65535 bytes',
    ],
    [
      'RAKP 2 with another tag',
      RAKP_2,
      (reply) => [withByte(reply, AT.payload, (byte) => byte ^ 1)],
      'vanished',
      'a RAKP 2 to another request',
    ],
    [
      'RAKP 2 for another session',
      RAKP_2,
      (reply) => [withByte(reply, AT.payload + 5, (byte) => byte ^ 1)],
      'vanished',
      'a RAKP 2 of another session',
    ],
    [
      'RAKP 2 in a session that does not exist',
      RAKP_2,
      (reply) => [withByte(reply, AT.sessionId, () => 7)],
      'vanished',
      'payload type 19 of session 7 during rakp-2',
    ],
    [
      'RAKP 2 with another code',
      RAKP_2,
      (reply) => [withByte(reply, AT.payload + 41, (byte) => byte ^ 1)],
      'authentication',
      'key exchange code does not match the password',
    ],
    ['RAKP 4 that ends in its integrity value', RAKP_4, truncated(10), 'vanished', 'integrity check value at byte 8'],
    [
      'RAKP 4 with another integrity value',
      RAKP_4,
      (reply) => [withByte(reply, AT.payload + 9, (byte) => byte ^ 1)],
      'authentication',
      'requires a key (Kg)',
    ],
    [
      'RAKP 4 of 60,000 bytes',
      RAKP_4,
      (reply) => [withPayload(reply, Buffer.concat([payloadOf(reply), Buffer.alloc(60_000)]))],
      'vanished',
      'more than 4096',
    ],
  ])('%s is given up with an error that names it', async (_what, type, forge, failure, words) => {
    const { bmc, proxy } = await attacked(onlyTo(type, forge));
    await expect(bmc.powerState()).rejects.toMatchObject({ failure, message: expect.stringContaining(words) });
    expect(proxy.asked()).toBeLessThan(MOST_PACKETS);
  });
});

describe('inside a session, a host that rewrites', () => {
  const inSession: (rewrite: (reply: Buffer) => Buffer) => Forge = (rewrite) => (reply) =>
    payloadTypeOf(reply) === 0 ? [rewrite(reply)] : [reply];

  it.each<[what: string, rewrite: (reply: Buffer) => Buffer, words: string]>([
    [
      'the code of each packet',
      (reply) => withByte(reply, reply.length - 1, (byte) => byte ^ 1),
      'authentication code',
    ],
    ['the encrypted payload', (reply) => withByte(reply, AT.payload + 20, (byte) => byte ^ 1), 'authentication code'],
    ['the sequence number', (reply) => withByte(reply, AT.sequence, (byte) => byte + 1), 'authentication code'],
    [
      'the flag of the authentication',
      (reply) => withByte(reply, AT.payloadType, (byte) => byte & 0xbf),
      'not authenticated',
    ],
    [
      'the flag of the encryption',
      (reply) => withByte(reply, AT.payloadType, (byte) => byte & 0x7f),
      'authentication code',
    ],
    ['the length, so that no trailer is left', (reply) => reply.subarray(0, reply.length - 14), 'ends before it'],
  ])('%s reaches no command, and the error names it', async (_what, rewrite, words) => {
    const { bmc, proxy } = await attacked(inSession(rewrite));
    await expect(bmc.powerState()).rejects.toMatchObject({
      failure: 'vanished',
      message: expect.stringContaining(words),
    });
    expect(proxy.asked()).toBeLessThan(MOST_PACKETS);
  });
});

describe('packets that a hostile host adds', () => {
  it('as fifty copies of each reply, and each reply after the next one, change nothing', async () => {
    let before: Buffer | null = null;
    const { bmc } = await attacked((reply) => {
      const packets = [...Array.from({ length: 50 }, () => reply), ...(before ? [before] : [])];
      before = Buffer.from(reply);
      return packets;
    }, PATIENT);
    expect(await bmc.powerState()).toBe('off');
    await bmc.powerOn();
    expect(await bmc.powerState()).toBe('on');
  });

  it('as 2,000 packets of garbage before each reply end the login in time, or do not disturb it', async () => {
    const { bmc } = await attacked((reply) => [
      ...Array.from({ length: 2000 }, (_, at) => Buffer.alloc(at % 200, at)),
      reply,
    ]);
    // The garbage overflows the socket, so replies are lost as well: the login may fail, but only in time and with a reason.
    const outcome = await bmc.powerState().catch((error: BmcError) => error.failure);
    expect(['off', 'vanished', 'unreachable']).toContain(outcome);
  });

  it('from another address or another port are not read', async () => {
    const refusal = Buffer.from('0600ff07061100000000000000000008000002000000000000', 'hex');
    const [neighbour, samePlace] = [createSocket('udp4'), createSocket('udp4')];
    neighbour.bind(0, '127.0.0.2');
    samePlace.bind(0, '127.0.0.1');
    onTestFinished(() => {
      neighbour.close();
      samePlace.close();
    });
    let injected = 0;
    const { bmc, proxy } = await attacked((reply) => {
      for (const socket of [neighbour, samePlace]) {
        for (let tag = 0; tag < 4; tag++) {
          socket.send(
            withByte(refusal, AT.payload, () => tag),
            proxy.clientPort(),
            '127.0.0.1',
            () => undefined,
          );
          injected += 1;
        }
      }
      return [reply];
    }, PATIENT);
    expect(await bmc.powerState()).toBe('off');
    expect(injected).toBeGreaterThan(20);
  });

  it('do not make a scan find a BMC where none is', async () => {
    const bmc = await startOpenIpmi();
    const prober = await ipmiProber(bmc.port, bmcSystemClock, { tries: 2, wait: 200 });
    onTestFinished(() => prober.close());
    // The real BMC replies for its own address only.
    const [here, nowhere] = await Promise.all([prober.probe('127.0.0.1'), prober.probe('127.0.0.9')]);
    expect([here, nowhere]).toEqual([{ ipmi2: true }, null]);
  });
});
