import { describe, expect, it } from 'vitest';
import { type Candidate, claimMachine, findMachine, SETTLE } from '../../appliance/onboarding/discovery-order.ts';
import { REQUEST } from './world.ts';

const one = (name: string, changes: Partial<Candidate> = {}): Candidate => ({
  id: name,
  name,
  hostname: name,
  bmcAddress: null,
  pxeMac: false,
  ...changes,
});
const MATCH = { adopt: 'match' } as const;
const HOST = one(REQUEST.hostname, { bmcAddress: REQUEST.bmcAddress });

describe('the machine of a request', () => {
  it.each([
    ['host name', [HOST], 'hostname'],
    ['host name, also without a BMC', [one(REQUEST.hostname)], 'hostname'],
    ['BMC address', [one('old-name', { bmcAddress: REQUEST.bmcAddress })], 'bmc-address'],
    ['PXE MAC', [one('unknown-1', { pxeMac: true })], 'pxe-mac'],
  ] as const)('is found by %s', (_what, candidates, by) => {
    expect(findMachine(REQUEST, candidates, MATCH)).toEqual({ kind: 'use', candidate: candidates[0], by });
  });

  it('is created when none matches', () => {
    expect(findMachine(REQUEST, [], MATCH)).toEqual({ kind: 'create' });
    expect(findMachine(REQUEST, [one('other')], MATCH)).toEqual({ kind: 'create' });
  });

  it('is ambiguous when two machines match, by the same rule or by different ones', () => {
    const byBmc = one('old-name', { bmcAddress: REQUEST.bmcAddress });
    expect(findMachine(REQUEST, [one(REQUEST.hostname), byBmc], MATCH)).toEqual({
      kind: 'stop',
      reason: 'the request matches more than one machine: c07u31 by host name, old-name by BMC address',
      candidates: ['c07u31', 'old-name'],
    });
    const twins = [one('a', { pxeMac: true }), one('b', { pxeMac: true })];
    expect(findMachine(REQUEST, twins, MATCH)).toMatchObject({ kind: 'stop', candidates: ['a', 'b'] });
  });

  it('is not one with another BMC', () => {
    const other = one(REQUEST.hostname, { bmcAddress: '10.9.9.9' });
    expect(findMachine(REQUEST, [other], MATCH)).toMatchObject({
      kind: 'stop',
      reason: 'c07u31 has the BMC 10.9.9.9, not 10.0.200.31',
    });
  });

  it('is no existing one where policy says so', () => {
    expect(findMachine(REQUEST, [HOST], { adopt: 'never' })).toMatchObject({ kind: 'stop', candidates: ['c07u31'] });
  });
});

describe('a new machine', () => {
  const seen = (id: string, identity: 'same' | 'other' | 'unknown', firstSeen = 0) => ({
    id,
    name: id,
    firstSeen,
    identity,
  });

  it('with the identity of the BMC is claimed at once, whoever else appears', () => {
    const machines = [seen('a', 'unknown'), seen('b', 'same'), seen('c', 'other')];
    expect(claimMachine(machines, { autoClaim: false }, 1)).toEqual({ kind: 'claim', machine: machines[1] });
  });

  it('without proof gets time to say who it is', () => {
    expect(claimMachine([seen('a', 'unknown', 100)], { autoClaim: true }, 200)).toEqual({
      kind: 'wait',
      until: 100 + SETTLE,
    });
    expect(claimMachine([seen('a', 'unknown', 100)], { autoClaim: true }, 100 + SETTLE)).toMatchObject({
      kind: 'claim',
    });
    expect(claimMachine([seen('a', 'unknown', 100)], { autoClaim: false }, 100 + SETTLE)).toMatchObject({
      kind: 'stop',
    });
  });

  it('with another identity is never claimed', () => {
    expect(claimMachine([seen('a', 'other')], { autoClaim: true }, SETTLE * 9)).toEqual({ kind: 'wait', until: null });
  });
});
