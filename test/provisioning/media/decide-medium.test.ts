import { describe, expect, it } from 'vitest';
import type { BoundHardware, RequiredIdentity } from '../../../appliance/domain/hardware-identity.ts';
import { HOUR, MINUTE } from '../../../appliance/domain/instant.ts';
import { type Ipv4, parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import type { LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { SiteNetwork } from '../../../appliance/domain/network.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import type { SessionId } from '../../../appliance/domain/session.ts';
import type { SessionMedium } from '../../../appliance/domain/session-medium.ts';
import {
  isMediumOver,
  mediumEnd,
  mediumOrigin,
  mediumShown,
  needsMedium,
} from '../../../appliance/provisioning/media/decide-medium.ts';
import type { MediumShown } from '../../../appliance/provisioning/sessions/decide-opening.ts';
import { lifecycleIn, NOW, newMachineId, specOf } from '../../store/samples.ts';

const address = (text: string): Ipv4 => mustParse(parseIpv4(text));
const EK = 'ab'.repeat(32) as never;
const BOUND: BoundHardware = { uuid: null, serial: 'SN1', macs: [], tpm: null, boundAt: NOW };

function machineIn(state: LifecycleState, changes: Partial<Machine> = {}): Machine {
  return {
    id: newMachineId(),
    spec: specOf(1),
    lifecycle: lifecycleIn(state, { since: NOW, deadline: NOW + HOUR }),
    hardware: { bound: BOUND, refused: null },
    intent: null,
    health: 'unknown',
    source: 'api',
    version: 1,
    ...changes,
  } as Machine;
}

const MACHINE = machineIn('deploying');
const SESSION = 'session-1' as SessionId;
const MEDIUM: SessionMedium = {
  ...{ machine: MACHINE.id, salt: 'key.salt', pathHash: 'path', bmc: address('10.2.10.1') },
  ...{ since: NOW, madeAt: NOW + 1, expiresAt: NOW + HOUR },
  ...{ insertedAt: NOW + 2, fetchedAt: NOW + 3, usedBy: null, endedAt: null },
};

describe('a network boot', () => {
  const tpm = { eks: [EK], issuer: null, pcrs: null, trust: 'nobody' as const };
  it.each<[string, Machine, RequiredIdentity, boolean]>([
    [
      'commissioning for the first time',
      machineIn('commissioning', { hardware: { bound: null, refused: null } }),
      'bound',
      true,
    ],
    ['commissioning again', machineIn('commissioning'), 'bound', true],
    ['an installation', MACHINE, 'bound', true],
    ['an installation that requires it', MACHINE, 'media', true],
    ['an erasure', machineIn('releasing'), 'asserted', true],
    ['rescue', machineIn('rescue'), 'bound', true],
    ['an installation that requires no identity', MACHINE, 'asserted', false],
    [
      'a machine with a recorded TPM',
      machineIn('deploying', { hardware: { bound: { ...BOUND, tpm }, refused: null } }),
      'tpm',
      false,
    ],
    ['a machine with a declared TPM', machineIn('commissioning', { spec: specOf(1, { tpm: [EK] }) }), 'tpm', false],
    ['a state without a session', machineIn('active'), 'bound', false],
  ])('of %s', (_, machine, required, needed) => {
    expect(needsMedium(machine, required)).toBe(needed);
  });

  it('has a medium that lasts as long as its state, and an hour where the state has no end', () => {
    expect(mediumEnd(MACHINE, NOW + 5)).toBe(NOW + HOUR);
    expect(
      mediumEnd(machineIn('rescue', { lifecycle: lifecycleIn('rescue', { since: NOW, deadline: null }) }), NOW),
    ).toBe(NOW + HOUR);
  });
});

describe('a medium is over', () => {
  it.each<[string, Partial<SessionMedium>, Machine | null, number, boolean]>([
    ['not while its machine boots', {}, MACHINE, NOW + MINUTE, false],
    ['not before it is inserted', { insertedAt: null, fetchedAt: null }, MACHINE, NOW + MINUTE, false],
    ['when its secret was used', { usedBy: SESSION }, MACHINE, NOW + MINUTE, true],
    ['when it was ejected', { endedAt: NOW + 4 }, MACHINE, NOW + MINUTE, true],
    ['at the deadline', {}, MACHINE, NOW + HOUR, true],
    ['when the machine is removed', {}, null, NOW + MINUTE, true],
    ['when the work failed', {}, machineIn('failed'), NOW + MINUTE, true],
    ['when the same state was entered again', { since: NOW - 1 }, MACHINE, NOW + MINUTE, true],
    ['when the machine is quarantined', {}, machineIn('quarantined'), NOW + MINUTE, true],
  ])('%s', (_, changes, machine, now, over) => {
    expect(isMediumOver({ ...MEDIUM, ...changes }, machine, now)).toBe(over);
  });
});

describe('an opening shows', () => {
  const HASH = 'aa';
  it.each<[MediumShown, string, Partial<SessionMedium> | null, string | null, number]>([
    ['none', 'without a medium', null, null, NOW + MINUTE],
    ['none', 'when the medium was never inserted', { insertedAt: null }, null, NOW + MINUTE],
    ['none', 'with the secret of a medium that was never inserted', { insertedAt: null }, HASH, NOW + MINUTE],
    ['none', 'when the medium is of an earlier visit', { since: NOW - 1 }, HASH, NOW + MINUTE],
    ['none', 'when it has expired', {}, HASH, NOW + HOUR],
    ['shown', 'with its secret', {}, HASH, NOW + MINUTE],
    ['shown', 'when the same session is opened again', { usedBy: SESSION, endedAt: NOW + 9 }, HASH, NOW + MINUTE],
    ['unread', 'without a secret that the BMC never read', { fetchedAt: null }, null, NOW + MINUTE],
    ['missing', 'without the secret that the BMC has read', {}, null, NOW + MINUTE],
    ['other', 'with another secret', {}, 'bb', NOW + MINUTE],
    ['used', 'with a secret that opened another session', { usedBy: 'another' as SessionId }, HASH, NOW + MINUTE],
    [
      'used',
      'without a secret, after one opened another session',
      { usedBy: 'another' as SessionId },
      null,
      NOW + MINUTE,
    ],
  ])('%s: %s', (expected, _, changes, shown, now) => {
    const medium = changes && { ...MEDIUM, ...changes };
    expect(mediumShown(medium, MACHINE, { shown, hash: HASH, session: SESSION, now })).toBe(expected);
  });
});

describe('a BMC fetches its medium', () => {
  const network = (purpose: SiteNetwork['purpose'], server: string | null) =>
    ({ name: 'lab', purpose, server: server && address(server) }) as SiteNetwork;
  const place = { bmc: address('10.2.10.1'), local: address('10.2.10.200'), port: 8080, networkOf: () => null };

  it('from the address of the appliance that faces it, at the port of the boot server', () => {
    expect(mediumOrigin(place)).toEqual({ ok: true, value: { address: '10.2.10.200', port: 8080 } });
  });

  it.each([
    ['the boot server is off', { port: null }, 'listen.boot'],
    ['there is no route', { local: null }, 'no route to 10.2.10.1'],
    [
      'its path is a provisioning network',
      { networkOf: () => network(null, '10.2.10.200') },
      'provisioning network lab',
    ],
  ])('never when %s', (_, changes, reason) => {
    expect(mediumOrigin({ ...place, ...changes })).toMatchObject({
      ok: false,
      reason: expect.stringContaining(reason),
    });
  });

  it('also through a network that is declared for something else', () => {
    expect(mediumOrigin({ ...place, networkOf: () => network('other', '10.2.10.200') }).ok).toBe(true);
    expect(mediumOrigin({ ...place, networkOf: () => network(null, null) }).ok).toBe(true);
  });
});
