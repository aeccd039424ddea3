// The contract of `commit`: atomic, once per command id, published in commit order. Tested on every engine and on the in-memory
// store of other tests.

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { NewEffect } from '../../../appliance/domain/effect.ts';
import type { Machine, MachineId } from '../../../appliance/domain/machine.ts';
import type { SessionId } from '../../../appliance/domain/session.ts';
import type { Change, CommandId, Publication, Write } from '../../../appliance/store/change.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { intentFor, lifecycleIn, NOW, newAudit, newEffect, newEvent } from '../samples.ts';
import { changeOf } from '../writes.ts';

/** The part of a store that commits, and access to its results. */
export interface CommitSubject {
  readonly store: Pick<
    Store,
    'commit' | 'command' | 'subscribe' | 'machine' | 'effects' | 'sessionsOf' | 'takeEffects'
  >;
  readonly machine: Machine;
  kinds(): Promise<string[]>;
  audited(): Promise<string[]>;
}

const command = (digest = 'digest') => ({ id: randomUUID() as CommandId, digest });

const ticketOf = (machine: MachineId) => ({
  id: randomUUID() as SessionId,
  machine,
  mode: 'install' as const,
  order: {},
  ticketHash: randomUUID(),
  madeAt: NOW,
  expiresAt: NOW + 1000,
});

/** A deployment: a change that uses all lists. */
function deployment(machine: Machine, changes: Partial<Change> = {}) {
  const intent = intentFor(machine);
  const effect: NewEffect = newEffect(machine.id, 'boot-from-network');
  const change = changeOf(machine.id, {
    command: command(),
    version: machine.version,
    lifecycle: lifecycleIn('deploying'),
    effects: [effect],
    writes: [
      { kind: 'arm-intent', intent },
      { kind: 'put-ticket', ticket: ticketOf(machine.id) },
    ],
    events: [newEvent('lifecycle.deploying', { machine: machine.id })],
    audit: [newAudit('node.deploy')],
    ...changes,
  });
  return { change, intent, effect };
}

export function commitContract(open: () => Promise<CommitSubject>): void {
  const untouched = async ({ store, machine, kinds, audited }: CommitSubject): Promise<void> => {
    expect(await store.machine(machine.id)).toEqual(machine);
    expect(await store.effects(machine.id)).toEqual([]);
    expect(await store.sessionsOf(machine.id, 10)).toEqual([]);
    expect(await kinds()).toEqual([]);
    expect(await audited()).toEqual([]);
  };

  it('writes everything that a change lists, and increments the version once', async () => {
    const { store, machine, kinds, audited } = await open();
    const { change, intent, effect } = deployment(machine);
    const committed = await store.commit(change);
    expect(committed).toMatchObject({
      outcome: 'committed',
      machine: { version: machine.version + 1, lifecycle: { state: 'deploying' }, intent },
      events: [{ kind: 'lifecycle.deploying', seq: 1 }],
    });
    expect(await store.machine(machine.id)).toEqual('machine' in committed && committed.machine);
    expect(await store.effects(machine.id)).toMatchObject([{ id: effect.id, state: 'pending', notBefore: change.at }]);
    expect(await store.sessionsOf(machine.id, 10)).toHaveLength(1);
    expect(await kinds()).toEqual(['lifecycle.deploying']);
    expect(await audited()).toEqual(['node.deploy']);
  });

  it.each([
    [
      'a used intent',
      (machine: Machine): Write => ({ kind: 'consume-intent', intent: intentFor(machine).id, at: NOW }),
    ],
    [
      'an effect that is not running',
      ({ id }: Machine): Write => ({ kind: 'finish-effect', effect: newEffect(id).id }),
    ],
    ['an unchanged health', (): Write => ({ kind: 'set-health', health: 'unknown' })],
    [
      'a session that is not open',
      (): Write => ({
        kind: 'end-session',
        session: randomUUID() as SessionId,
        end: { how: 'failed', at: NOW, reason: null },
      }),
    ],
  ])('refuses the whole change for %s, names the write, and writes nothing', async (_, write) => {
    const subject = await open();
    const { change } = deployment(subject.machine);
    const last = write(subject.machine);
    const committed = await subject.store.commit({ ...change, writes: [...change.writes, last] });
    expect(committed).toMatchObject({ outcome: 'refused', write: last.kind, reason: expect.stringMatching(/.+/) });
    await untouched(subject);
    expect(change.command && (await subject.store.command(change.command.id))).toBeNull();
  });

  it('rejects a stale version and writes nothing', async () => {
    const subject = await open();
    const { change } = deployment(subject.machine, { version: subject.machine.version + 1 });
    await expect(subject.store.commit(change)).rejects.toMatchObject({ code: 'version_conflict' });
    await untouched(subject);
  });

  it('rejects a machine that does not exist', async () => {
    const { store } = await open();
    await expect(store.commit(changeOf(randomUUID() as MachineId))).rejects.toMatchObject({ code: 'not_found' });
  });

  it('executes a command once: a repetition returns the recorded result and writes nothing', async () => {
    const { store, machine, kinds } = await open();
    const { change } = deployment(machine);
    const first = await store.commit(change);
    const after = 'machine' in first ? first.machine : null;
    await store.commit(changeOf(machine.id, { writes: [{ kind: 'set-health', health: 'online' }] }));
    expect(await store.commit(change)).toEqual({ outcome: 'repeated', machine: after });
    expect(await store.effects(machine.id)).toHaveLength(1);
    expect(await kinds()).toEqual(['lifecycle.deploying']);
    expect(change.command && (await store.command(change.command.id))).toEqual({ digest: 'digest', machine: after });
  });

  it('rejects a command id that was used for another command', async () => {
    const { store, machine } = await open();
    const { change } = deployment(machine);
    await store.commit(change);
    const other = changeOf(machine.id, { command: change.command && { ...change.command, digest: 'other' } });
    await expect(store.commit(other)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('consumes an intent for exactly one of many concurrent callers', async () => {
    const { store, machine, kinds } = await open();
    const { change, intent } = deployment(machine);
    await store.commit(change);
    const consume = changeOf(machine.id, {
      writes: [{ kind: 'consume-intent', intent: intent.id, at: NOW + 1 }],
      events: [newEvent('intent.consumed')],
    });
    const answers = await Promise.all(Array.from({ length: 10 }, () => store.commit(consume)));
    expect(answers.filter(({ outcome }) => outcome === 'committed')).toHaveLength(1);
    expect((await store.machine(machine.id))?.intent?.consumedAt).toBe(NOW + 1);
    expect(await kinds()).toEqual(['lifecycle.deploying', 'intent.consumed']);
  });

  it('keeps the version when only a session changes', async () => {
    const { store, machine } = await open();
    await store.commit(changeOf(machine.id, { writes: [{ kind: 'put-ticket', ticket: ticketOf(machine.id) }] }));
    expect((await store.machine(machine.id))?.version).toBe(machine.version);
  });

  it('ends an effect and moves its machine in one commit', async () => {
    const { store, machine } = await open();
    const { change, effect } = deployment(machine);
    await store.commit(change);
    await store.takeEffects(NOW, 10);
    const write: Write = { kind: 'fail-effect', effect: effect.id, error: 'no BMC' };
    await store.commit(changeOf(machine.id, { lifecycle: lifecycleIn('failed'), writes: [write] }));
    expect(await store.effects(machine.id)).toMatchObject([{ state: 'failed', lastError: 'no BMC' }]);
    expect((await store.machine(machine.id))?.lifecycle.state).toBe('failed');
  });

  it('publishes every commit in order, before it resolves', async () => {
    const { store, machine } = await open();
    const published: (string | undefined)[] = [];
    store.subscribe(async ({ machine: after }: Publication) => {
      await Promise.resolve();
      published.push(after?.health);
    });
    const healths = ['online', 'silent', 'online', 'silent'] as const;
    await Promise.all(
      healths.map(async (health, at) => {
        await store.commit(changeOf(machine.id, { writes: [{ kind: 'set-health', health }] }));
        expect(published.length).toBeGreaterThan(at);
      }),
    );
    expect(published).toEqual(healths);
  });

  it('does not publish refused, repeated or rejected changes', async () => {
    const { store, machine } = await open();
    const { change } = deployment(machine);
    await store.commit(change);
    const published: Publication[] = [];
    const unsubscribe = store.subscribe((publication) => void published.push(publication));
    await store.commit(change);
    await store.commit(changeOf(machine.id, { writes: [{ kind: 'set-health', health: 'unknown' }] }));
    await expect(store.commit(changeOf(machine.id, { version: 99 }))).rejects.toThrow();
    expect(published).toEqual([]);
    await store.commit(changeOf(machine.id, { writes: [{ kind: 'set-health', health: 'online' }] }));
    unsubscribe();
    await store.commit(changeOf(machine.id, { writes: [{ kind: 'set-health', health: 'silent' }] }));
    expect(published).toHaveLength(1);
  });

  it('commits and publishes to the others when a subscriber fails', async () => {
    const { store, machine } = await open();
    const published: Publication[] = [];
    store.subscribe(() => {
      throw new Error('a failing subscriber');
    });
    store.subscribe((publication) => void published.push(publication));
    const change = changeOf(machine.id, { writes: [{ kind: 'set-health', health: 'online' }] });
    expect((await store.commit(change)).outcome).toBe('committed');
    expect(published).toMatchObject([{ change, machine: { health: 'online' } }]);
  });
}
