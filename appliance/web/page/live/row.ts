// A row of the fleet as the page keeps it, with what lists ask of every row worked out once when it arrives.

import type { Static } from 'typebox';
import type { FleetRow } from '../../../contract/schemas/fleet-row.ts';
import type { LifecycleState } from '../../../domain/lifecycle.ts';

export type Row = Static<typeof FleetRow.schema>;

/** How a state looks. Colour is never alone: each has an icon and the word. */
export type Tone = 'neutral' | 'progress' | 'good' | 'attention' | 'bad' | 'gone';

export const STATE_TONES: Readonly<Record<LifecycleState, Tone>> = {
  discovered: 'attention',
  registered: 'neutral',
  commissioning: 'progress',
  ready: 'good',
  deploying: 'progress',
  enrolling: 'progress',
  active: 'good',
  draining: 'progress',
  releasing: 'progress',
  rescue: 'attention',
  retired: 'neutral',
  failed: 'bad',
  quarantined: 'bad',
  removed: 'gone',
};

export const TABS = ['all', 'attention', 'progress', 'active', 'ready', 'missing'] as const;
export type Tab = (typeof TABS)[number];

/** Why a person should look at it, in words; null: nobody needs to. */
export function attentionReason(row: Row): string | null {
  if (row.state === 'failed') return row.reason ?? 'a step failed';
  if (row.state === 'quarantined') return row.reason ?? 'it is not trusted';
  if (row.state === 'discovered') return 'it waits to be accepted';
  if (row.health === 'silent') return 'no heartbeat for 5 minutes';
  if (row.cabling?.verdict === 'another-port') return row.cabling.summary;
  if (row.state === 'rescue') return 'an operator works in the service OS';
  if (row.not_erased) return 'it was released with its data on the disks';
  return null;
}

export function tabsOf(row: Row): readonly Tab[] {
  const tabs: Tab[] = ['all'];
  if (attentionReason(row) !== null) tabs.push('attention');
  if (STATE_TONES[row.state] === 'progress') tabs.push('progress');
  if (row.state === 'active') tabs.push('active');
  if (row.state === 'ready') tabs.push('ready');
  if (row.health === 'silent') tabs.push('missing');
  return tabs;
}

/** Everything that the free filter looks in, in lower case. */
export const searchText = (row: Row): string =>
  [
    ...[row.hostname, row.state, row.site, row.rack, row.unit, row.profile, row.sku, row.cluster, row.serial],
    ...[row.mac, row.address, row.bmc_address, row.allocated_to, row.reason],
    ...Object.entries(row.labels).map(([name, value]) => `${name}=${value}`),
  ]
    .filter((text) => text !== null && text !== undefined)
    .join('\n')
    .toLowerCase();

/** Sorts like people count: node2 before node10. */
export const naturalKey = (text: string): string =>
  text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(8, '0'));
