import { describe, expect, it } from 'vitest';
import type { Json } from '../../appliance/domain/event.ts';
import type { Machine, MachineInterface } from '../../appliance/domain/machine.ts';
import { cableContradictions, cablingOf, cablingProblems } from '../../appliance/provisioning/cabling.ts';
import { machineIn } from '../boot/boot-fixtures.ts';
import { mac, objectName } from '../store/samples.ts';

/** node1, node2, …: eth0 of each is declared at the port of its own number. */
function machine(number: number, ports: readonly (string | null)[], site = 'lab'): Machine {
  const interfaces = ports.map(
    (port, index): MachineInterface => ({
      ...{ name: `eth${index}`, mac: mac(10 * number + index), network: objectName('boot'), address: null, mtu: null },
      ...(port !== null && { switch: { name: 'sw3', port } }),
    }),
  );
  const { spec, ...rest } = machineIn('ready');
  const id = `00000000-0000-4000-8000-00000000000${number}` as Machine['id'];
  return {
    ...rest,
    id,
    spec: { ...spec, hostname: `node${number}` as typeof spec.hostname, site: objectName(site), interfaces },
  };
}

const nic = (owner: Machine, index: number, port: string | null, link = true): Json => ({
  name: `eno${index}`,
  mac: owner.spec.interfaces[index]?.mac?.toUpperCase() ?? null,
  link,
  neighbour: port === null ? null : { chassis: null, system: 'sw3', port, port_description: null },
});
const report = (...nics: readonly Json[]): Json => ({ disks: [], nics });

/** `reports`: of each machine, the newest first. */
const world = (machines: readonly Machine[], reports: ReadonlyMap<Machine, readonly Json[]>) => ({
  fleet: { machines: () => machines.values() },
  store: {
    factsOf: async (id: Machine['id']) => {
      const owner = machines.find((each) => each.id === id);
      return ((owner && reports.get(owner)) ?? []).map((facts, index) => ({ facts, at: 100 - index }));
    },
  },
});

describe('the cables of a machine', () => {
  it('are compared with the neighbours of its cards, by MAC address', async () => {
    const own = machine(1, ['swp1', 'swp2', 'swp3', null]);
    const facts = report(nic(own, 0, 'swp1'), nic(own, 1, 'swp9'), nic(own, 2, null, false), nic(own, 3, 'swp8'));
    const cables = await cablingOf(world([own], new Map([[own, [facts]]])), own);
    expect(cables.map(({ name, verdict, summary }) => [name, verdict, summary])).toEqual([
      ['eth0', 'as-declared', 'as declared'],
      ['eth1', 'another-port', 'at sw3 swp9'],
      ['eth2', 'not-heard', 'no link: check the cable'],
      ['eth3', 'not-declared', 'no port is declared; at sw3 swp8'],
    ]);
  });

  it('are unknown before its first report', async () => {
    const own = machine(1, ['swp1']);
    expect(await cablingOf(world([own], new Map()), own)).toMatchObject([{ verdict: 'not-heard', link: null }]);
  });

  it('keep the neighbour of an older report where a newer one heard nothing, unless the link is gone', async () => {
    const own = machine(1, ['swp1', 'swp2']);
    const older = report(nic(own, 0, 'swp1'), nic(own, 1, 'swp2'));
    const newer = report(nic(own, 0, null), nic(own, 1, null, false));
    const cables = await cablingOf(world([own], new Map([[own, [newer, older]]])), own);
    expect(cables).toMatchObject([
      { verdict: 'as-declared', seenAt: 99 },
      { verdict: 'not-heard', seen: null, link: false },
    ]);
  });

  it('in the port of another node are named as swapped when the other is in theirs, and as its port otherwise', async () => {
    const [own, other] = [machine(1, ['swp1']), machine(2, ['swp2'])];
    const wrong = [report(nic(own, 0, 'swp2'))];
    const alone = world([own, other], new Map([[own, wrong]]));
    expect(await cablingOf(alone, own)).toMatchObject([{ summary: 'at sw3 swp2, the port of node2 eth0' }]);
    const both = world(
      [own, other],
      new Map([
        [own, wrong],
        [other, [report(nic(other, 0, 'swp1'))]],
      ]),
    );
    expect(await cablingOf(both, own)).toMatchObject([{ summary: 'at sw3 swp2, swapped with node2 eth0' }]);
  });

  it('can be swapped within one machine', async () => {
    const own = machine(1, ['swp1', 'swp2']);
    const facts = report(nic(own, 0, 'swp2'), nic(own, 1, 'swp1'));
    const cables = await cablingOf(world([own], new Map([[own, [facts]]])), own);
    expect(cables.map(({ owner }) => owner)).toEqual([
      { hostname: 'node1', name: 'eth1', isSwapped: true },
      { hostname: 'node1', name: 'eth0', isSwapped: true },
    ]);
  });

  it('do not belong to a node of another site whose switch has the same name', async () => {
    const [own, far] = [machine(1, ['swp1']), machine(2, ['swp2'], 'far')];
    const cables = await cablingOf(world([own, far], new Map([[own, [report(nic(own, 0, 'swp2'))]]])), own);
    expect(cables).toMatchObject([{ owner: null, summary: 'at sw3 swp2' }]);
  });

  it('contradict the inventory only when they are in another port; a profile can require more', async () => {
    const own = machine(1, ['swp1', 'swp2', 'swp3', null]);
    const facts = report(nic(own, 0, 'swp1'), nic(own, 1, 'swp9\u001b[2J'), nic(own, 2, null), nic(own, 3, 'swp8'));
    const cables = await cablingOf(world([own], new Map([[own, [facts]]])), own);
    expect(cableContradictions(cables)).toEqual([
      { field: 'interfaces.eth1.switch', declared: 'sw3 swp2', found: 'sw3 swp9\\u001b[2J' },
    ]);
    expect(cablingProblems('worker', cables)).toEqual([
      'profile worker requires the declared cabling (cabling: require), and eth1 belongs at sw3 swp2: at sw3 swp9\u001b[2J',
      'profile worker requires the declared cabling (cabling: require), and eth2 belongs at sw3 swp3: no LLDP neighbour was heard',
    ]);
  });
});
