// Every file that any decision sends any machine to, in any state and with any loader, is on the list of files that the
// appliance checks.

import { describe, expect, it } from 'vitest';
import { advertisedImages } from '../../../appliance/assets/advertised-images.ts';
import type { Asset } from '../../../appliance/assets/asset.ts';
import { BootResolver } from '../../../appliance/boot/boot-resolver.ts';
import { factsFromQuestion } from '../../../appliance/boot/client-facts.ts';
import { advertisedFiles, loaderFor } from '../../../appliance/boot/loaders.ts';
import { GRUB_CONFIGS, renderGrubEntry } from '../../../appliance/boot/replies/grub-config.ts';
import { IPXE_SCRIPTS, renderEntryScript, renderMenuScript } from '../../../appliance/boot/replies/ipxe-script.ts';
import { CLIENT_ARCHITECTURES, type ClientArchitecture } from '../../../appliance/domain/architecture.ts';
import { LIFECYCLE_STATES, type LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import { type BootEndpoint, expectedFetches } from '../../../appliance/servers/boot-chain/expected-fetches.ts';
import { readBootTemplates } from '../../../appliance/servers/http-boot/read-templates.ts';
import { ScriptIssuer } from '../../../appliance/servers/http-boot/script-issuer.ts';
import {
  eraseIntentWith,
  intentWith,
  MAC,
  machineIn,
  NOW,
  name,
  networkWith,
  profileWith,
  SERVER,
  SITE,
  UUID,
} from '../../boot/boot-fixtures.ts';

const DOOR: BootEndpoint = { address: SERVER.address, port: SERVER.bootPort, server: SERVER.address };
const ALL = ['x86_64', 'i386', 'arm64', 'arm32', 'riscv64', 'loong64'] as const;
const PROFILES = [
  profileWith({ architectures: ALL }),
  profileWith({ name: name('debian'), kind: 'cloud-image', architectures: ALL }),
];
const templates = readBootTemplates();

const asset = (file: string): Asset => ({
  name: file,
  file: '/nowhere',
  size: 1,
  sha256: '0'.repeat(64),
  kind: 'unknown',
  architecture: null,
  contentType: '',
});
const images = advertisedImages(PROFILES, () => true);
const assets = [...advertisedFiles().flatMap(({ tftpName }) => tftpName ?? []), ...images.map((image) => image.name)];
const fetches = expectedFetches([...new Set(assets)].map(asset), images, { http: [DOOR], tftp: [DOOR] });
const checked = (via: 'http' | 'tftp'): ReadonlySet<string> =>
  new Set(fetches.filter((fetch) => fetch.via === via).map(({ path }) => path.replace(/^\//, '')));

/** Files of a single machine: fetching one would consume what is armed for it. */
const OF_ONE_MACHINE = /^boot\/(?:report|session\/.*|ipxe\/(?:[0-9a-f-]{17}|\$\{bootmac\})\.ipxe)$|^grub\/machine\//;

function unchecked(text: string): string[] {
  const over = (via: 'http' | 'tftp', pattern: RegExp): string[] =>
    [...text.matchAll(pattern)]
      .map(([, path = '']) => path)
      .filter((path) => !OF_ONE_MACHINE.test(path) && !checked(via).has(path));
  return [
    ...over('http', /http:\/\/10\.0\.100\.10:8080\/([^\s?]+)/g),
    ...over('tftp', /\(tftp,10\.0\.100\.10\)'?\/([^\s';]+)/g),
  ];
}

function appliance(machines: readonly Machine[], secureBoot: boolean) {
  const fleet = new Fleet();
  const networks = [networkWith({ secureBoot, unknown: 'inspect' })];
  const catalogue = { sites: [SITE], networks, skus: [], profiles: PROFILES, clusters: [], roce: [] };
  fleet.replace({ ...catalogue, machines, sources: new Map(), declaredRevision: 1, revision: 1 });
  const network = networks[0] ?? null;
  const resolver = new BootResolver(fleet, () => NOW);
  const scripts = new ScriptIssuer({
    resolver,
    templates,
    consume: async () => true,
    onFinding: () => undefined,
    onUnknown: () => undefined,
    onScriptFetched: () => undefined,
    onStoreFailure: () => undefined,
  });
  return { resolver, scripts, network };
}

const inState = (state: LifecycleState, architecture: ClientArchitecture, profile: string): Machine =>
  machineIn(state, {
    spec: { architecture: architecture.cpu ?? 'x86_64' },
    intent: state === 'releasing' ? eraseIntentWith() : intentWith({ profile: name(profile) }),
  });

/** The boot of a machine of this architecture, from its first loader. */
async function sentTo(architecture: ClientArchitecture, machine: Machine | null, secureBoot: boolean) {
  const { resolver, scripts, network } = appliance(machine ? [machine] : [], secureBoot);
  const question = { mac: MAC, architecture, uuid: UUID, relay: null };
  const first = resolver.resolve(factsFromQuestion({ ...question, stage: 'firmware' }), network).decision.nextStage;
  if (first.kind !== 'loader') return null;
  const facts = factsFromQuestion({ ...question, stage: 'ipxe' });
  const language = first.starts === 'grub' ? GRUB_CONFIGS : IPXE_SCRIPTS;
  const issued = await scripts.issue({
    resolved: resolver.resolve(facts, network),
    facts,
    server: SERVER,
    language,
    forReal: false,
  });
  return { first, text: issued.text ?? '', outcome: issued.decision.outcome.kind };
}

describe('the list of files that the appliance checks', () => {
  it.each([...CLIENT_ARCHITECTURES.values()].map((architecture) => ({ architecture, what: architecture.name })))(
    'has all that $what is sent to, in every state',
    async ({ architecture }) => {
      const outcomes = new Set<string>();
      for (const state of [...LIFECYCLE_STATES, null]) {
        for (const profile of ['worker', 'debian']) {
          for (const secureBoot of [false, true]) {
            const machine = state === null ? null : inState(state, architecture, profile);
            const sent = await sentTo(architecture, machine, secureBoot);
            if (sent === null) continue;
            outcomes.add(sent.outcome);
            const { file, transport } = sent.first;
            expect(checked(transport)).toContain(transport === 'tftp' ? file : `boot/loader/${file}`);
            expect(unchecked(sent.text), `${state} ${profile} ${secureBoot}`).toEqual([]);
          }
        }
      }
      const hasLoader = loaderFor(architecture, { efiLoader: 'ipxe', secureBoot: false }).kind === 'loader';
      expect([...outcomes].sort()).toEqual(hasLoader ? ['installer', 'local-disk', 'refusal', 'service-os'] : []);
    },
  );

  it('has everything that the common texts refer to', () => {
    const menu = renderMenuScript(templates, { machine: null, mac: null, server: SERVER }, PROFILES);
    for (const text of [renderEntryScript(templates, SERVER), menu, renderGrubEntry(templates, SERVER)]) {
      expect(unchecked(text)).toEqual([]);
    }
  });

  it('has the files that shim loads', () => {
    expect(checked('tftp')).toContain('grubx64.efi');
    expect(checked('tftp')).toContain('grubaa64.efi');
  });
});
