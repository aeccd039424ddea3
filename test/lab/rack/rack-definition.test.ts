import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { afterAll, describe, expect, it } from 'vitest';
import { checkInventory } from '../../../appliance/inventory/check.ts';
import {
  identicalMachines,
  type RackDefinition,
  rackDefinition,
  readRackDefinition,
} from '../../../appliance/lab/rack/definition.ts';
import { FIRMWARE_KINDS } from '../../../appliance/lab/rack/firmware.ts';
import { inventoryText, rackInventory } from '../../../appliance/lab/rack/inventory-file.ts';

const places = { bridge: 'rack0', passwordFile: '/rack/bmc-password', userName: 'admin' };

const problemsOf = (value: unknown): string[] => {
  const problems: string[] = [];
  expect(rackDefinition(value, (at, message) => problems.push(`${at}: ${message}`))).toBeNull();
  return problems;
};

const sound = (machines: readonly object[], rack: object = {}): RackDefinition => {
  const definition = rackDefinition({ rack: { ...rack, machines } }, (at, message) => {
    throw new Error(`${at}: ${message}`);
  });
  if (!definition) throw new Error('no definition, and no reason');
  return definition;
};

describe('the definition of a rack', () => {
  it('gives a machine without settings its own values', () => {
    const [first, second] = sound([{ name: 'one' }, { name: 'two', firmware: 'arm64-uefi', cards: 2 }]).machines;
    expect(first).toEqual({
      name: 'one',
      number: 1,
      firmware: 'uefi-pxe',
      memory: null,
      disk: 4096,
      cards: ['52:54:00:77:00:01'],
      uuid: 'c01d1407-0000-4000-8000-000000000001',
      serial: 'CLD0001',
      first: 'disk',
      inBandBmc: false,
      tpm: false,
      twinOf: null,
      profile: null,
      cluster: null,
    });
    expect(second?.cards).toEqual(['52:54:00:77:00:02', '52:54:00:77:01:02']);
  });

  it('lists every problem with its place', () => {
    const machines = [
      { name: 'Bad_Name', mac: 'nonsense', disk: -1 },
      { name: 'one', firmware: 'arm64-uefi', in_band_bmc: true, serial: 'a,b' },
      { name: 'one', colour: 'red' },
    ];
    expect(
      problemsOf({ rack: { site: 'A b', bmc_mode: 'maybe', machines } }).map((line) => line.split(': ')[0]),
    ).toEqual(
      expect.arrayContaining([
        'rack.site',
        'rack.bmc_mode',
        'rack.machines[0].name',
        'rack.machines[0].mac',
        'rack.machines[0].disk',
        'rack.machines[1].in_band_bmc',
        'rack.machines[1].serial',
        'rack.machines[2].colour',
        'rack.machines[2].name',
      ]),
    );
  });

  it.each([
    ['no rack', {}, 'rack'],
    ['an empty one', { rack: { machines: [] } }, 'rack.machines'],
    ['a list', [], ''],
    ['too many', { rack: { machines: Array.from({ length: 251 }, (_, n) => ({ name: `n${n}` })) } }, 'rack.machines'],
  ])('rejects %s', (_what, value, place) => {
    expect(problemsOf(value)[0]).toMatch(new RegExp(`^${place}: `));
  });

  it('never throws on any document, and reports every invalid one', () => {
    fc.assert(
      fc.property(
        fc.object({ key: fc.constantFrom('rack', 'machines', 'name', 'mac', 'disk', 'x'), maxDepth: 4 }),
        (value) => {
          const problems: string[] = [];
          const definition = rackDefinition(value, (at, message) => problems.push(`${at}: ${message}`));
          expect(definition === null).toBe(problems.length > 0);
        },
      ),
    );
  });

  it('gives a twin what identifies the other machine, and nothing else', () => {
    const [first, twin] = sound([
      { name: 'one', cards: 2, serial: 'X1', disk: 8, tpm: true },
      { name: 'two', twin_of: 'one', disk: 16, firmware: 'bios-ipxe-rom' },
    ]).machines;
    const { cards, uuid, serial } = first ?? {};
    expect(twin).toMatchObject({ cards, uuid, serial, twinOf: 'one', number: 2, disk: 16, tpm: false });
    expect(twin?.firmware).toBe('bios-ipxe-rom');
  });

  it.each([
    [
      'an unknown machine',
      [{ name: 'one' }, { name: 'two', twin_of: 'three' }],
      'twin_of: three is not another machine',
    ],
    ['itself', [{ name: 'one' }, { name: 'two', twin_of: 'two' }], 'twin_of: two is not another machine'],
    [
      'a twin',
      [{ name: 'one' }, { name: 'three', twin_of: 'one' }, { name: 'two', twin_of: 'three' }],
      'twin_of: three is not another machine',
    ],
  ])('rejects a twin of %s', (_what, machines, reason) => {
    expect(problemsOf({ rack: { machines } })).toEqual([expect.stringContaining(reason)]);
  });

  it.each(['mac', 'uuid', 'serial'] as const)('rejects a twin with another %s', (key) => {
    const values = { mac: '52:54:00:00:00:01', uuid: 'c01d1407-0000-4000-8000-0000000000ff', serial: 'Y' };
    const machines = [{ name: 'one' }, { name: 'two', twin_of: 'one', [key]: values[key] }];
    expect(problemsOf({ rack: { machines } })).toEqual([
      `rack.machines[1].${key}: a twin has that of the other machine`,
    ]);
  });

  it.each([0, 251, 1.5, Number.NaN])('rejects %s identical machines', (count) => {
    expect(() => identicalMachines(count)).toThrow('1 to 250');
  });

  describe('in a file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'coldiron-definition-'));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    const written = (text: string): string => {
      const file = join(folder, 'rack.yaml');
      writeFileSync(file, text);
      return file;
    };

    it('is read from YAML', async () => {
      const text = 'rack:\n  bmc_mode: recorder\n  machines:\n    - {name: one, boots_first: network, memory: 512}\n';
      const { bmcMode, machines } = await readRackDefinition(written(text));
      expect([bmcMode, machines[0]?.first, machines[0]?.memory]).toEqual(['recorder', 'network', 512]);
    });

    it('names the file in its problems', async () => {
      const file = written('rack:\n  machines:\n    - {name: one, disk: much}\n');
      await expect(readRackDefinition(file)).rejects.toMatchObject({
        code: 'invalid_config',
        details: [expect.stringContaining(`${file}: rack.machines[0].disk: must be a whole number`)],
      });
    });
  });
});

describe('the inventory of a rack', () => {
  it('is accepted by an appliance', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...FIRMWARE_KINDS), fc.constantFrom(1, 2)), { minLength: 1, maxLength: 250 }),
        fc.constantFrom('real', 'recorder', 'disabled'),
        (kinds, bmcMode) => {
          const machines = kinds.map(([firmware, cards], index) => ({ name: `node${index}`, firmware, cards }));
          const inventory = rackInventory(sound(machines, { bmc_mode: bmcMode }), places);
          const value = load(inventoryText(inventory));
          expect(checkInventory([{ file: 'inventory.yaml', name: 'inventory', value }]).problems).toEqual([]);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('does not declare a twin', () => {
    const rack = sound([{ name: 'one' }, { name: 'two', twin_of: 'one' }]);
    expect(rackInventory(rack, places).nodes?.map(({ name }) => name)).toEqual(['one']);
  });

  it('names the BMC, its user and the password file, but never the password', () => {
    const [node] = rackInventory(identicalMachines(1), places).nodes ?? [];
    expect(node?.bmc).toEqual({
      address: '10.77.100.1',
      driver: 'ipmi',
      username: 'admin',
      password_file: '/rack/bmc-password',
    });
    expect(rackInventory({ ...identicalMachines(1), bmcMode: 'disabled' }, places).nodes?.[0]).not.toHaveProperty(
      'bmc',
    );
  });
});
