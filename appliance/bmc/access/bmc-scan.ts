// Scans for BMCs where the site file allows it, one scan at a time, and finds the nodes that they belong to.

import { ColdironError } from '../../domain/errors.ts';
import type { NewAuditEntry, Origin } from '../../domain/event.ts';
import { type Ipv4, type Prefix, parsePrefix, prefixText } from '../../domain/ipv4.ts';
import type { Store } from '../../store/store.ts';
import type { BmcClock } from '../clock.ts';
import { type FoundBmc, type ScanPorts, scanForBmcs } from '../scan.ts';

export interface BmcScanSettings {
  readonly allowed: readonly Prefix[];
  readonly clock: BmcClock;
  readonly store: Pick<Store, 'appendAudit'>;
  /** The host name of the node with this BMC; null: no node declares it. */
  readonly nodeAt: (address: Ipv4) => string | null;
  readonly stopping: AbortSignal;
  readonly ports?: ScanPorts;
}

export type ScannedBmc = FoundBmc & { readonly node: string | null };

/** `networks` null: all networks that the site file allows. */
export type BmcScan = (networks: readonly string[] | null, by: Origin) => Promise<ScannedBmc[]>;

export function bmcScan(settings: BmcScanSettings): BmcScan {
  const { allowed, clock, store, nodeAt, stopping, ports } = settings;
  let inProgress = false;
  return async (networks, by) => {
    const prefixes = networks === null ? allowed : networks.map(prefixOf);
    if (allowed.length === 0) {
      throw new ColdironError(
        'bmc_off_limits',
        'the site file configures no network for the BMC scan (bmc.scan)',
        [],
        'Name the networks in the site file, such as bmc: { scan: [10.0.10.0/24] }, and restart the appliance.',
      );
    }
    if (inProgress) throw new ColdironError('conflict', 'a BMC scan is already in progress');
    inProgress = true;
    try {
      await store.appendAudit([audit(by, prefixes, clock.now())]);
      const found = await scanForBmcs(prefixes, { allowed, signal: stopping }, clock, ports);
      return found.map((bmc) => ({ ...bmc, node: nodeAt(bmc.address) }));
    } finally {
      inProgress = false;
    }
  };
}

function prefixOf(text: string, at: number): Prefix {
  const prefix = parsePrefix(text);
  if (prefix.ok) return prefix.value;
  throw new ColdironError('invalid_request', `networks[${at}]: ${prefix.reason}`);
}

const audit = ({ actor, correlationId }: Origin, prefixes: readonly Prefix[], at: number): NewAuditEntry => ({
  at,
  actor,
  action: 'bmc.scan',
  target: 'network',
  correlationId,
  before: null,
  after: { networks: prefixes.map(prefixText) },
});
