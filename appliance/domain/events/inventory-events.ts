// Events of the inventory: objects that were created, changed or removed, and discovered machines.

import { Type } from 'typebox';
import { CATALOGUE_KINDS, type ObjectKind } from '../inventory.ts';
import { type EventRow, nullable, number, optional, rowsOf, text, texts } from './event-row.ts';

const row = rowsOf('inventory');
const api = rowsOf('api');

const change = { name: text, source: text, details: texts };
const Change = Type.Object(change);

const CHANGES = ['created', 'changed', 'removed'] as const;
export type InventoryChange = (typeof CHANGES)[number];

const OBJECT_NAMES: Readonly<Record<ObjectKind, string>> = {
  site: 'Site',
  network: 'Network',
  sku: 'SKU',
  profile: 'Profile',
  cluster: 'Cluster',
  roce: 'RoCE fabric',
  node: 'Node',
};

type ChangeRows = {
  readonly [Name in `${ObjectKind}.${InventoryChange}`]: EventRow<typeof Change>;
};
const OBJECT_KINDS: readonly ObjectKind[] = [...CATALOGUE_KINDS, 'node'];
const CHANGE_ROWS = Object.fromEntries(
  OBJECT_KINDS.flatMap((kind) =>
    CHANGES.map((verb) => [
      `${kind}.${verb}`,
      row('info', change, (data, actor) => {
        const details = data.details.length === 0 ? '' : `: ${data.details.join('; ')}`;
        return `${OBJECT_NAMES[kind]} ${data.name} was ${verb} by ${actor} (source ${data.source})${details}`;
      }),
    ]),
  ),
) as unknown as ChangeRows;

export const INVENTORY_EVENTS = {
  ...CHANGE_ROWS,
  'node.registered': api(
    'info',
    {
      id: text,
      source: text,
      sku: nullable(text),
      gpus: nullable(number),
      region: nullable(text),
      enrollment: nullable(text),
      host: nullable(text),
      port: nullable(number),
      ssh_username: nullable(text),
      ssh_key: text,
      ssh_banner: nullable(text),
      ssh_host_key: optional(nullable(text)),
    },
    (data, actor) => `Host ${data.host ?? data.id} was registered by ${actor} through the API`,
  ),
  'registration.refused': api(
    'error',
    { nodes: texts, skus: texts, owners: texts, code: text, reasons: texts, runbook: text },
    (data, actor) =>
      `Registration of ${data.nodes.join(', ')} by ${actor} was refused (${data.code}): ${data.reasons.join('; ')}` +
      `${data.owners.length === 0 ? '' : `; the SKU belongs to ${data.owners.join(', ')}`}; what to do: ${data.runbook}`,
  ),
  'node.discovered': row(
    'info',
    { mac: nullable(text), network: text },
    (data) => `New machine${data.mac === null ? '' : ` ${data.mac}`} was discovered on network ${data.network}`,
  ),
  'inventory.refused': row(
    'error',
    { reason: text, details: texts },
    (data) =>
      `Inventory files are rejected, the previous inventory remains: ${[data.reason, ...data.details].join(' ')}`,
  ),
};
