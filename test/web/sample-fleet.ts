// Machines in every state, as many as wanted, written to the store directly: for screenshots and for tests of long lists.

import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { type Lifecycle, type LifecycleState, lifeIn } from '../../appliance/domain/lifecycle.ts';
import { parseHostname } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import type { Store } from '../../appliance/store/store.ts';
import { address, mac, newMachineId, objectName, specOf } from '../store/samples.ts';

const FAILURES = [
  { step: 'deploy', reason: 'it fetched shimx64.efi, and nothing ran afterwards: Secure Boot rejected it' },
  { step: 'commission', reason: 'the memory test found errors at 0x3f20c000' },
  { step: 'enroll', reason: 'the installed system did not reach the node API within 15 minutes' },
  { step: 'release', reason: 'the disk /dev/nvme0n1 did not accept the erase command' },
] as const;

/** Out of 40: most machines of a site are active. */
function stateOf(n: number): LifecycleState {
  const states: Readonly<Record<number, LifecycleState>> = {
    ...{ 2: 'deploying', 3: 'failed', 5: 'commissioning', 7: 'discovered', 9: 'ready', 11: 'registered' },
    ...{
      13: 'enrolling',
      17: 'ready',
      19: 'releasing',
      23: 'draining',
      27: 'rescue',
      29: 'retired',
      31: 'quarantined',
    },
  };
  return states[n % 40] ?? (n < 40 && n % 4 === 0 ? 'ready' : 'active');
}

function lifeOf(n: number, now: number): Lifecycle {
  const state = stateOf(n);
  const life = lifeIn(state, now - ((n * 7919) % 600) * 13 * SECOND);
  if (state === 'failed') return { ...life, failure: FAILURES[Math.floor(n / 40) % FAILURES.length] ?? FAILURES[0] };
  if (state === 'quarantined') return { ...life, note: 'the chassis that booted has another serial number' };
  if (state === 'retired') return { ...life, resume: 'active', note: 'fan tray on order' };
  const working = ['deploying', 'commissioning', 'enrolling', 'releasing', 'draining', 'rescue'].includes(state);
  return working ? { ...life, resume: 'ready', deadline: now + ((n % 17) + 3) * MINUTE + (n % 60) * SECOND } : life;
}

const PER_RACK = 20;

/** Host names as of a rack and a unit: r12u07. */
export const sampleName = (n: number): string =>
  `r${String(10 + Math.floor(n / PER_RACK)).padStart(2, '0')}u${String((n % PER_RACK) * 2 + 1).padStart(2, '0')}`;

export async function addSampleFleet(store: Store, count: number, now: number): Promise<void> {
  const { declaredRevision } = await store.inventory();
  await store.writeInventory({
    ...{ declaredRevision, putCatalogue: [], dropCatalogue: [], changeMachines: [], removeMachines: [] },
    ...{ events: [], audit: [] },
    createMachines: Array.from({ length: count }, (_, n) => {
      const rack = 10 + Math.floor(n / PER_RACK);
      const card = { name: 'eno1', mac: mac(n + 0x100), network: objectName('provisioning'), mtu: null };
      return {
        id: newMachineId(),
        source: 'racks',
        lifecycle: lifeOf(n, now),
        spec: specOf(n, {
          hostname: mustParse(parseHostname(sampleName(n))),
          site: objectName(rack % 3 === 0 ? 'edge' : 'lab'),
          sku: objectName('gp1'),
          profile: stateOf(n) === 'discovered' ? null : objectName(n % 5 === 0 ? 'storage' : 'worker'),
          serial: `SN-${5000 + n}`,
          labels: { rack: `r${rack}`, unit: String((n % PER_RACK) * 2 + 1) },
          interfaces: [{ ...card, address: address('10.32.0.10', n) }],
          bmc: { address: address('10.64.0.10', n), driver: 'redfish', username: 'admin', passwordFile: null },
        }),
      };
    }),
  });
}
