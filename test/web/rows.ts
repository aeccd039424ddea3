// Rows of the fleet for tests of the page's pure parts.

import type { Row } from '../../appliance/web/page/live/row.ts';

export const rowOf = (changes: Partial<Row> = {}): Row => ({
  ...{ id: 'a0000000-0000-4000-8000-000000000001', hostname: 'node1', version: 1, state: 'active' },
  ...{ state_since: '2026-01-15T08:00:00.000Z', deadline: null, waiting_for: 'It waits for nothing.' },
  ...{ failed_step: null, reason: null, progress: null, health: 'online', site: 'lab', rack: 'r1', unit: '7' },
  ...{ profile: 'worker', sku: 'gp1', cluster: null, arch: 'x86_64', serial: 'SN-1', labels: {} },
  ...{ mac: '52:54:00:12:34:56', address: '10.0.100.51', bmc_address: null, armed: null, not_erased: false },
  ...{ identity: { level: 'asserted', tpm: null }, cabling: null, allocated_to: null },
  ...changes,
});
