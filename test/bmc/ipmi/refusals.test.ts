// Failures of BMCs, and their messages. None leaves a session open.

import { describe, expect, it } from 'vitest';
import { IpmiConnection, withIpmiSession } from '../../../appliance/bmc/ipmi/connection.ts';
import { powerStatus } from '../../../appliance/bmc/ipmi/power.ts';
import { setUserEnabled } from '../../../appliance/codecs/ipmi/commands/users.ts';
import { PATIENT, QUICK, RACING, startSimulator, targetOf } from './client-rig.ts';
import { ADMIN, OPERATOR, type SimulatorOptions } from './simulator/simulated-bmc.ts';

const NONE = { authentication: 0, integrity: 0, confidentiality: 0 };
const SHA1 = { authentication: 1, integrity: 1, confidentiality: 1 };

interface Case {
  readonly sentence: string;
  readonly options?: SimulatorOptions;
  readonly user?: { name: string; password: string };
  readonly key?: string;
  readonly reason: string;
  readonly words: string;
  readonly retryable?: boolean;
}

const CASES: readonly Case[] = [
  {
    sentence: 'a wrong user name',
    user: { name: 'nobody', password: 'x' },
    reason: 'wrong-user',
    words: 'wrong user name',
  },
  {
    sentence: 'a wrong password',
    user: { name: 'admin', password: 'x' },
    reason: 'wrong-password',
    words: 'wrong password or privilege',
  },
  { sentence: 'a missing BMC key', options: { bmcKey: 'k' }, reason: 'wrong-bmc-key', words: 'none is configured' },
  { sentence: 'a wrong BMC key', options: { bmcKey: 'k' }, key: 'z', reason: 'wrong-bmc-key', words: 'another key' },
  {
    sentence: 'a user who is neither administrator nor operator',
    options: { users: [{ ...ADMIN, privilege: 2 }] },
    reason: 'privilege',
    words: 'neither administrator nor operator',
  },
  {
    sentence: 'a privilege that is granted and then refused',
    options: { privilegeCap: 2 },
    reason: 'privilege',
    words: 'exceeds the limit of the user or the channel',
  },
  {
    sentence: 'full slots',
    options: { slots: 0 },
    reason: 'slots-full',
    words: 'session slots full',
    retryable: true,
  },
  {
    sentence: 'no suite in common',
    options: { suites: [] },
    reason: 'no-cipher-suite',
    words: 'suite 17: no cipher suite match',
  },
  {
    sentence: 'a reply without any protection',
    options: { forcedAlgorithms: NONE },
    reason: 'unauthenticated',
    words: 'the BMC offers an unauthenticated',
  },
  { sentence: 'IPMI 1.5 only', options: { ipmi2: false }, reason: 'too-old', words: 'IPMI 1.5' },
];

describe('opening a session', () => {
  it.each(CASES)('fails on $sentence', async ({ options, user, key, reason, words, retryable = false }) => {
    const bmc = await startSimulator(options);
    const opening = IpmiConnection.open(targetOf(bmc.port, user ?? ADMIN, key ?? null), PATIENT);
    await expect(opening).rejects.toMatchObject({
      reason,
      retryable,
      message: expect.stringMatching(new RegExp(`^BMC 127\\.0\\.0\\.1: .*${words}`)),
    });
  });

  it('tries credentials once', async () => {
    const bmc = await startSimulator();
    await expect(IpmiConnection.open(targetOf(bmc.port, { name: 'admin', password: 'x' }), PATIENT)).rejects.toThrow();
    await expect.poll(() => bmc.received).toEqual(['payload 10', 'payload 12', 'payload 14']);
  });

  it('falls back to suite 3 when suite 17 is answered with SHA-1', async () => {
    const bmc = await startSimulator({ forcedAlgorithms: SHA1 });
    const terms = await withIpmiSession(targetOf(bmc.port), PATIENT, (connection) => connection.terms);
    expect(terms).toMatchObject({ suite: 3 });
  });

  it('falls back to operator when administrator is not allowed', async () => {
    const bmc = await startSimulator();
    const terms = await withIpmiSession(targetOf(bmc.port, OPERATOR), PATIENT, (connection) => connection.terms);
    expect(terms).toMatchObject({ suite: 17, privilege: 'operator' });
    expect(bmc.activeSessions).toBe(0);
  });

  it('falls back to operator when administrator is refused only inside the session', async () => {
    const bmc = await startSimulator({ privilegeCap: 3 });
    const terms = await withIpmiSession(targetOf(bmc.port), PATIENT, (connection) => connection.terms);
    expect(terms).toMatchObject({ privilege: 'operator' });
  });

  it('reports an invalid address as unreachable', async () => {
    const invalid = { ...targetOf(623), address: '300.1.2.3' };
    await expect(IpmiConnection.open(invalid, PATIENT)).rejects.toMatchObject({ failure: 'unreachable' });
  });

  it('rejects a password that is too long for a BMC before anything is sent', async () => {
    const bmc = await startSimulator();
    const opening = IpmiConnection.open(targetOf(bmc.port, { name: 'admin', password: 'x'.repeat(21) }), PATIENT);
    await expect(opening).rejects.toThrow('the BMC password has 21 bytes; IPMI allows at most 20');
    expect(bmc.received).toEqual([]);
  });

  it('reports a BMC that does not reply as unreachable', async () => {
    const bmc = await startSimulator();
    bmc.offline = true;
    await expect(IpmiConnection.open(targetOf(bmc.port), QUICK)).rejects.toMatchObject({
      failure: 'unreachable',
      retryable: true,
      message: expect.stringContaining('IPMI over LAN'),
    });
  });
});

describe('inside a session', () => {
  it('retries a busy BMC', async () => {
    const bmc = await startSimulator();
    bmc.faults.refuses = { command: 0x0001, codes: [0xc0, 0xc3] };
    expect(await withIpmiSession(targetOf(bmc.port), RACING, powerStatus)).toBe('off');
  });

  it('fails with a retryable error when the BMC stays busy', async () => {
    const bmc = await startSimulator();
    bmc.faults.refuses = { command: 0x0001, codes: [0xc0, 0xc0, 0xc0, 0xc0, 0xc0] };
    await expect(withIpmiSession(targetOf(bmc.port), RACING, powerStatus)).rejects.toMatchObject({
      failure: 'busy',
      completionCode: 0xc0,
      retryable: true,
    });
    expect(bmc.activeSessions).toBe(0);
  });

  it('reports a refusal as text, with the command', async () => {
    const bmc = await startSimulator();
    const request = withIpmiSession(targetOf(bmc.port, OPERATOR), PATIENT, (connection) =>
      connection.call(setUserEnabled(2, true)),
    );
    await expect(request).rejects.toThrow('Set User Password (enable): the user lacks the privilege');
    expect(bmc.activeSessions).toBe(0);
  });

  it('accepts wrong checksums with a valid authentication code', async () => {
    const bmc = await startSimulator();
    bmc.faults.wrongChecksums = true;
    expect(await withIpmiSession(targetOf(bmc.port), PATIENT, powerStatus)).toBe('off');
  });

  it('ends the session and its requests when the BMC vanishes', async () => {
    const bmc = await startSimulator();
    const connection = await IpmiConnection.open(targetOf(bmc.port), QUICK);
    expect(await powerStatus(connection)).toBe('off');
    bmc.offline = true;
    await expect(powerStatus(connection)).rejects.toMatchObject({ failure: 'vanished', retryable: true });
    expect(await connection.ended).toMatchObject({ failure: 'vanished' });
    await connection.close();
  });

  it('closes the session when the work throws', async () => {
    const bmc = await startSimulator();
    const work = withIpmiSession(targetOf(bmc.port), PATIENT, () => Promise.reject(new Error('of the caller')));
    await expect(work).rejects.toThrow('of the caller');
    expect(bmc.activeSessions).toBe(0);
  });
});
