import { describe, expect, it } from 'vitest';
import { type BoundHardware, NO_HARDWARE, parseEkFingerprint } from '../../../appliance/domain/hardware-identity.ts';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import type { LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { macsOf } from '../../../appliance/domain/machine.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import type { Decision } from '../../../appliance/machines/commands/decision.ts';
import {
  boundAtCommissioning,
  pendingText,
  quarantinedAsTwin,
  quarantinedForHardware,
  rebind,
} from '../../../appliance/machines/commands/hardware.ts';
import { aLife, aMachine, T0 } from '../machines.ts';

const NOW = T0 + MINUTE;
const CONTEXT = { now: NOW, id: 'new', deployMinutes: null };
const ORIGIN = { actor: 'token:ops', correlationId: 'corr-1' };
const EK = mustParse(parseEkFingerprint('ab'.repeat(32)));
const PCRS = { 0: 'aa'.repeat(32) };
const OTHER_PCRS = { 0: 'bb'.repeat(32) };

const machine = aMachine({});
const BOUND: BoundHardware = { uuid: null, serial: 'SN1', macs: macsOf(machine.spec), tpm: null, boundAt: T0 };
const SHOWN = { uuid: null, serial: 'SN1', macs: BOUND.macs, tpm: null, tpmProblem: null };
const TPM = { eks: [EK], issuer: null, pcrs: PCRS };
const inState = (state: LifecycleState, hardware: Machine['hardware'] = NO_HARDWARE): Machine => ({
  ...aMachine({ lifecycle: aLife(state) }),
  hardware,
});
const differing = {
  mode: 'install',
  address: '10.0.0.5',
  differences: [],
  reason: 'other hardware',
  origin: ORIGIN,
} as const;

function hardwareIn(decision: Decision): Machine['hardware'] {
  if (decision.outcome !== 'change') throw new Error(`it was ${JSON.stringify(decision)}`);
  const write = decision.change.writes.find(({ kind }) => kind === 'put-hardware');
  if (write?.kind !== 'put-hardware') throw new Error('nothing was recorded');
  return write.hardware;
}

describe('commissioning', () => {
  const bind = (
    before: Machine['hardware'],
    shown: typeof SHOWN | (Omit<typeof SHOWN, 'tpm'> & { tpm: typeof TPM }),
  ) => {
    const [write] = boundAtCommissioning(inState('commissioning', before), shown, NOW).writes;
    return write?.kind === 'put-hardware' ? write.hardware.bound : null;
  };

  it('binds the node to the hardware it showed', () => {
    expect(bind(NO_HARDWARE, SHOWN)).toEqual({ ...BOUND, boundAt: NOW });
  });

  it('records a TPM for which nobody vouches', () => {
    expect(bind(NO_HARDWARE, { ...SHOWN, tpm: TPM })?.tpm).toEqual({ ...TPM, trust: 'nobody' });
  });

  it('keeps what a person accepted: the TPM and its measurements', () => {
    const accepted = { bound: { ...BOUND, tpm: { ...TPM, trust: 'accepted' as const } }, refused: null };
    const again = bind(accepted, { ...SHOWN, tpm: { ...TPM, pcrs: OTHER_PCRS } });
    expect(again?.tpm).toEqual({ ...TPM, trust: 'accepted' });
  });
});

describe('other hardware', () => {
  it('quarantines the node, ends its sessions, and is kept for a person to accept', () => {
    const shown = { ...SHOWN, serial: 'SN2' };
    const decision = quarantinedForHardware(
      inState('deploying', { bound: BOUND, refused: null }),
      { ...differing, shown },
      CONTEXT,
    );
    expect(decision).toMatchObject({
      change: { lifecycle: { state: 'quarantined', note: 'other hardware', resume: 'failed' } },
    });
    expect(hardwareIn(decision)).toEqual({
      bound: BOUND,
      refused: { uuid: null, serial: 'SN2', macs: BOUND.macs, tpm: null, at: NOW },
    });
    const kinds = decision.outcome === 'change' ? decision.change.writes.map(({ kind }) => kind) : [];
    expect(kinds).toContain('end-sessions');
  });

  it('changes nothing about a node that is quarantined or removed', () => {
    for (const state of ['quarantined', 'removed'] as const) {
      expect(quarantinedForHardware(inState(state), { ...differing, shown: SHOWN }, CONTEXT).outcome).toBe('nothing');
      expect(quarantinedAsTwin(inState(state), 'two', ORIGIN, CONTEXT).outcome).toBe('nothing');
    }
  });
});

describe('rebind', () => {
  const refused = { uuid: null, serial: 'SN2', macs: BOUND.macs, tpm: null, at: NOW };

  it('accepts the hardware that was refused, and ends the quarantine for it', () => {
    const decision = rebind(inState('quarantined', { bound: BOUND, refused }), ORIGIN, CONTEXT);
    expect(decision).toMatchObject({ change: { lifecycle: { state: 'registered' } } });
    expect(hardwareIn(decision)).toEqual({ bound: { ...BOUND, serial: 'SN2', boundAt: NOW }, refused: null });
    const audit = decision.outcome === 'change' ? decision.change.audit : [];
    expect(audit).toContainEqual(
      expect.objectContaining({
        action: 'node.rebind',
        actor: 'token:ops',
        before: expect.objectContaining({ serial: 'SN1' }),
        after: expect.objectContaining({ serial: 'SN2' }),
      }),
    );
  });

  it('accepts the TPM that was seen first, and leaves the state alone', () => {
    const seen = { ...BOUND, tpm: { ...TPM, trust: 'nobody' as const } };
    const decision = rebind(inState('ready', { bound: seen, refused: null }), ORIGIN, CONTEXT);
    expect(decision).toMatchObject({ change: { lifecycle: null } });
    expect(hardwareIn(decision).bound?.tpm?.trust).toBe('accepted');
  });

  it('accepts new measurements without ending a quarantine for another reason', () => {
    const bound = { ...BOUND, tpm: { ...TPM, trust: 'accepted' as const } };
    const measured = { ...refused, serial: 'SN1', tpm: { ...TPM, pcrs: OTHER_PCRS, trust: 'accepted' as const } };
    const decision = rebind(inState('quarantined', { bound, refused: measured }), ORIGIN, CONTEXT);
    expect(decision).toMatchObject({ change: { lifecycle: null } });
    expect(hardwareIn(decision).bound?.tpm?.pcrs).toEqual(OTHER_PCRS);
  });

  it.each([
    ['was never recorded', NO_HARDWARE, 'node01 has no recorded hardware to change: commission it'],
    ['matches', { bound: BOUND, refused: null }, 'node01 has shown no other hardware than the recorded one'],
  ])('is refused for hardware that %s', (_, hardware, message) => {
    expect(rebind(inState('ready', hardware), ORIGIN, CONTEXT)).toMatchObject({
      outcome: 'refused',
      refusal: { message },
    });
  });

  it('is announced with what it would accept', () => {
    expect(pendingText({ bound: BOUND, refused })).toBe('serial number SN2 instead of SN1');
    expect(pendingText({ bound: BOUND, refused: null })).toBeNull();
    expect(pendingText({ bound: { ...BOUND, tpm: { ...TPM, trust: 'nobody' } }, refused: null })).toContain('TPM');
    expect(pendingText(NO_HARDWARE)).toBeNull();
  });
});
