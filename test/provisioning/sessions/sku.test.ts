import { afterEach, describe, expect, it } from 'vitest';
import type { Sku } from '../../../appliance/domain/catalogue.ts';
import { skuProblemsOf } from '../../../appliance/provisioning/sku-hardware.ts';
import { mac, skuNamed } from '../../store/samples.ts';
import { useScratchFolder } from '../../store/scratch-folder.ts';
import { CALL, SessionsRig } from './sessions-rig.ts';

const place = useScratchFolder();
let rig: SessionsRig;
afterEach(() => rig.store.close());

const SKU: Sku = {
  ...skuNamed('r640'),
  minimum: { cores: 8, threads: null, memoryBytes: null, disks: null, diskBytes: null, nics: null, nicMbps: null },
  hardware: 'require',
};
const facts = (cores: number) => ({ cpu: { cores }, disks: [], nics: [{ name: 'eno1', mac: mac(1) }] });

async function commissioned(sku: Sku, cores: number): Promise<void> {
  rig = await SessionsRig.open(place('coldiron.db'), 'commissioning');
  rig.sku = sku;
  const key = await rig.session('commission');
  await rig.sessions.facts(key, facts(cores), CALL);
  await rig.sessions.outcome(key, { ok: true });
}
const problems = () => skuProblemsOf({ fleet: { sku: () => rig.sku }, store: rig.store }, rig.machine);
const contradicted = async () =>
  (await rig.store.events({ kind: 'session.contradicted', limit: 10 })).map(({ data }) => data);

describe('commissioning a machine of a SKU', () => {
  it('that requires its minimum fails with what the machine lacks, and no deployment is permitted', async () => {
    await commissioned(SKU, 4);
    expect(await rig.state()).toMatchObject({
      state: 'failed',
      failure: { reason: 'it has less than its SKU requires: cores: at least 8 (SKU r640), found 4' },
    });
    expect(await contradicted()).toEqual([
      { contradictions: [{ field: 'sku.cores', declared: 'at least 8 (SKU r640)', found: '4' }] },
    ]);
    expect(await problems()).toEqual([
      'it has less than its SKU requires (hardware: require): cores: at least 8 (SKU r640), found 4; then commission it again',
    ]);
  });

  it('that only warns records what the machine lacks, and goes on', async () => {
    await commissioned({ ...SKU, hardware: 'warn' }, 4);
    expect(await rig.state()).toMatchObject({ state: 'ready' });
    expect(await contradicted()).toHaveLength(1);
    expect(await problems()).toEqual([]);
  });

  it('succeeds when the machine has enough', async () => {
    await commissioned(SKU, 8);
    expect(await rig.state()).toMatchObject({ state: 'ready' });
    expect([await contradicted(), await problems()]).toEqual([[], []]);
  });
});
