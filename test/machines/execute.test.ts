import { describe, expect, it, vi } from 'vitest';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { commandsOf } from './commands-of.ts';
import { aLife, aMachine, T0 } from './machines.ts';
import { MemoryStore } from './memory-store.ts';
import { NODE01, OPS } from './runner-rig.ts';

const unknown = () => new ColdironError('outcome_unknown', 'the disk reported an error');

function aRig() {
  const store = new MemoryStore(aMachine({ lifecycle: aLife('ready') }));
  return { store, commands: commandsOf(store, () => T0) };
}

describe('a command', () => {
  it('returns the first result for a repeated id and changes nothing', async () => {
    const { store, commands } = aRig();
    const origin = { ...OPS, commandId: 'request-1' };
    const first = await commands.request(NODE01, 'retire', origin);
    await commands.request(NODE01, 'reactivate', OPS);
    expect(await commands.request(NODE01, 'retire', origin)).toEqual(first);
    expect(store.machines.get(NODE01)?.lifecycle.state).toBe('ready');
    expect(store.audit).toHaveLength(2);
  });

  it('is rejected with the id of another command', async () => {
    const { commands } = aRig();
    await commands.request(NODE01, 'retire', { ...OPS, commandId: 'request-1' });
    const other = commands.request(NODE01, 'reactivate', { ...OPS, commandId: 'request-1' });
    await expect(other).rejects.toMatchObject({ code: 'conflict', message: /used for another command/ });
  });

  it('is rejected when the caller saw another version, unless it was already executed', async () => {
    const { commands } = aRig();
    const stale = commands.request(NODE01, 'retire', { ...OPS, expectedVersion: 7 });
    await expect(stale).rejects.toMatchObject({ code: 'version_conflict' });
    const origin = { ...OPS, commandId: 'request-1', expectedVersion: 1 };
    const first = await commands.request(NODE01, 'retire', origin);
    expect(await commands.request(NODE01, 'retire', origin)).toEqual(first);
  });

  it('is not written again when its unknown outcome was a commit', async () => {
    const { store, commands } = aRig();
    const commit = store.commit.bind(store);
    vi.spyOn(store, 'commit').mockImplementationOnce(async (change) => {
      await commit(change);
      throw unknown();
    });
    expect((await commands.request(NODE01, 'retire', OPS)).lifecycle.state).toBe('retired');
    expect(store.audit).toHaveLength(1);
  });

  it('is written when its unknown outcome was no commit', async () => {
    const { store, commands } = aRig();
    vi.spyOn(store, 'commit').mockRejectedValueOnce(unknown());
    expect((await commands.request(NODE01, 'retire', OPS)).lifecycle.state).toBe('retired');
    expect(store.audit).toHaveLength(1);
  });

  it('fails when the outcome stays unknown', async () => {
    const { store, commands } = aRig();
    vi.spyOn(store, 'commit').mockRejectedValue(unknown());
    await expect(commands.request(NODE01, 'retire', OPS)).rejects.toMatchObject({ code: 'outcome_unknown' });
  });
});
