import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { overlaps, type Prefix, parsePrefix } from '../../../appliance/domain/ipv4.ts';
import { parseObjectName } from '../../../appliance/domain/names.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { indexInventory } from '../../../appliance/render/plan-index.ts';
import { widest } from '../../../appliance/render/site/firewall.ts';
import { renderSite } from '../../../appliance/render/site/render-site.ts';
import { type ExampleDocument, example, indexOf, inventoryFrom, named, SITE } from '../plan-rack.ts';
import { siteFile, siteFiles, TEMPLATES } from './site-fixture.ts';

const GOLDENS = join(import.meta.dirname, 'goldens');
const goldensBefore = readdirSync(GOLDENS, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(GOLDENS.length + 1));

/** The records of a zone, without its header. */
const records = (zone: string): string[] => zone.split('\n\n')[1]?.trim().split('\n') ?? [];
const prefix = (text: string): Prefix => mustParse(parsePrefix(text));

describe('the files of the example site', () => {
  const files = siteFiles();

  it.each(files.map((file) => [file.path, file] as const))(
    '%s matches its golden',
    async (path, { text, mode, secret }) => {
      await expect(text).toMatchFileSnapshot(join(GOLDENS, `${path}.txt`));
      expect(secret).toBe(false);
      expect(mode).toBe(path.startsWith('firewall/') ? 0o755 : 0o644);
    },
  );

  it('are complete, and there is no other golden', () => {
    expect(goldensBefore.sort()).toEqual(files.map(({ path }) => `${path}.txt`).sort());
  });

  it('are empty for an undeclared site', () => {
    expect(siteFiles(undefined, mustParse(parseObjectName('moon')))).toEqual([]);
  });
});

describe('names', () => {
  it('resolve services to the members that run them, if there is no virtual address', () => {
    const zone = siteFile('dns/example.com.zone', ({ clusters }) => delete named(clusters, 'prod-cluster').vip);
    expect(records(zone).filter((line) => /^(?:iam|plasmavmc|prod-cluster) /.test(line))).toEqual([
      'prod-cluster IN A 10.0.200.10',
      'prod-cluster IN A 10.0.200.11',
      'prod-cluster IN A 10.0.200.12',
      'iam IN A 10.0.200.10',
      'iam IN A 10.0.200.11',
      'iam IN A 10.0.200.12',
      'plasmavmc IN A 10.0.200.20',
    ]);
  });

  it('of services include the cluster name where two clusters share a domain, and yield to a host name', () => {
    const second = (document: ExampleDocument): void => {
      document.clusters.push({ name: 'test_2', network: 'production', bootstrap: ['iam'], domain: 'example.com' });
      document.nodes.push({
        name: 'iam',
        sku: 'worker-1u',
        profile: 'all-in-one',
        cluster: 'test_2',
        interfaces: [{ name: 'eth1', network: 'production', address: '10.0.200.40' }],
      });
    };
    const lines = records(siteFile('dns/example.com.zone', second));
    expect(lines.filter((line) => line.startsWith('iam'))).toEqual([
      'iam IN A 10.0.200.40',
      'iam.prod-cluster IN A 10.0.200.100',
      'iam.test-2 IN A 10.0.200.40',
    ]);
    expect(lines).toContain('test-2 IN A 10.0.200.40');
    expect(lines.some((line) => line.startsWith('chainfire IN'))).toBe(false);
  });

  it('of name servers yield to host names, and are localhost if the site has none', () => {
    const taken = siteFile('dns/example.com.zone', ({ nodes }) => {
      named(nodes, 'node05').name = 'ns1';
    });
    expect(taken).toContain('@ IN NS ns2.example.com.\n@ IN NS ns3.example.com.\nns2 IN A 10.0.200.1\n');
    const none = siteFile('dns/example.com.zone', ({ networks }) => {
      for (const network of networks) network.dns = ['8.8.8.8'];
    });
    expect(none).toContain('@ IN SOA localhost. hostmaster.example.com. (');
    expect(none).toContain('@ IN NS localhost.\n\n');
  });

  it('use the revision of the inventory as the serial number, and never 0', () => {
    expect(siteFile('dns/example.com.zone')).toContain('\n  7 ; serial\n');
    const undeclared = indexInventory({ ...inventoryFrom(example()), declaredRevision: 0 });
    expect(renderSite(undeclared, SITE, TEMPLATES)[0]?.text).toContain('\n  1 ; serial\n');
  });

  it('on networks without a domain are below the node’s domain', () => {
    const zone = siteFile('dns/example.com.zone', ({ networks }) => delete named(networks, 'provisioning').domain);
    expect(records(zone)).toContain('node01.provisioning IN A 10.0.100.50');
  });

  it('are short names only if there is no domain', () => {
    const bare = (document: ExampleDocument): void => {
      for (const list of [document.sites, document.networks, document.clusters])
        for (const one of list) delete one.domain;
    };
    expect(siteFiles(bare).filter(({ path }) => path.startsWith('dns/'))).toEqual([]);
    expect(siteFile('hosts', bare)).toContain('\n10.0.200.10 node01\n');
  });

  it('of two sites in one domain are in one zone', () => {
    const two = (document: ExampleDocument): void => {
      for (const list of [document.networks, document.clusters, document.nodes])
        for (const one of list) one.site = 'example';
      document.sites.push({ name: 'annex', domain: 'example.com', region: 'region-1' });
      document.networks.push({ name: 'annex-work', site: 'annex', prefix: '10.0.200.0/24' });
      document.nodes.push({
        name: 'far1',
        site: 'annex',
        sku: 'worker-1u',
        interfaces: [{ name: 'eth0', network: 'annex-work', address: '10.0.200.10' }],
      });
    };
    const annex = mustParse(parseObjectName('annex'));
    expect(records(siteFile('dns/example.com.zone', two))).toContain('far1 IN A 10.0.200.10');
    expect(siteFile('dns/example.com.zone', two, annex)).toContain('node01 IN A 10.0.200.10');
    // An address belongs to one machine: that of the requested site.
    expect(records(siteFile('dns/200.0.10.in-addr.arpa.zone', two, annex))).toEqual(['10 IN PTR far1.example.com.']);
    expect(siteFile('hosts', two, annex)).not.toContain('node01');
  });
});

describe('reverse zones', () => {
  const reverse = (networkPrefix: string, address: string) => {
    const files = siteFiles((document) => {
      document.networks.push({ name: 'extra', prefix: networkPrefix, domain: 'extra.example.com' });
      named(document.nodes, 'node05').interfaces.push({ name: 'eth2', network: 'extra', address });
    });
    const found = files.find(({ text }) => text.includes('PTR node05.extra.example.com.'));
    return [found?.path, records(found?.text ?? '').find((line) => line.includes('node05.extra'))];
  };

  it.each([
    ['11.0.0.0/8', '11.1.2.3', '11.in-addr.arpa', '3.2.1'],
    ['172.16.0.0/12', '172.17.2.3', '17.172.in-addr.arpa', '3.2'],
    ['10.7.0.0/16', '10.7.8.9', '7.10.in-addr.arpa', '9.8'],
    ['10.8.0.0/22', '10.8.3.4', '3.8.10.in-addr.arpa', '4'],
    ['10.9.9.64/26', '10.9.9.70', '9.9.10.in-addr.arpa', '70'],
    ['10.9.9.8/31', '10.9.9.9', '9.9.10.in-addr.arpa', '9'],
  ])('of %s are cut at octets: %s is in %s', (network, address, origin, name) => {
    expect(reverse(network, address)).toEqual([`dns/${origin}.zone`, `${name} IN PTR node05.extra.example.com.`]);
  });
});

describe('firewalls', () => {
  it('let the inside networks of the site log in, and let its other networks boot', () => {
    const rules = siteFile('firewall/appliance.nft', ({ sites }) => {
      Object.assign(named(sites, 'example'), { inside: ['192.168.7.0/24'], api_url: 'https://10.0.100.10:9443/v1' });
    });
    expect(rules).toContain('ip saddr { 192.168.7.0/24 } tcp dport { 22 } accept');
    expect(rules).toContain('ip saddr { 192.168.7.0/24 } tcp dport { 8443 } accept');
    expect(rules).toContain(
      'ip saddr { 192.168.7.0/24, 10.0.10.0/24, 10.0.100.0/24, 10.0.200.0/24 } tcp dport { 8444, 9443 } accept',
    );
    expect(rules).toContain(
      'ip saddr { 0.0.0.0, 192.168.7.0/24, 10.0.10.0/24, 10.0.100.0/24, 10.0.200.0/24 } udp dport { 67, 4011 } accept',
    );
  });

  it('let nodes reach the node API on its port, and have no rule for it if it is off', () => {
    const rulesWith = (node: number | null): string => {
      const files = renderSite(indexOf(), SITE, TEMPLATES, { boot: 8080, management: 8443, node });
      return files.find(({ path }) => path === 'firewall/appliance.nft')?.text ?? '';
    };
    expect(rulesWith(7444)).toContain('# node API\n    ip saddr { 10.0.0.0/8 } tcp dport { 7444 } accept');
    expect(rulesWith(null)).toContain('# management');
    expect(rulesWith(null)).not.toContain('node API');
  });

  it('use all networks of the site as inside networks by default', () => {
    const rules = siteFile('firewall/appliance.nft', ({ sites }) => delete named(sites, 'example').inside);
    expect(rules).toContain('ip saddr { 10.0.10.0/24, 10.0.100.0/24, 10.0.200.0/24 } tcp dport { 22 } accept');
  });

  it('do not depend on the number of members', () => {
    const rules = siteFile('firewall/prod-cluster/control-plane.nft');
    const fewer = siteFile('firewall/prod-cluster/control-plane.nft', (document) => {
      document.nodes = document.nodes.filter(({ name }) => name !== 'node04');
    });
    expect(fewer).toBe(rules);
  });

  it('are not rendered if they would let nobody log in', () => {
    const empty = (document: ExampleDocument): void => {
      delete named(document.sites, 'example').inside;
      Object.assign(document, { networks: [], clusters: [], nodes: [] });
    };
    expect(siteFiles(empty).filter(({ path }) => path.startsWith('firewall/'))).toEqual([]);
  });

  it('never list a prefix that is inside another one', () => {
    const any = fc
      .tuple(fc.integer({ min: 0, max: 3 }), fc.constantFrom(8, 9, 16, 24))
      .map(([octet, length]) =>
        length < 16 ? prefix(`${10 + (octet & ~1)}.0.0.0/${length}`) : prefix(`10.${octet}.0.0/${length}`),
      );
    fc.assert(
      fc.property(fc.array(any, { maxLength: 6 }), (prefixes) => {
        const kept = widest(prefixes);
        for (const [at, one] of kept.entries()) {
          expect(kept.some((other, place) => place !== at && overlaps(one, other))).toBe(false);
        }
        for (const one of prefixes) {
          expect(kept.some((other) => other.length <= one.length && overlaps(one, other))).toBe(true);
        }
      }),
    );
  });
});

describe('hostile values', () => {
  const HOSTILE = [
    `{{ lookup('pipe', 'id') }}`,
    '{% raw %}',
    '$(reboot)',
    "'; reboot #",
    '"\\',
    '`id`',
    '!unsafe x',
    '- a: b',
  ];
  const hostile = (document: ExampleDocument): void => {
    const labels = Object.fromEntries(HOSTILE.map((value, at) => [`l${at}`, value]));
    Object.assign(named(document.nodes, 'node05'), { labels, serial: HOSTILE[0], region: 'region-1' });
    Object.assign(named(document.skus, 'worker-1u'), { description: '\n reboot\n' });
  };

  it('stay values: none of them reaches a zone, a script or a rule set', () => {
    const plain = new Map(siteFiles().map(({ path, text }) => [path, text]));
    for (const { path, text } of siteFiles(hostile)) {
      if (!/^(?:ansible|prometheus)\//.test(path)) expect(text, path).toBe(plain.get(path));
    }
  });

  it('are labels in JSON and strings in YAML, marked so that Ansible does not evaluate them', () => {
    const targets = JSON.parse(siteFile('prometheus/nodes.json', hostile)) as { labels: Record<string, string> }[];
    const labels = targets.find(({ labels: one }) => one.node === 'node05')?.labels;
    expect(HOSTILE.map((_, at) => labels?.[`label_l${at}`])).toEqual(HOSTILE);
    const yaml = siteFile('ansible/inventory.yaml', hostile);
    expect(yaml).toContain(`l0: !unsafe '{{ lookup(''pipe'', ''id'') }}'`);
    expect(yaml).toContain(`l1: !unsafe '{% raw %}'`);
    expect(yaml.match(/!unsafe '/g)).toHaveLength(3);
  });

  it('cannot merge two groups or two labels', () => {
    const alike = (document: ExampleDocument): void => {
      document.profiles.push({ name: 'debian_12', kind: 'nixos', role: 'worker' });
      named(document.nodes, 'node04').profile = 'debian_12';
      Object.assign(named(document.nodes, 'node05'), { labels: { 'a-b': '1', 'a.b': '2', a_b: '3' } });
    };
    const document = load(siteFile('ansible/inventory.yaml', alike)) as {
      all: { children: Record<string, { hosts: object }> };
    };
    const profiles = Object.entries(document.all.children).filter(([name]) => name.startsWith('profile_debian'));
    expect(profiles.map(([name, { hosts }]) => [name, Object.keys(hosts)])).toEqual([
      ['profile_debian_12', ['node04']],
      ['profile_debian_12_2', ['node05']],
    ]);
    expect(siteFile('prometheus/nodes.json', alike)).toContain('"label_a_b": "1"');
  });
});
