import { expect, it } from 'vitest';
import type { SshKey } from '../../../appliance/domain/access-object.ts';
import type { NewAccessVersion } from '../../../appliance/store/access-store.ts';
import { type Engine, useStore } from '../engines.ts';
import { allEvents, NOW, newAudit, newEvent, objectName } from '../samples.ts';

const KEY: SshKey = {
  owner: objectName('alice'),
  line: 'ssh-ed25519 AAAA',
  fingerprint: 'SHA256:x',
  comment: '',
  removed: false,
};

const version = (name: string, after: number, changes: Partial<SshKey> = {}): NewAccessVersion<'ssh-key'> => ({
  kind: 'ssh-key',
  name,
  after,
  at: NOW + after,
  value: { ...KEY, ...changes },
  events: [newEvent('access.changed')],
  audit: { ...newAudit('ssh-key.add'), actor: 'token:alice' },
});

export function accessContract(engine: Engine): void {
  const opened = useStore(engine);

  it('keeps every version, and returns the newest of each object', async () => {
    const { store } = opened();
    await store.putAccessVersion(version('b', 0));
    await store.putAccessVersion(version('a', 0));
    await store.putAccessVersion(version('a', 1, { removed: true }));
    const newest = await store.accessObjects('ssh-key');
    expect(newest.map(({ name, version, value }) => [name, version, value.removed])).toEqual([
      ['a', 2, true],
      ['b', 1, false],
    ]);
    expect(await store.accessVersions('ssh-key', 'a', 10)).toMatchObject([
      { version: 2, at: NOW + 1, actor: 'token:alice', value: { removed: true } },
      { version: 1, at: NOW, value: KEY },
    ]);
    expect(await store.accessVersions('ssh-key', 'a', 1)).toHaveLength(1);
    expect(await store.accessObjects('key-set')).toEqual([]);
  });

  it('refuses a version that is based on an old one, and writes nothing of it', async () => {
    const { store } = opened();
    await store.putAccessVersion(version('a', 0));
    const [events, audit] = [(await allEvents(store)).length, (await store.auditEntries(0, 100)).length];
    await expect(store.putAccessVersion(version('a', 0))).rejects.toMatchObject({ code: 'version_conflict' });
    await expect(store.putAccessVersion(version('a', 2))).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await allEvents(store)).toHaveLength(events);
    expect(await store.auditEntries(0, 100)).toHaveLength(audit);
  });

  it('lets exactly one of several writers write the next version', async () => {
    const { store, another } = opened();
    const other = await another();
    const results = await Promise.allSettled(
      [store, other, store, other].map((each) => each.putAccessVersion(version('a', 0))),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await store.accessVersions('ssh-key', 'a', 10)).toHaveLength(1);
  });
}
