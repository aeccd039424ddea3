import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { checkInventory } from '../../appliance/inventory/check.ts';
import { readInventoryFiles } from '../../appliance/inventory/read-files.ts';
import { inventoryOf } from './memory-store.ts';
import { at, declaredBy, network, nic, node, problemsOf, type RackDocument, rackDocument, rackNode } from './rack.ts';

describe('checking an inventory', () => {
  it('reports ten different problems at once, each once', () => {
    const rack = rackDocument();
    Object.assign(at(rack.skus, 1), { architecture: 'arm' }); // 1 not a value
    Object.assign(network(rack, 0), { gatway: '10.0.1.3' }); // 2 unknown key
    network(rack, 0).vlan = '10'; // 3 text for a number
    network(rack, 1).prefix = '10.0.2.1/24'; // 4 host bits
    nic(rack, 0, 0).mac = '52:54:00:zz'; // 5 no MAC address
    node(rack, 0).bmc.password = 'calvin'; // 6 a secret
    nic(rack, 1, 0).address = '10.0.1.150'; // 7 in a pool
    node(rack, 1).sku = 'smoll'; // 8 unknown SKU
    at(rack.clusters, 0).bootstrap = ['a1', 'a3']; // 9 unknown node
    rack.nodes.push({ ...rackNode('a4', 4), bmc: { address: '10.0.9.11' } }); // 10 a BMC twice

    const problems = problemsOf(rack);
    expect(problems).toEqual([
      'lab.yaml: networks[0].vlan: must be a whole number, is text: 10',
      'lab.yaml: networks[0].gatway: unknown key (did you mean gateway?)',
      'lab.yaml: skus[1].architecture: must be one of x86_64, i386, arm64, arm32, riscv64, loong64: arm (did you mean arm64?)',
      'lab.yaml: nodes[0].bmc.password: secrets are never in the inventory; use password_file',
      'lab.yaml: networks[1].prefix: has host bits set: 10.0.2.1/24; write 10.0.2.0/24',
      'lab.yaml: nodes[0].interfaces[0].mac: not a MAC address: 52:54:00:zz',
      'lab.yaml: nodes[1].interfaces[0].address: 10.0.1.150 is in the pool lab.yaml: networks[0].pools[0]',
      'lab.yaml: nodes[2].bmc.address: 10.0.9.11 is taken: it is the BMC of lab.yaml: nodes[0].bmc.address',
      'lab.yaml: nodes[1].sku: unknown SKU: smoll (did you mean small?)',
      'lab.yaml: clusters[0].bootstrap[1]: unknown node: a3',
    ]);
  });

  it('returns no sources when there is a problem', () => {
    const rack = rackDocument();
    nic(rack, 0, 0).mac = 'nothing';
    const good = { file: 'good.yaml', name: 'good', value: { skus: [{ name: 'big', architecture: 'x86_64' }] } };
    expect(checkInventory([good, { file: 'lab.yaml', name: 'lab', value: rack }]).sources).toEqual([]);
  });

  it('reports no missing references to an object that could not be read', () => {
    const rack = rackDocument();
    Object.assign(at(rack.skus, 0), { name: 'Small' });
    Object.assign(network(rack, 0), { name: 5 });
    (rack as { sites: unknown }).sites = 'lab';
    expect(problemsOf(rack)).toEqual([
      'lab.yaml: sites: must be a list, is text: lab',
      'lab.yaml: networks[0].name: must be text, is a number: 5 (put it in quotes)',
      expect.stringMatching(/^lab\.yaml: skus\[0\]\.name: not a name/),
    ]);
  });

  it('resolves references between files', () => {
    const { nodes, ...catalogue } = rackDocument();
    const { clusters, ...rest } = catalogue;
    expect(declaredBy({ catalogue: rest, nodes: { nodes, clusters } }).map(({ name }) => name)).toEqual([
      'catalogue',
      'nodes',
    ]);
    expect(problemsOf({ nodes }).length).toBeGreaterThan(0);
  });

  it('names both files when they conflict', () => {
    const document = { skus: [{ name: 'big', architecture: 'x86_64' }] };
    const raw = ['a', 'b'].map((name) => ({ file: `${name}.yaml`, name, value: document }));
    expect(checkInventory(raw).problems).toEqual(['b.yaml: skus[0].name: big is taken by a.yaml: skus[0].name']);
    expect(checkInventory(raw.map((source) => ({ ...source, name: 'one' }))).problems).toContain(
      'b.yaml: the source name one is already used by a.yaml',
    );
  });

  it('fills in defaults', () => {
    const [source] = declaredBy({ lab: rackDocument() });
    expect(source?.declared.networks[1]).toMatchObject({
      site: 'lab',
      dhcp: 'off',
      unknown: 'refuse',
      efiLoader: 'snponly',
      secureBoot: false,
      server: null,
    });
    expect(source?.declared.nodes[0]).toMatchObject({ site: 'lab', architecture: 'x86_64', gpus: null, labels: {} });
    expect(source?.declared.nodes[0]?.bmc).toMatchObject({ driver: 'ipmi', username: null, passwordFile: null });
    expect(source?.declared.profiles[1]).toMatchObject({ deployMinutes: 60, active: true, skus: [], role: null });
  });

  it('accepts the example, which declares the rack of the runbook', async () => {
    const { problems, sources } = checkInventory(await readInventoryFiles(['inventory/example.yaml']));
    expect(problems).toEqual([]);
    const rows = sources[0]?.declared.nodes.map(({ hostname, profile, interfaces, bmc }) =>
      [hostname, profile, ...interfaces.map(({ mac, address }) => `${mac} ${address}`), bmc?.address].join(' | '),
    );
    expect(rows).toEqual([
      'node01 | control-plane | 52:54:00:12:34:56 10.0.100.50 | 52:54:00:22:34:56 10.0.200.10 | 10.0.10.50',
      'node02 | control-plane | 52:54:00:12:34:57 10.0.100.51 | 52:54:00:22:34:57 10.0.200.11 | 10.0.10.51',
      'node03 | control-plane | 52:54:00:12:34:58 10.0.100.52 | 52:54:00:22:34:58 10.0.200.12 | 10.0.10.52',
      'node04 | worker | 52:54:00:12:34:59 10.0.100.60 | 52:54:00:22:34:59 10.0.200.20 | 10.0.10.54',
      'node05 | debian-12 | 52:54:00:12:34:5a 10.0.100.65 | 52:54:00:22:34:5a 10.0.200.21 | 10.0.10.55',
    ]);
    expect(sources[0]?.declared.sites[0]?.bmcMode).toBe('recorder');
  });

  it('accepts the commented-out parts of the example', async () => {
    const [source] = await readInventoryFiles(['inventory/example.yaml']);
    const document = structuredClone(source?.value) as RackDocument;
    const text = await readFile('inventory/example.yaml', 'utf8');
    const mentioned = Object.assign(
      {},
      ...[...text.matchAll(/^ *# {3}(\w+: [[{].*)$/gm)].map((match) => load(match[1] ?? '')),
    );
    const { bootstrap, bonds, vlans, roce, ...rest } = mentioned;
    expect(rest).toEqual({});
    const { script_file: file, ...named } = bootstrap;
    expect(file).toBe('first-boot.sh');
    Object.assign(at(document.sites, 0), { bootstrap: { ...named, script: '#!/bin/sh\n' } });
    const [first, second] = node(document, 0).interfaces;
    delete second?.address;
    delete first?.address;
    Object.assign(node(document, 0), { bonds, vlans });
    expect(problemsOf({ ...document, roce })).toEqual([]);
  });

  it('never throws, and never accepts a document with an unread field', () => {
    const junk = fc.anything({ withNullPrototype: true, maxDepth: 5 });
    const document = fc.oneof(
      junk,
      fc.record({ sites: junk, nodes: fc.array(junk), networks: fc.array(fc.record({ name: junk, prefix: junk })) }),
    );
    fc.assert(
      fc.property(document, (value) => {
        const { problems, sources } = checkInventory([{ file: 'x.yaml', name: 'x', value }]);
        expect(problems.length > 0).toBe(sources.length === 0);
        for (const problem of problems) expect(problem).toMatch(/^x\.yaml: [\x20-\x7e…]+$/);
        for (const { declared } of sources) expect(JSON.stringify(declared)).toBe(canonical(declared));
      }),
    );
  });
});

/** JSON that shows undefined fields as null; JSON.stringify alone drops them. */
const canonical = (value: unknown): string => JSON.stringify(value, (_key, inner) => inner ?? null);

describe('checking against stored objects', () => {
  const held = inventoryOf(declaredBy({ lab: rackDocument() }));
  const check = (name: string, value: unknown, mode?: 'additive') =>
    checkInventory([{ file: `${name}.yaml`, name, value }], held, mode).problems;

  it('resolves references to objects of other sources', () => {
    const node = { ...rackNode('b1', 3), bmc: { address: '10.0.9.31' } };
    expect(check('more', { nodes: [node] })).toEqual([]);
  });

  it('reports conflicts with another source, and names it', () => {
    expect(check('more', { nodes: [rackNode('b1', 1)] })).toEqual([
      'more.yaml: nodes[0].interfaces[0].mac: 52:54:00:00:01:01 is taken by stored from lab: node a1.interfaces[0].mac',
      'more.yaml: nodes[0].interfaces[1].mac: 52:54:00:00:02:01 is taken by stored from lab: node a1.interfaces[1].mac',
      'more.yaml: nodes[0].interfaces[0].address: 10.0.1.11 is taken: it is the interface of stored from lab: node a1.interfaces[0].address',
      'more.yaml: nodes[0].interfaces[1].address: 10.0.2.11 is taken: it is the interface of stored from lab: node a1.interfaces[1].address',
      'more.yaml: nodes[0].bmc.address: 10.0.9.11 is taken: it is the BMC of stored from lab: node a1.bmc.address',
    ]);
  });

  it('allows to declare a discovered machine, also after it was accepted by hand', () => {
    const machines = held.machines.map((machine) => ({ ...machine, source: 'network' }));
    const source = { file: 'more.yaml', name: 'more', value: { nodes: [rackNode('b1', 1)] } };
    expect(checkInventory([source], { ...held, machines }).problems).toEqual([]);
  });

  it('allows a source to replace its own objects and to take over others', () => {
    expect(check('lab', rackDocument())).toEqual([]);
    expect(check('more', { nodes: [rackNode('a1', 1)] })).toEqual([]);
  });

  it('keeps earlier objects of a source in additive mode', () => {
    const rack = rackDocument();
    rack.nodes = [rackNode('b1', 1)];
    at(rack.clusters, 0).bootstrap = [];
    expect(check('lab', rack)).toEqual([]);
    expect(check('lab', rack, 'additive')).toHaveLength(5);
  });

  it('reports problems that a change causes for nodes of other sources', () => {
    expect(check('more', { skus: [{ name: 'small', architecture: 'x86_64', gpus: 2, active: false }] })).toEqual([
      'stored from lab: node a1.sku: SKU small is not active',
      'stored from lab: node a2.sku: SKU small is not active',
    ]);
  });
});
