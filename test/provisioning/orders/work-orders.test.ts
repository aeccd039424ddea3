import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import type { ErasureRecord } from '../../../appliance/domain/erasure.ts';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import type { SessionMode } from '../../../appliance/domain/session.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import { orderedSamples } from '../../../appliance/provisioning/orders/erasure-order.ts';
import { WorkOrders } from '../../../appliance/provisioning/orders/work-orders.ts';
import { MAC, machineIn, name } from '../../boot/boot-fixtures.ts';
import { TEMPLATES } from '../../render/installers/samples.ts';

const orders = new WorkOrders({
  fleet: new Fleet(),
  find: () => null,
  templates: TEMPLATES,
  nodeParts: async () => [],
  nodeApiUrl: () => null,
  given: async () => undefined,
  pushKey: () => '',
  nixosFile: async () => null,
  random: randomBytes,
});
const SERVER = { address: mustParse(parseIpv4('10.0.0.1')), bootPort: 8080 };
const orderOf = (machine: Machine, mode: SessionMode) => mustParse(orders.order(machine, mode, SERVER));

const ERASURE: ErasureRecord = {
  ...{ at: 1, session: 's', identity: 'bound', check: null, overwrittenAt: null },
  disks: [{ name: 'sda', serial: 'S-1', bytes: 1e12, method: 'discarded' }],
};
const erasedMachine = (changes: Partial<ErasureRecord> = {}): Machine => {
  const machine = machineIn('commissioning');
  return { ...machine, hardware: { ...machine.hardware, erasure: { ...ERASURE, ...changes } } };
};

it('orders samples of erased disks for a commissioning, at other places each time', () => {
  const [one, other] = [1, 2].map(() => orderedSamples(orderOf(erasedMachine(), 'commission')));
  expect(one).toMatchObject([{ name: 'sda', serial: 'S-1', bytes: 1e12 }]);
  expect(one?.[0]?.samples.length).toBeGreaterThan(60);
  expect(one).not.toEqual(other);
});

it('orders no samples without an erasure, after the disks may have been written, or in other sessions', () => {
  expect(orderOf(machineIn('commissioning'), 'commission')).not.toHaveProperty('erased');
  expect(orderOf(erasedMachine({ overwrittenAt: 2 }), 'commission')).not.toHaveProperty('erased');
  for (const mode of ['inspect', 'erase'] as const) expect(orderOf(erasedMachine(), mode)).not.toHaveProperty('erased');
});

it('names the cards whose switch port is declared in the order to commission', () => {
  const machine = machineIn('commissioning');
  const nic = { name: 'eth0', mac: MAC, network: name('provisioning'), address: null, mtu: null };
  const declared = { ...nic, switch: { name: 'sw3', port: 'swp1' } };
  const cabled = { ...machine, spec: { ...machine.spec, interfaces: [declared, { ...nic, name: 'eth1', mac: null }] } };
  expect(orderOf(cabled, 'commission')).toMatchObject({ neighbours: [MAC] });
  expect(orderOf(machine, 'commission')).not.toHaveProperty('neighbours');
});
