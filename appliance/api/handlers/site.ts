// Handlers of catalogue, network, trail, health and the OpenAPI document.

import { ColdironError } from '../../domain/errors.ts';
import { ipv4ToNumber } from '../../domain/ipv4.ts';
import { isHeld } from '../../domain/lease.ts';
import { parseObjectName } from '../../domain/names.ts';
import { shown } from '../../domain/parsed.ts';
import type { ManagementDeps } from '../deps.ts';
import { type Handlers, RawAnswer } from '../handler.ts';
import { healthOf } from '../health.ts';
import { problemView } from '../views/appliance-problem.ts';
import { clusterView, networkView, profileView, siteView, skuView } from '../views/catalogue.ts';
import { auditView, leaseView } from '../views/trail.ts';

export const siteHandlers: Handlers<
  | 'listSites'
  | 'listNetworks'
  | 'listSkus'
  | 'listProfiles'
  | 'listClusters'
  | 'listLeases'
  | 'listListeners'
  | 'listApplianceProblems'
  | 'checkBootContract'
  | 'listAuditEntries'
  | 'verifyAudit'
  | 'getHealth'
  | 'getOpenApi'
> = {
  listSites: ({ fleet }) => ({ sites: [...fleet.sites()].map(siteView) }),
  listNetworks: ({ fleet }) => ({ networks: [...fleet.networks()].map(networkView) }),
  listSkus: ({ fleet }) => ({ skus: [...fleet.skus()].map(skuView) }),
  listProfiles: ({ fleet }) => ({ profiles: [...fleet.profiles()].map(profileView) }),
  listClusters: ({ fleet }) => ({ clusters: [...fleet.clusters()].map(clusterView) }),

  async listLeases({ store, fleet, clock }, { query: { network } }) {
    const leases = await store.leases(...(network === undefined ? [] : [knownNetwork(fleet, network)]));
    const now = clock.now();
    const named = (mac: (typeof leases)[number]['mac']) => fleet.machineByMac(mac)?.spec.hostname ?? null;
    return {
      leases: leases
        .sort((a, b) => ipv4ToNumber(a.address) - ipv4ToNumber(b.address))
        .map((lease) => leaseView(lease, { held: isHeld(lease, now), hostname: named(lease.mac) })),
    };
  },

  listListeners: ({ listeners }) => ({
    listeners: listeners().map((listener) => ({ ...listener, networks: [...listener.networks] })),
  }),

  listApplianceProblems: ({ applianceProblems }) => ({ problems: applianceProblems().map(problemView) }),

  async checkBootContract({ bootContract }) {
    const { problems, missing } = await bootContract();
    return {
      problems: [...problems],
      missing: missing.map(({ architectures, ...file }) => ({ ...file, architectures: [...architectures] })),
    };
  },

  async listAuditEntries({ store }, { query: { after = 0, limit = 100, newest = false, correlation_id: request } }) {
    const entries = await store.auditEntries(after, limit, newest, request);
    return { entries: entries.map(auditView), next: entries.at(-1)?.seq ?? null };
  },

  verifyAudit: ({ store }) => store.verifyAudit(),

  getHealth({ services, applianceProblems }) {
    const { status, answer } = healthOf(services(), applianceProblems());
    return new RawAnswer(status, answer);
  },

  getOpenApi: ({ describe }) => describe(),
};

function knownNetwork(fleet: ManagementDeps['fleet'], text: string) {
  const name = parseObjectName(text);
  const network = name.ok ? fleet.network(name.value) : null;
  if (!network) throw new ColdironError('not_found', `there is no network ${shown(text)}`);
  return network.name;
}
