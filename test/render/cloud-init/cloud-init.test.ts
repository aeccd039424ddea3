import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { renderCloudInit } from '../../../appliance/render/cloud-init/cloud-init.ts';
import { networkConfig } from '../../../appliance/render/cloud-init/network-config.ts';
import { yamlDocument } from '../../../appliance/render/cloud-init/yaml-document.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import { AGENT, CLOUD_INIT_CASES, MAAS, MANUAL, SITE, TEMPLATES } from '../installers/samples.ts';
import { ip, mac, SAMPLE_PLANS } from '../plans.ts';

const fileOf = (name: string, plan: NodePlan, extras = MANUAL) => {
  const file = renderCloudInit(plan, extras, TEMPLATES).find(({ path }) => path === name);
  if (!file) throw new Error(`no ${name}`);
  return file;
};

describe.each(CLOUD_INIT_CASES)('the seed of the machine %s', (name, plan, extras) => {
  const files = renderCloudInit(plan, extras, TEMPLATES);

  it.each(files.map((file) => [file.path, file.text]))('matches its golden %s', async (path, text) => {
    await expect(text).toMatchFileSnapshot(`goldens/${name}/${path}`);
  });

  it('renders to the same bytes each time', () => {
    expect(renderCloudInit(structuredClone(plan), extras, TEMPLATES)).toEqual(files);
  });

  it('has the four files that NoCloud reads', () => {
    expect(files.map(({ path }) => path)).toEqual(['meta-data', 'user-data', 'vendor-data', 'network-config']);
  });
});

describe('what is secret', () => {
  const onboarded: NodePlan = { ...SAMPLE_PLANS.debian, siteBootstrap: SITE, enrollment: 'first-boot' };

  it('is what makes the machine a node', () => {
    const secret = renderCloudInit(onboarded, MAAS, TEMPLATES).filter((file) => file.secret);
    expect(secret.map(({ path, mode }) => [path, mode])).toEqual([['user-data', 0o600]]);
  });

  it('is nothing for a machine that is enrolled by hand', () => {
    const files = renderCloudInit({ ...onboarded, enrollment: 'manual' }, MANUAL, TEMPLATES);
    expect(files.filter((file) => file.secret)).toEqual([]);
  });

  it('is only in files that are marked secret', () => {
    const open = renderCloudInit(onboarded, MAAS, TEMPLATES).filter((file) => !file.secret);
    for (const { text } of open) {
      expect(text).not.toContain('echo enrolled');
    }
  });
});

describe('the parts of the first boot', () => {
  const plan: NodePlan = { ...SAMPLE_PLANS.debian, siteBootstrap: SITE, enrollment: 'first-boot' };

  it('are separate: the site in vendor-data, the node in user-data, each with its own version', () => {
    const [vendor] = load(fileOf('vendor-data', plan, MAAS).text) as { filename: string; content: string }[];
    expect(vendor?.filename).toBe('10-site-frankfurt-baseline-2025.11');
    expect(vendor?.content).toContain('/etc/site-baseline');
    const user = fileOf('user-data', plan, MAAS).text;
    expect(user).toContain('/var/lib/coldiron/first-boot/20-node-node-agent-1.2.0');
    expect(user).not.toContain("owner='site-bootstrap'");
  });

  it('change independently: a new version of the site changes in the user-data only the name that it waits for', () => {
    const next = { ...plan, siteBootstrap: { ...SITE, version: '2025.12' } };
    const changed = fileOf('user-data', next, MAAS).text.replaceAll('baseline-2025.12', 'baseline-2025.11');
    expect(changed).toBe(fileOf('user-data', plan, MAAS).text);
    expect(fileOf('vendor-data', next, MAAS).text).not.toBe(fileOf('vendor-data', plan, MAAS).text);
  });

  it('are rejected for a node that does not enroll at its first boot', () => {
    expect(() => fileOf('user-data', { ...plan, enrollment: 'manual' }, MAAS)).toThrowError(
      expect.objectContaining({ details: [expect.stringContaining('does not enroll at its first boot')] }),
    );
  });

  it('wait for all parts before them', () => {
    const extras = { ...MAAS, nodeParts: [AGENT, { ...AGENT, name: 'second' }] };
    const { write_files: files } = load(fileOf('user-data', plan, extras).text) as {
      write_files: { path: string; content: string }[];
    };
    const second = files.find(({ path }) => path.includes('21-node-second'));
    const needed = [...(second?.content.matchAll(/if ! succeeded '(.*)'; then/g) ?? [])].map((match) => match[1]);
    expect(needed).toEqual([
      '/var/lib/coldiron/site-bootstrap/frankfurt-baseline-2025.11',
      '/var/lib/coldiron/node-bootstrap/node-agent-1.2.0',
    ]);
  });
});

describe('the network configuration', () => {
  const yaml = (plan: NodePlan): string => yamlDocument(null, networkConfig(plan));
  const withLinks = (links: NodePlan['links'], changes: Partial<NodePlan> = {}): NodePlan => ({
    ...SAMPLE_PLANS.controlPlane,
    links,
    ...changes,
  });
  const [first, second] = SAMPLE_PLANS.controlPlane.links;

  it('quotes a MAC address that YAML 1.1 would read as a base-60 number', () => {
    if (first?.kind !== 'ethernet') throw new Error('not a card');
    const plan = withLinks([{ ...first, mac: mac('52:54:00:12:34:56') }], { gateway: null });
    expect(yaml(plan)).toContain("macaddress: '52:54:00:12:34:56'");
  });

  it('sets the default route on the link of the gateway only', () => {
    const { ethernets } = networkConfig(SAMPLE_PLANS.controlPlane);
    expect(ethernets?.eth0).not.toHaveProperty('routes');
    expect(ethernets?.eth1).toHaveProperty('routes', [{ to: '0.0.0.0/0', via: '10.0.200.1' }]);
  });

  it('does not let DHCP add a second default route', () => {
    expect(networkConfig(SAMPLE_PLANS.allInOne).ethernets?.eth0).toHaveProperty('dhcp4-overrides', {
      'use-routes': false,
    });
    expect(networkConfig(SAMPLE_PLANS.bare).ethernets?.eno1).not.toHaveProperty('dhcp4-overrides');
  });

  it('keeps the name of an interface without a known MAC address', () => {
    expect(networkConfig(SAMPLE_PLANS.bare).ethernets).toEqual({ eno1: { dhcp4: true } });
  });

  it('has RoCE links only if the plan has them', () => {
    expect(Object.keys(networkConfig(SAMPLE_PLANS.bonded).ethernets ?? {})).toContain('enp2s0');
    expect(Object.keys(networkConfig({ ...SAMPLE_PLANS.bonded, roce: [] }).ethernets ?? {})).not.toContain('enp2s0');
  });

  it.each([
    [
      'gateway',
      withLinks(SAMPLE_PLANS.controlPlane.links, { gateway: '192.168.9.1' as Ipv4 }),
      'no link has an address in the network of 192.168.9.1',
    ],
    [
      'two links with the same name',
      withLinks([first, second].flatMap((link) => (link ? [{ ...link, name: 'eth0' }] : []))),
      'links[1].name is the same as that of links[0]',
    ],
    [
      'two interfaces with the same MAC address',
      withLinks([first, second].flatMap((link) => (link ? [{ ...link, mac: mac('52:54:00:00:00:01') }] : []))),
      'links[1].mac is the same as that of links[0]',
    ],
    [
      'a RoCE link with the name of another link',
      { ...SAMPLE_PLANS.bonded, roce: SAMPLE_PLANS.bonded.roce.map((link) => ({ ...link, name: 'bond0' })) },
      'roce[0].name is the same as that of links[2]',
    ],
    [
      'a bond without members',
      {
        ...SAMPLE_PLANS.bonded,
        links: SAMPLE_PLANS.bonded.links.map((link) => (link.kind === 'bond' ? { ...link, members: ['gone'] } : link)),
      },
      'no ethernet link before it is called gone',
    ],
    [
      'a VLAN without its parent',
      {
        ...SAMPLE_PLANS.bonded,
        links: SAMPLE_PLANS.bonded.links.map((link) => (link.kind === 'vlan' ? { ...link, parent: 'gone' } : link)),
      },
      'no link before it is called gone',
    ],
    [
      'unreachable name servers',
      withLinks([], { gateway: null, nameservers: [ip('9.9.9.9')] }),
      'they cannot be reached',
    ],
  ] as const)('is rejected with %s', (_what, plan, reason) => {
    expect(() => renderCloudInit(plan, MANUAL, TEMPLATES)).toThrowError(
      expect.objectContaining({ details: expect.arrayContaining([expect.stringContaining(reason)]) }),
    );
  });
});
