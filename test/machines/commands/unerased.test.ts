// A node that was released although its disks could not be erased is marked, and nothing is deployed to it until they are erased.

import { describe, expect, it } from 'vitest';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { ObjectName } from '../../../appliance/domain/names.ts';
import { moved } from '../../../appliance/machines/commands/move.ts';
import { unerasedProblems } from '../../../appliance/machines/commands/unerased.ts';
import { deploy } from '../../../appliance/machines/commands/work.ts';
import type { Change } from '../../../appliance/store/change.ts';
import { aLife, aMachine, T0 } from '../machines.ts';

const CONTEXT = { now: T0, id: 'id-1', deployMinutes: 60 };
const ORIGIN = { actor: 'token:ops', correlationId: 'corr-1' };
const REASON = 'erase-sda: nvme format: Invalid Field in Command';

const releasing = (changes: Partial<Machine> = {}): Machine => ({
  ...aMachine({ lifecycle: aLife('releasing', { fallbackUsed: true, note: REASON }) }),
  ...changes,
});
const changeOf = (decision: ReturnType<typeof moved>): Change =>
  decision.outcome === 'change' ? decision.change : expect.fail(`${decision.outcome}`);
const result = (machine: Machine, { lifecycle, writes }: Change): Machine => {
  const written = writes.findLast((write) => write.kind === 'put-hardware');
  return { ...machine, lifecycle: lifecycle ?? machine.lifecycle, hardware: written?.hardware ?? machine.hardware };
};
const unerased = (): Machine => {
  const machine = releasing();
  return result(machine, changeOf(moved(machine, { event: 'released-unerased', origin: ORIGIN }, CONTEXT)));
};

describe('a release without erasure', () => {
  it('marks the node with the time and the reason, in the change that makes it ready', () => {
    expect(unerased()).toMatchObject({
      lifecycle: { state: 'ready' },
      hardware: { unerased: { at: T0, reason: REASON } },
    });
  });

  it('leaves a node that nothing is deployed to', () => {
    const command = { profile: 'worker' as ObjectName, minutes: 60, problems: [], origin: ORIGIN };
    const decision = deploy(unerased(), command, CONTEXT);
    expect(decision).toMatchObject({ outcome: 'refused', refusal: { code: 'not_deployable' } });
    expect(unerasedProblems(unerased())).toEqual([
      `its disks were not erased when it was released at 2030-01-01T00:00:00.000Z (${REASON}): erase them first: coldiron release node01`,
    ]);
    // Without the mark the same command is accepted.
    const erased = { ...unerased(), hardware: { bound: null, refused: null } };
    expect(deploy(erased, command, CONTEXT).outcome).toBe('change');
  });

  it('keeps the mark through other work, and loses it when a release erases the disks', () => {
    const marked = unerased();
    const commissioning = result(marked, changeOf(moved(marked, { event: 'commission', origin: ORIGIN }, CONTEXT)));
    expect(commissioning.hardware.unerased).toBeDefined();
    const again = { ...marked, lifecycle: aLife('releasing') };
    const plain = result(again, changeOf(moved(again, { event: 'released', origin: ORIGIN }, CONTEXT)));
    expect(plain.hardware.unerased).toBeUndefined();
    const erasure = { at: T0, session: 's', identity: null, disks: [], check: null, overwrittenAt: null };
    const writes = [{ kind: 'put-hardware', hardware: { ...again.hardware, erasure } }] as const;
    const recorded = changeOf(moved(again, { event: 'released', origin: ORIGIN, also: { writes } }, CONTEXT));
    expect(result(again, recorded).hardware).toEqual({ bound: null, refused: null, erasure });
    expect(recorded.writes.filter(({ kind }) => kind === 'put-hardware')).toHaveLength(1);
  });
});

describe('a cancelled release', () => {
  it('restores the node with its identity when nothing was written', () => {
    const machine = releasing({ lifecycle: aLife('releasing', { resume: 'active' }) });
    const change = changeOf(moved(machine, { event: 'cancel', origin: ORIGIN }, CONTEXT));
    expect(change.lifecycle?.state).toBe('active');
    expect(change.writes.map(({ kind }) => kind)).not.toContain('revoke-identity');
  });
});

describe('mark-fixed', () => {
  it.each(['deploy', 'enroll'] as const)('returns a node that failed to %s to ready, without its token', (step) => {
    const machine = aMachine({ lifecycle: aLife('failed', { failure: { step, reason: 'it failed' } }) });
    const change = changeOf(moved(machine, { event: 'mark-fixed', origin: ORIGIN }, CONTEXT));
    expect(change).toMatchObject({ lifecycle: { state: 'ready', failure: null }, effects: [{ kind: 'power-off' }] });
    expect(change.writes.map(({ kind }) => kind)).toContain('revoke-identity');
  });

  it.each(['commission', 'release', 'drain'] as const)('is refused for a node that failed to %s', (step) => {
    const machine = aMachine({ lifecycle: aLife('failed', { failure: { step, reason: 'it failed' } }) });
    expect(moved(machine, { event: 'mark-fixed', origin: ORIGIN }, CONTEXT).outcome).toBe('refused');
  });
});
