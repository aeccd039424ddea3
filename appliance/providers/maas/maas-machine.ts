// A machine as MAAS shows it, with what runs need of it. Fields differ between versions: what is absent or of another type counts as unknown.

import type { Instant } from '../../domain/instant.ts';
import { MaasUnavailable } from './maas-error.ts';

/** By number: the words of a status differ between versions. */
export const STATUS = {
  new: 0,
  commissioning: 1,
  failedCommissioning: 2,
  missing: 3,
  ready: 4,
  reserved: 5,
  deployed: 6,
  retired: 7,
  broken: 8,
  deploying: 9,
  allocated: 10,
  failedDeployment: 11,
  releasing: 12,
  releasingFailed: 13,
  diskErasing: 14,
  failedDiskErasing: 15,
  testing: 21,
  failedTesting: 22,
} as const;

export interface MaasVlan {
  readonly id: number;
  /** DHCP of MAAS is on, or another VLAN relays it. */
  readonly hasDhcp: boolean;
}

export interface MaasLink {
  readonly id: number;
  readonly mode: string;
  readonly subnet: number | null;
}

export interface MaasInterface {
  readonly id: number;
  readonly name: string;
  readonly mac: string | null;
  /** Null: MAAS does not know where it is plugged in. */
  readonly vlan: MaasVlan | null;
  readonly links: readonly MaasLink[];
}

export interface HardwareSync {
  readonly interval: Instant | null;
  readonly last: Instant | null;
}

export interface MaasMachine {
  readonly systemId: string;
  readonly hostname: string;
  readonly status: number;
  readonly statusName: string;
  readonly statusMessage: string;
  readonly powerType: string;
  readonly owner: string | null;
  /** The id of our deployment; null: it has none of ours. */
  readonly work: string | null;
  readonly locked: boolean;
  readonly interfaces: readonly MaasInterface[];
  readonly bootInterface: MaasInterface | null;
  readonly addresses: readonly string[];
  /** Of the newest scripts; null: there are none. */
  readonly results: Readonly<Record<'commissioning' | 'testing' | 'installation', number | null>>;
  /** Null: it does not synchronize its hardware. */
  readonly sync: HardwareSync | null;
}

/** The workload annotation that says which run deployed a machine. MAAS erases it when the machine is released. */
export const WORK_ANNOTATION = 'coldiron-work';

type Raw = Readonly<Record<string, unknown>>;

export const asRecord = (value: unknown): Raw | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : null;
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const asText = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
export const asNumber = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null);

/** Path segments of later requests are made of it. */
const SYSTEM_ID = /^[A-Za-z0-9_-]{1,64}$/;

export function readMachine(value: unknown): MaasMachine {
  const raw = asRecord(value);
  const systemId = asText(raw?.system_id);
  const status = asNumber(raw?.status);
  if (raw === null || systemId === null || !SYSTEM_ID.test(systemId) || status === null) {
    throw new MaasUnavailable('MAAS sent a machine that cannot be read');
  }
  const annotations = asRecord(raw.workload_annotations) ?? asRecord(raw.owner_data) ?? {};
  return {
    systemId,
    status,
    hostname: asText(raw.hostname) ?? systemId,
    statusName: asText(raw.status_name) ?? `status ${status}`,
    statusMessage: [asText(raw.status_message), asText(raw.error_description)].flatMap((one) => one ?? []).join('; '),
    powerType: asText(raw.power_type) ?? '',
    owner: asText(raw.owner),
    work: asText(annotations[WORK_ANNOTATION]),
    locked: raw.locked === true,
    interfaces: asList(raw.interface_set).flatMap((one) => readInterface(one) ?? []),
    bootInterface: readInterface(raw.boot_interface),
    addresses: asList(raw.ip_addresses).flatMap((one) => asText(one) ?? []),
    results: {
      commissioning: asNumber(raw.current_commissioning_result_id),
      testing: asNumber(raw.current_testing_result_id),
      installation: asNumber(raw.current_installation_result_id),
    },
    sync: readSync(raw),
  };
}

export function readInterface(value: unknown): MaasInterface | null {
  const raw = asRecord(value);
  const id = asNumber(raw?.id);
  if (raw === null || id === null) return null;
  const vlan = asRecord(raw.vlan);
  const vlanId = asNumber(vlan?.id);
  return {
    id,
    name: asText(raw.name) ?? String(id),
    mac: asText(raw.mac_address)?.toLowerCase() ?? null,
    vlan:
      vlan === null || vlanId === null
        ? null
        : { id: vlanId, hasDhcp: vlan.dhcp_on === true || (vlan.relay_vlan ?? null) !== null },
    links: asList(raw.links).flatMap((one) => {
      const link = asRecord(one);
      const linkId = asNumber(link?.id);
      if (link === null || linkId === null) return [];
      return [{ id: linkId, mode: asText(link.mode) ?? '', subnet: asNumber(asRecord(link.subnet)?.id) }];
    }),
  };
}

/** 3.3 does not say `enable_hw_sync`: there, an interval means that it is on. */
function readSync(raw: Raw): HardwareSync | null {
  const interval = asNumber(raw.sync_interval);
  const isOn = raw.enable_hw_sync === undefined ? interval !== null : raw.enable_hw_sync === true;
  if (!isOn) return null;
  return { interval: interval === null ? null : interval * 1000, last: readTime(asText(raw.last_sync)) };
}

/** Without a zone, with `Z` or with an offset; without one it is UTC. */
export function readTime(text: string | null): Instant | null {
  if (text === null) return null;
  const time = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text.replace(' ', 'T')}Z`);
  return Number.isNaN(time) ? null : time;
}

/** As MAAS itself judges it: a report is missing after one and a half intervals. */
export const isSynced = ({ interval, last }: HardwareSync, now: Instant): boolean =>
  interval !== null && last !== null && now <= last + 1.5 * interval;
