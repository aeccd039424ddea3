import { describe, expect, it } from 'vitest';
import { parseChassisUuid } from '../../appliance/domain/chassis.ts';
import { MINUTE } from '../../appliance/domain/instant.ts';
import { type ArmedIntent, type IntentId, intentValidity } from '../../appliance/domain/intent.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import { parseMachineId } from '../../appliance/domain/machine.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';

const node01 = mustParse(parseMachineId('00000000-0000-4000-8000-000000000001'));
const node02 = mustParse(parseMachineId('00000000-0000-4000-8000-000000000002'));
const mac = mustParse(parseMac('52:54:00:12:34:56'));
const otherMac = mustParse(parseMac('52:54:00:12:34:57'));
const uuid = mustParse(parseChassisUuid('7a11ab1e-0102-4304-8506-0708090a0b0c'));
const otherUuid = mustParse(parseChassisUuid('7a11ab1e-0102-4304-8506-0708090a0b0d'));
const NOW = 1_700_000_000_000;

const armed: ArmedIntent = {
  id: 'intent-1' as IntentId,
  kind: 'deploy',
  machine: node01,
  macs: [mac],
  uuid,
  profile: null,
  actor: 'token:alice',
  armedAt: NOW - MINUTE,
  expiresAt: NOW + MINUTE,
  consumedAt: null,
  revokedAt: null,
};
const claimant = { machine: node01, mac, uuid };

describe('an armed intent', () => {
  it.each([
    ['is valid for the machine it was armed for', armed, claimant, NOW, 'valid'],
    ['is valid to the last millisecond', armed, claimant, armed.expiresAt - 1, 'valid'],
    ['has expired at its expiry', armed, claimant, armed.expiresAt, 'expired'],
    ['is not valid before it was armed, after a clock step back', armed, claimant, armed.armedAt - 1, 'not-yet'],
    ['is consumed once', { ...armed, consumedAt: NOW - 1 }, claimant, NOW, 'consumed'],
    ['is invalid after it was revoked', { ...armed, revokedAt: NOW - 1 }, claimant, NOW, 'revoked'],
    ['is invalid for another machine', armed, { ...claimant, machine: node02 }, NOW, 'other-machine'],
    ['is invalid for another network card', armed, { ...claimant, mac: otherMac }, NOW, 'other-chassis'],
    ['is invalid for a request without a MAC', armed, { ...claimant, mac: null }, NOW, 'other-chassis'],
    ['is invalid for another chassis with the same MAC', armed, { ...claimant, uuid: otherUuid }, NOW, 'other-chassis'],
    [
      'is invalid for a request without a UUID when the UUID is known',
      armed,
      { ...claimant, uuid: null },
      NOW,
      'other-chassis',
    ],
    ['requires no UUID when none was known', { ...armed, uuid: null }, { ...claimant, uuid: null }, NOW, 'valid'],
  ] as const)('%s', (_sentence, intent, requester, now, validity) => {
    expect(intentValidity(intent, requester, now)).toBe(validity);
  });
});
