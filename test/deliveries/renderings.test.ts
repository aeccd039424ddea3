import { describe, expect, it } from 'vitest';
import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../../appliance/assets/template-files.ts';
import type { EditedRendering } from '../../appliance/deliveries/edited-renderings.ts';
import type { Renderings } from '../../appliance/deliveries/renderings.ts';
import type { Inventory } from '../../appliance/domain/inventory.ts';
import type { MachineSpec } from '../../appliance/domain/machine.ts';
import type { RenderedFile } from '../../appliance/render/rendered-file.ts';
import type { SkippedNode } from '../../appliance/render/site-folder.ts';
import { compileTemplates } from '../../appliance/render/templates.ts';
import { example, inventoryFrom, named } from '../render/plan-rack.ts';
import { BY, KEY, rig } from './renderings-rig.ts';

const paths = (files: readonly RenderedFile[]): string[] => files.map(({ path }) => path).sort();

const spec =
  (hostname: string, change: (spec: MachineSpec) => Partial<MachineSpec>) =>
  (inventory: Inventory): Inventory => ({
    ...inventory,
    machines: inventory.machines.map((machine) =>
      machine.spec.hostname === hostname ? { ...machine, spec: { ...machine.spec, ...change(machine.spec) } } : machine,
    ),
  });

async function editedBy(renderings: Renderings, before: Inventory, after: Inventory): Promise<EditedRendering[]> {
  const edited: EditedRendering[] = [];
  for await (const one of renderings.edited(before, after)) edited.push(one);
  return edited;
}

async function siteOf(renderings: Renderings): Promise<{ files: RenderedFile[]; left: SkippedNode[] }> {
  const [site] = [...renderings.index().sites.values()];
  if (!site) throw new Error('there is no site');
  const [files, left]: [RenderedFile[], SkippedNode[]] = [[], []];
  for await (const made of renderings.site(site, (one) => left.push(one))) files.push(...made);
  return { files, left };
}

describe('a preview', () => {
  it('of a NixOS node is a flake of its own, with the files that must not be in the Nix store beside it', async () => {
    const { renderings, machine, made } = rig();
    const { files, missing } = await renderings.preview(machine('node01'));
    expect(paths(files)).toEqual(
      expect.arrayContaining([
        'extra-files/etc/nixos/secrets/cluster-config.json',
        'flake/common/base.nix',
        'flake/flake.nix',
        'flake/nodes/node01.example.com/configuration.nix',
        'flake/nodes/node01.example.com/disko.nix',
        'flake/nodes/node01.example.com/hardware.nix',
        'flake/nodes/node01.example.com/system.nix',
        'flake/profiles/control-plane.nix',
      ]),
    );
    expect(paths(files).filter((path) => path.includes('secrets/') && path.startsWith('flake/'))).toEqual([]);
    expect(missing).toEqual([expect.stringContaining('key and certificate')]);
    expect(made).toEqual([]);
  });

  it('of an image is its seed for cloud-init', async () => {
    const { renderings, machine } = rig();
    const { files, missing } = await renderings.preview(machine('node05'));
    expect(paths(files)).toEqual(['meta-data', 'network-config', 'user-data', 'vendor-data']);
    expect(missing).toEqual([expect.stringContaining('the enrollment bundle')]);
  });

  it.each([
    ['autoinstall', ['meta-data', 'user-data']],
    ['preseed', ['disks.sh', 'late.sh', 'preseed.cfg']],
    ['kickstart', ['ks.cfg']],
    ['ignition', ['config.ign']],
  ])('of %s is the set of files that its installer reads', async (kind, expected) => {
    const { renderings, machine } = rig((document) => {
      const disks = [{ by_id: 'nvme-disk-1' }];
      document.profiles.push({ name: 'other', kind, storage: { layout: 'single', disks } });
      named(document.nodes, 'node05').profile = 'other';
    });
    expect(paths((await renderings.preview(machine('node05'))).files)).toEqual(expected);
  });

  it('of a node that cannot be installed lists every reason', async () => {
    const { renderings, machine } = rig((document) => {
      delete named(document.nodes, 'node05').profile;
    });
    await expect(renderings.preview(machine('node05'))).rejects.toMatchObject({
      code: 'invalid_inventory',
      details: ['it has no profile (profile:)'],
    });
  });

  it('is the same on each call', async () => {
    const [one, two] = [rig(), rig()];
    for (const {
      spec: { hostname },
    } of one.inventory.machines) {
      const first = await one.renderings.preview(one.machine(hostname));
      expect((await two.renderings.preview(two.machine(hostname))).files).toEqual(first.files);
    }
  });
});

describe('an issued folder', () => {
  it('contains the key, is recorded without it, and is audited', async () => {
    const { renderings, machine, delivered, events, audit } = rig();
    const { files, missing } = await renderings.issueFolder(machine('node01'), BY);
    const key = files.find(({ path }) => path === 'extra-files/etc/nixos/secrets/node01-key.pem');
    expect(key).toMatchObject({ text: KEY, mode: 0o600, secret: true });
    expect(missing).toEqual([]);
    const kept = delivered.get(machine('node01').id);
    expect(kept).toMatchObject({ by: 'folder', inventoryRevision: 7, at: 1000 });
    expect(kept?.files.find(({ path }) => path.endsWith('-key.pem'))).toMatchObject({ text: null });
    expect(JSON.stringify([kept, events, audit])).not.toContain(KEY);
    expect(audit).toEqual([
      expect.objectContaining({ action: 'rendering.secrets-handed-over', actor: BY.actor, target: 'node:node01' }),
    ]);
    expect(events).toEqual([expect.objectContaining({ kind: 'rendering.delivered', correlationId: 'c-1' })]);
  });

  it('issues no key for a node that needs none or cannot be rendered', async () => {
    const { renderings, machine, made } = rig((document) => {
      named(document.nodes, 'node02').secure_boot = true;
    });
    await renderings.issueFolder(machine('node05'), BY);
    await expect(renderings.issueFolder(machine('node02'), BY)).rejects.toMatchObject({ code: 'invalid_inventory' });
    expect(made).toEqual([]);
  });

  it('reports a missing certificate authority', async () => {
    const { renderings, machine } = rig(undefined, { serviceFiles: null });
    const { missing } = await renderings.issueFolder(machine('node01'), BY);
    expect(missing).toEqual(['the key and certificate of its services: there is no certificate authority']);
  });
});

describe('the difference to the last delivery', () => {
  it('is everything before the first delivery, and nothing right after one', async () => {
    const { renderings, machine } = rig();
    const first = await renderings.changes(machine('node05'));
    expect(first.since).toBeNull();
    expect(first.files.map(({ change }) => change)).toEqual(['added', 'added', 'added', 'added']);
    await renderings.issueFolder(machine('node05'), BY);
    expect(await renderings.changes(machine('node05'))).toMatchObject({
      since: { at: 1000, by: 'folder', inventoryRevision: 7 },
      files: [],
    });
  });

  it('is what an edit changed, by lines; a new revision alone changes nothing', async () => {
    const { renderings, machine, edit } = rig();
    await renderings.issueFolder(machine('node01'), BY);
    edit((inventory) => ({ ...inventory, declaredRevision: 99 }));
    expect(await renderings.changes(machine('node01'))).toMatchObject({ inventoryRevision: 99, files: [] });
    edit(spec('node01', () => ({ packages: ['htop'] })));
    const { files } = await renderings.changes(machine('node01'));
    expect(files).toMatchObject([
      { path: 'nodes/node01.example.com/configuration.nix', change: 'changed', added: 1, removed: 1 },
    ]);
    expect(files[0]?.diff).toContain('+  environment.systemPackages = map package [ "htop" ];\n');
  });

  it('does not depend on values of one installation', async () => {
    const { renderings, machine } = rig((document) => {
      named(document.nodes, 'node05').enrollment = 'first-boot';
    });
    const plan = renderings.plan(machine('node05'));
    const part = { name: 'node-agent', version: '1', script: '#!/bin/sh\necho the-token\n' };
    const given = renderings.files(plan, {
      ...(await import('../../appliance/render/node-files.ts')).previewExtras(plan),
      instanceId: 'deployment-1',
      nodeParts: [part],
    });
    await renderings.recordDelivery(machine('node05'), plan, given, 'order', BY);
    expect((await renderings.changes(machine('node05'))).files).toEqual([]);
  });
});

describe('an edit', () => {
  it('of one node changes only its own rendering, and renders no other node', async () => {
    const { renderings, inventory } = rig();
    const edited = await editedBy(renderings, inventory, spec('node05', () => ({ packages: ['jq'] }))(inventory));
    expect(edited).toMatchObject([{ node: 'node05', files: [{ path: 'user-data', change: 'changed' }], reasons: [] }]);
  });

  it('that adds a worker to a cluster changes nothing for the existing members', async () => {
    const [all, without] = [rig(), rig()];
    without.edit((inventory) => ({
      ...inventory,
      machines: inventory.machines.filter(({ spec: one }) => one.hostname !== 'node04'),
    }));
    const withoutIt = {
      ...all.inventory,
      machines: all.inventory.machines.filter((one) => one !== all.machine('node04')),
    };
    expect(await editedBy(all.renderings, withoutIt, all.inventory)).toEqual([]);
    const [before, now] = [await siteOf(without.renderings), await siteOf(all.renderings)];
    const texts = new Map(before.files.map(({ path, text }) => [path, text]));
    const changed = now.files.filter(({ path, text }) => texts.has(path) && texts.get(path) !== text);
    expect(paths(changed)).toEqual(
      expect.arrayContaining(['ansible/inventory.yaml', 'dns/example.com.zone', 'flake.nix', 'hosts']),
    );
    expect(paths(changed).filter((path) => path.startsWith('nodes/'))).toEqual([]);
  });

  it('of a member that others join through changes their renderings', async () => {
    const { renderings, inventory } = rig();
    const moved = spec('node01', ({ interfaces }) => ({
      interfaces: interfaces.map((one) =>
        one.name === 'eth1' ? { ...one, address: '10.0.200.99' as NonNullable<typeof one.address> } : one,
      ),
    }))(inventory);
    const edited = await editedBy(renderings, inventory, moved);
    expect(edited.map(({ node }) => node)).toEqual(['node01', 'node02', 'node03', 'node04']);
  });

  it.each([
    ['the site', (all: Inventory) => ({ ...all, sites: all.sites.map((one) => ({ ...one, timezone: 'UTC' })) }), 5],
    [
      'a network',
      (all: Inventory) => ({
        ...all,
        networks: all.networks.map((one) => (one.name === 'production' ? { ...one, mtu: 9000 } : one)),
      }),
      5,
    ],
    [
      'a profile',
      (all: Inventory) => ({
        ...all,
        profiles: all.profiles.map((one) => (one.name === 'worker' ? { ...one, packages: ['jq'] } : one)),
      }),
      1,
    ],
  ])('of %s affects every node that uses it', async (_what, change, count) => {
    const { renderings, inventory } = rig();
    expect(await editedBy(renderings, inventory, change(inventory))).toHaveLength(count);
  });

  it('that makes a node impossible to render reports the reasons', async () => {
    const { renderings, inventory } = rig();
    const edited = await editedBy(renderings, inventory, spec('node05', () => ({ profile: null }))(inventory));
    expect(edited).toEqual([{ node: 'node05', files: [], reasons: ['it has no profile (profile:)'] }]);
  });

  it('affects every member if templates may list all of them', async () => {
    const sources = new Map(readTemplateFiles(BUILT_IN_TEMPLATES));
    const ours = sources.get('nixos/configuration.nix') ?? '';
    const own = ours.replace(
      '{ config, lib, pkgs, ... }:',
      '{{#if cluster}}{{#each cluster.members}}\n# {{shown fqdn}}\n{{/each}}{{/if}}\n{ config, lib, pkgs, ... }:',
    );
    const templates = compileTemplates(sources, new Map([['nixos/configuration.nix', own]]));
    const { renderings, inventory } = rig(undefined, {
      templates: { ...templates, overridden: 1, reload: async () => [] },
    });
    const without = { ...inventory, machines: inventory.machines.filter(({ spec: one }) => one.hostname !== 'node04') };
    expect((await editedBy(renderings, without, inventory)).map(({ node }) => node)).toEqual([
      'node01',
      'node02',
      'node03',
    ]);
  });
});

describe('a site', () => {
  it('has every node that can be rendered, reports the others, and leaves them out of the flake', async () => {
    const { renderings } = rig((document) => {
      named(document.nodes, 'node04').secure_boot = true;
      delete named(document.nodes, 'node05').profile;
    });
    const { files, left } = await siteOf(renderings);
    expect(left.map(({ node }) => node)).toEqual(['node04', 'node05']);
    expect(left[0]?.reasons).toEqual([expect.stringContaining('secureBoot')]);
    expect(files.find(({ path }) => path === 'flake.nix')?.text).not.toContain('node04');
    expect(paths(files)).toContain('nodes/node01.example.com/configuration.nix');
    expect(files.filter(({ secret }) => secret)).toEqual([]);
  });

  it('of an unchanged inventory renders to the same bytes', async () => {
    const twice = await Promise.all([siteOf(rig().renderings), siteOf(rig().renderings)]);
    expect(twice[0]).toEqual(twice[1]);
    expect(inventoryFrom(example()).machines).toHaveLength(5);
  });
});
