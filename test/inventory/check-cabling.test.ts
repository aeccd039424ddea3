import { describe, expect, it } from 'vitest';
import { checkInventory } from '../../appliance/inventory/check.ts';
import { at, declaredBy, nic, problemsOf, type RackDocument, rackDocument } from './rack.ts';

const declared = (...ports: readonly unknown[]) => {
  const rack = rackDocument();
  for (const [index, port] of ports.entries()) Object.assign(nic(rack, index, 0), { switch: port });
  return rack;
};

const inventoryOf = (rack: RackDocument) => at(declaredBy({ lab: rack }), 0).declared;

describe('a declared switch port', () => {
  it('belongs to its interface, and is absent from the others', () => {
    const { nodes } = inventoryOf(declared({ name: 'sw3', port: 'Ethernet1/12' }));
    expect(at(nodes, 0).interfaces[0]?.switch).toEqual({ name: 'sw3', port: 'Ethernet1/12' });
    expect(at(nodes, 1).interfaces[0]).not.toHaveProperty('switch');
  });

  it.each([
    ['a text', 'sw3', 'nodes[0].interfaces[0].switch: must be a mapping'],
    ['no port', { name: 'sw3' }, 'nodes[0].interfaces[0].switch.port: is missing'],
    ['a number as port', { name: 'sw3', port: 12 }, 'nodes[0].interfaces[0].switch.port: must be'],
    ['an empty name', { name: '', port: '12' }, 'nodes[0].interfaces[0].switch.name: must be a name like leaf-r12a'],
    ['a control character', { name: 'sw\u001b3', port: '12' }, 'nodes[0].interfaces[0].switch.name: must be'],
    ['spaces around it', { name: 'sw3', port: ' 12' }, 'nodes[0].interfaces[0].switch.port: must be'],
    ['an unknown key', { name: 'sw3', port: '12', vlan: 3 }, 'nodes[0].interfaces[0].switch.vlan'],
  ])('is refused with its place: %s', (_sentence, port, problem) => {
    expect(problemsOf(declared(port)).join('\n')).toContain(problem);
  });

  it('belongs to one cable, in any notation of the port; the problem names both', () => {
    const rack = declared({ name: 'sw3', port: 'Ethernet1/12' }, { name: 'SW3.dc1.example', port: 'Eth1/12' });
    expect(problemsOf(rack)).toEqual([
      'lab.yaml: nodes[1].interfaces[0].switch: SW3.dc1.example Eth1/12 cannot be the port of a2 eth0: it is the port of a1 eth0, lab.yaml: nodes[0].interfaces[0].switch',
    ]);
    expect(problemsOf(declared({ name: 'sw3', port: 'Eth1/12' }, { name: 'sw4', port: 'Eth1/12' }))).toEqual([]);
    expect(problemsOf(declared({ name: 'sw3', port: 'Eth1/12' }, { name: 'sw3', port: 'Eth1/13' }))).toEqual([]);
  });

  it('without a MAC address is a warning: it cannot be checked', () => {
    const rack = declared({ name: 'sw3', port: 'Ethernet1/12' });
    delete nic(rack, 0, 0).mac;
    const result = checkInventory([{ file: 'lab.yaml', name: 'lab', value: rack }]);
    expect(result.warnings.join('\n')).toContain(
      'nodes[0].interfaces[0].switch: cannot be checked: the interface has no mac',
    );
  });
});

it('is a condition of a profile only when it says so', () => {
  const rack = rackDocument();
  expect(at(inventoryOf(rack).profiles, 0).cabling).toBe('warn');
  Object.assign(at(rack.profiles, 0), { cabling: 'require' });
  expect(at(inventoryOf(rack).profiles, 0).cabling).toBe('require');
  Object.assign(at(rack.profiles, 0), { cabling: 'strict' });
  expect(problemsOf(rack).join('\n')).toMatch(/profiles\[0\]\.cabling: must be (one of )?warn(,| or) require/);
});
