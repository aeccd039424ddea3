import { describe, expect, it } from 'vitest';
import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../../appliance/assets/template-files.ts';
import type { Inventory } from '../../appliance/domain/inventory.ts';
import { applyInventory } from '../../appliance/inventory/apply.ts';
import { checkInventory } from '../../appliance/inventory/check.ts';
import { renderNixos } from '../../appliance/render/nixos/render-nixos.ts';
import { indexInventory, type PlanIndex } from '../../appliance/render/plan-index.ts';
import { renderSite } from '../../appliance/render/site/render-site.ts';
import { compileTemplates } from '../../appliance/render/templates.ts';
import { counter, MemoryStore } from '../inventory/memory-store.ts';
import { type ExampleDocument, example, indexOf, inventoryFrom, named, planned, SITE } from './plan-rack.ts';

const TEMPLATES = compileTemplates(
  new Map([...readTemplateFiles(BUILT_IN_TEMPLATES)].filter(([name]) => /^(?:site|nixos)\//.test(name))),
);
const FORMERS = ['node01', 'node02', 'node03'];

const withoutNode04 = (document: ExampleDocument): void => {
  document.nodes = document.nodes.filter(({ name }) => name !== 'node04');
};

/** Lines that only one of two texts has. */
function changedLines(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line.trim()}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line.trim()}`),
  ];
}

const siteFiles = (index: PlanIndex) =>
  new Map(renderSite(index, SITE, TEMPLATES).map(({ path, text }) => [path, text]));

async function applied(store: MemoryStore, document: ExampleDocument): Promise<Inventory> {
  const { problems, sources } = checkInventory([{ file: 'example.yaml', name: 'example', value: document }]);
  expect(problems).toEqual([]);
  const request = { sources, mode: 'reconcile', dryRun: false, actor: 'test', correlationId: null } as const;
  await applyInventory(store, request, { now: () => 0, newId: counter() });
  return store.held;
}

describe('the cluster of a plan', () => {
  it('is formed by its bootstrap members, led by the first of them, and joined by the others', () => {
    const index = indexOf();
    const member = (number: number, role = 'control-plane') => ({
      hostname: `node0${number}`,
      fqdn: `node0${number}.example.com`,
      address: number === 4 ? '10.0.200.20' : `10.0.200.${9 + number}`,
      role,
    });
    const common = {
      name: 'prod-cluster',
      network: 'production',
      prefix: { network: '10.0.200.0', length: 24 },
      vip: '10.0.200.100',
      leader: member(1),
      bootstrap: [member(1), member(2), member(3)],
      members: [member(1), member(2), member(3), member(4, 'worker')],
    };
    expect(planned(index, 'node02').cluster).toEqual({ ...common, mode: 'bootstrap', self: member(2) });
    expect(planned(index, 'node04').cluster).toEqual({ ...common, mode: 'join', self: member(4, 'worker') });
    expect(planned(index, 'node05').cluster).toBeNull();
  });

  it('is led by the first bootstrap member of the inventory, whatever its name', () => {
    const index = indexOf(({ clusters }) => {
      named(clusters, 'prod-cluster').bootstrap = ['node03', 'node01'];
    });
    expect(planned(index, 'node01').cluster?.leader.hostname).toBe('node03');
    expect(planned(index, 'node02').cluster?.mode).toBe('join');
  });

  it('continues without a retired member', () => {
    const inventory = inventoryFrom(example());
    const machines = inventory.machines.map((machine) =>
      machine.spec.hostname === ('node01' as string)
        ? { ...machine, lifecycle: { ...machine.lifecycle, state: 'retired' as const } }
        : machine,
    );
    const index = indexInventory({ ...inventory, machines });
    const cluster = planned(index, 'node04').cluster;
    expect(cluster?.leader.hostname).toBe('node02');
    expect(cluster?.members.map(({ hostname }) => hostname as string)).toEqual(['node02', 'node03', 'node04']);
    const files = siteFiles(index);
    for (const path of ['hosts', 'dns/example.com.zone', 'ansible/inventory.yaml', 'prometheus/nodes.json']) {
      expect(files.get(path)).not.toContain('node01');
    }
  });

  it('shares one list of members between all plans', () => {
    const index = indexOf();
    expect(planned(index, 'node01').cluster?.members).toBe(planned(index, 'node04').cluster?.members);
  });
});

describe('adding a fourth node', () => {
  const before = indexOf(withoutNode04);
  const after = indexOf();

  it('changes nothing for the first three but the list of members', () => {
    for (const hostname of FORMERS) {
      const then = planned(before, hostname);
      const now = planned(after, hostname);
      expect(now).toEqual({ ...then, cluster: { ...then.cluster, members: now.cluster?.members } });
      expect(now.cluster?.members.slice(0, 3)).toEqual(then.cluster?.members);
    }
  });

  it('leaves the renderings of the first three unchanged, byte for byte', () => {
    for (const hostname of FORMERS) {
      const then = renderNixos(planned(before, hostname), TEMPLATES);
      expect(then.length).toBeGreaterThan(3);
      expect(renderNixos(planned(after, hostname), TEMPLATES)).toEqual(then);
    }
  });

  it('adds only its own entries to the files of the site', () => {
    const then = siteFiles(before);
    const now = siteFiles(after);
    const changed = [...now].filter(([path, text]) => then.get(path) !== text).map(([path]) => path);
    expect(changed.sort()).toEqual([
      'ansible/inventory.yaml',
      'dns/10.0.10.in-addr.arpa.zone',
      'dns/100.0.10.in-addr.arpa.zone',
      'dns/200.0.10.in-addr.arpa.zone',
      'dns/example.com.zone',
      'firewall/prod-cluster/worker.nft',
      'firewall/prod-cluster/worker.sh',
      'hosts',
      'prometheus/nodes.json',
      'prometheus/services.json',
    ]);
    expect(changedLines(then.get('hosts') ?? '', now.get('hosts') ?? '')).toEqual([
      '+ 10.0.200.20 node04.example.com node04',
      '+ 10.0.100.60 node04.prov.example.com',
      '+ 10.0.10.54 node04.bmc.example.com',
    ]);
    expect(
      changedLines(then.get('dns/200.0.10.in-addr.arpa.zone') ?? '', now.get('dns/200.0.10.in-addr.arpa.zone') ?? ''),
    ).toEqual(['+ 20 IN PTR node04.example.com.']);
  });
});

describe('replacing a node', () => {
  it('keeps its name, its addresses and its place in the cluster, on new interfaces', async () => {
    const store = new MemoryStore();
    const before = indexInventory(await applied(store, example()));
    const replaced = example(({ nodes }) => {
      const node = named(nodes, 'node02');
      node.uuid = '7a11ab1e-0000-4000-8000-00000000beef';
      node.interfaces.forEach((nic, at) => {
        nic.mac = `52:54:00:99:00:0${at}`;
      });
    });
    const after = indexInventory(await applied(store, replaced));
    const then = planned(before, 'node02');
    const now = planned(after, 'node02');
    expect(now).toEqual({
      ...then,
      inventoryRevision: then.inventoryRevision + 1,
      links: then.links.map((link, at) => ({ ...link, mac: `52:54:00:99:00:0${at}` })),
    });
    const unmoved = { ...now, inventoryRevision: then.inventoryRevision };
    expect(planned(after, 'node01')).toEqual({
      ...planned(before, 'node01'),
      inventoryRevision: now.inventoryRevision,
    });
    expect(unmoved.id).toBe(then.id);
    const serial = /^ {2}\d+ ; serial$/m;
    for (const [path, text] of siteFiles(after)) {
      expect(text.replace(serial, ''), path).toBe(siteFiles(before).get(path)?.replace(serial, ''));
    }
  });
});
