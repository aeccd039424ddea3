// An inventory for Ansible: every node with a known address, in groups by site, cluster, role and profile.

import { DUMP_SCHEMA, defineScalarTag, dump } from 'js-yaml';
import type { Machine } from '../../domain/machine.ts';
import type { Site } from '../../domain/network.ts';
import { domainOf, fqdnOf } from '../plan-cluster.ts';
import type { PlanIndex } from '../plan-index.ts';
import type { RenderedFile } from '../rendered-file.ts';
import { knownAddresses } from './site-names.ts';

/** Ansible evaluates double braces in a variable; this tag marks the text as literal. */
class UnsafeText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const unsafeTag = defineScalarTag<UnsafeText>('!unsafe', {
  resolve: (source) => new UnsafeText(source),
  identify: (value: unknown) => value instanceof UnsafeText,
  represent: ({ text }: UnsafeText) => text,
});
const SCHEMA = DUMP_SCHEMA.withTags(unsafeTag);

const text = (value: string): string | UnsafeText => (/\{[{%#]/.test(value) ? new UnsafeText(value) : value);

type Group = { readonly hosts: Record<string, object> };

export function renderAnsibleInventory(index: PlanIndex, site: Site): RenderedFile {
  const groups = new Map<string, Group>();
  const names = new GroupNames();
  for (const machine of index.machines) {
    const variables = machine.spec.site === site.name ? hostVariables(index, site, machine) : null;
    if (variables === null) continue;
    const { hostname, cluster, profile } = machine.spec;
    const role = profile === null ? null : (index.profiles.get(profile)?.role ?? null);
    for (const [kind, name] of Object.entries({ site: site.name, cluster, role, profile })) {
      if (name === null) continue;
      const group = groups.get(names.of(kind, name)) ?? { hosts: {} };
      groups.set(names.of(kind, name), group);
      // The variables of a host are written once, in its site group.
      group.hosts[hostname] = kind === 'site' ? variables : {};
    }
  }
  const children = Object.fromEntries([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));
  return {
    path: 'ansible/inventory.yaml',
    text: `# Generated from the inventory; change the inventory, not this file.\n${yamlText({ all: { children } }, '', new Map())}`,
    mode: 0o644,
    secret: false,
  };
}

/** Plain words that every version of YAML reads as strings. Most names and addresses of a site match. */
const PLAIN = /^(?:[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)+|[a-z]+[0-9]+|[a-z]{6,}|all|hosts|[0-9]{1,3}(?:\.[0-9]{1,3}){3})$/;

/** js-yaml writes unusual values, each once: for all values of ten thousand nodes it would take half a second. */
function yamlText(value: object, indent: string, written: Map<string, string>): string {
  return Object.entries(value)
    .map(([key, one]: [string, unknown]) => {
      const isBlock = typeof one === 'object' && one !== null && !(one instanceof UnsafeText);
      const isPlain = PLAIN.test(key) && (isBlock || (typeof one === 'string' && PLAIN.test(one)));
      if (!isPlain) return indented(unusualText(key, one, written), indent);
      if (!isBlock) return `${indent}${key}: ${one}\n`;
      const block = yamlText(one, `${indent}  `, written);
      return `${indent}${key}:${block === '' ? ' {}\n' : `\n${block}`}`;
    })
    .join('');
}

function unusualText(key: string, value: unknown, written: Map<string, string>): string {
  const dumped = (): string => dump({ [key]: value }, { schema: SCHEMA, lineWidth: -1, noRefs: true });
  if (typeof value !== 'string') return dumped();
  const name = `${key}\0${value}`;
  const text = written.get(name) ?? dumped();
  written.set(name, text);
  return text;
}

const indented = (text: string, indent: string): string => text.replaceAll(/^(?=.)/gm, indent);

/** Null: it has no known address. */
function hostVariables(index: PlanIndex, site: Site, machine: Machine): object | null {
  const { spec } = machine;
  const [known] = knownAddresses(index, machine);
  const host = known?.address ?? spec.access?.host;
  if (host === undefined) return null;
  const admin = [...site.accounts, ...spec.accounts].find((account) => account.admin)?.name;
  const user = known ? admin : spec.access?.sshUsername;
  const region = spec.region ?? site.region;
  return {
    ansible_host: host,
    ...(!known && spec.access && { ansible_port: spec.access.port }),
    ...(user !== undefined && { ansible_user: user }),
    coldiron_fqdn: fqdnOf(spec.hostname, domainOf(index, spec, known?.network ?? null)),
    coldiron_architecture: spec.architecture,
    ...(region !== null && { coldiron_region: text(region) }),
    ...(spec.serial !== null && { coldiron_serial: text(spec.serial) }),
    ...(spec.bmc !== null && { coldiron_bmc_address: spec.bmc.address }),
    coldiron_labels: Object.fromEntries(Object.entries(spec.labels).map(([key, value]) => [key, text(value)])),
  };
}

/** Group names are like variable names: letters, digits and underscores. Names that would collide get a number. */
class GroupNames {
  readonly #groups = new Map<string, string>();
  readonly #taken = new Set<string>();

  of(kind: string, name: string): string {
    const known = this.#groups.get(`${kind} ${name}`);
    if (known !== undefined) return known;
    const plain = `${kind}_${name.replaceAll(/[^a-z0-9_]/g, '_')}`;
    let group = plain;
    for (let more = 2; this.#taken.has(group); more++) group = `${plain}_${more}`;
    this.#taken.add(group);
    this.#groups.set(`${kind} ${name}`, group);
    return group;
  }
}
