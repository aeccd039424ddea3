import { expect, it } from 'vitest';
import type { MachineId } from '../../../appliance/domain/machine.ts';
import type { DeliveredRendering } from '../../../appliance/store/rendering-store.ts';
import { type Engine, useStore } from '../engines.ts';
import { addMachine, eventKinds, NOW, newEvent } from '../samples.ts';

const renderingFor = (machine: MachineId, differing: Partial<DeliveredRendering> = {}): DeliveredRendering => ({
  machine,
  at: NOW,
  by: 'order',
  inventoryRevision: 7,
  files: [
    { path: 'user-data', mode: 0o600, sha256: 'ab'.repeat(32), text: null },
    { path: 'network-config', mode: 0o644, sha256: 'cd'.repeat(32), text: 'version: 2\n“quoted” \u{1f9ca}\n' },
  ],
  ...differing,
});

export function renderingsContract(engine: Engine): void {
  const opened = useStore(engine);

  it('stores the last delivery of a machine', async () => {
    const { store } = opened();
    const { id } = await addMachine(store, 1);
    expect(await store.renderingOf(id)).toBeNull();
    await store.putRendering(renderingFor(id), newEvent('rendering.delivered'));
    expect(await store.renderingOf(id)).toEqual(renderingFor(id));
    const next = renderingFor(id, { at: NOW + 1, by: 'folder', inventoryRevision: 8, files: [] });
    await store.putRendering(next, newEvent('rendering.delivered'));
    expect(await store.renderingOf(id)).toEqual(next);
    expect(await eventKinds(store)).toEqual(expect.arrayContaining(['rendering.delivered', 'rendering.delivered']));
  });

  it('stores deliveries per machine, and rejects an unknown machine', async () => {
    const { store } = opened();
    const [one, two] = [await addMachine(store, 1), await addMachine(store, 2)];
    await store.putRendering(renderingFor(one.id), newEvent('rendering.delivered'));
    expect(await store.renderingOf(two.id)).toBeNull();
    const unknown = renderingFor('00000000-0000-4000-8000-00000000dead' as MachineId);
    await expect(store.putRendering(unknown, newEvent('rendering.delivered'))).rejects.toMatchObject({
      code: 'not_found',
    });
  });
}
