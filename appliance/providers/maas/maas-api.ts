// The operations of MAAS that runs use, with typed answers. Each is one request.

import type { MaasClient } from './maas-client.ts';
import { MaasUnavailable } from './maas-error.ts';
import {
  asList,
  asNumber,
  asRecord,
  asText,
  type MaasInterface,
  type MaasMachine,
  readInterface,
  readMachine,
  WORK_ANNOTATION,
} from './maas-machine.ts';

export interface MaasEvent {
  readonly id: number;
  readonly level: string;
  readonly type: string;
  readonly description: string;
  /** As MAAS wrote it: before 3.6 in the local time of its server. */
  readonly created: string;
}

export interface ScriptResult {
  readonly id: number;
  readonly name: string;
  readonly status: number;
  readonly statusName: string;
  readonly exit: number | null;
  /** Decoded; null: it was not requested, or there is none. */
  readonly output: string | null;
}

export type ResultKind = 'commissioning' | 'testing' | 'installation';

export interface MaasSubnet {
  readonly id: number;
  readonly cidr: string;
  readonly vlan: number | null;
  readonly managed: boolean;
  readonly gateway: string | null;
}

export interface MaasUser {
  readonly name: string;
  readonly admin: boolean;
}

export interface NewMaasMachine {
  readonly hostname: string;
  readonly architecture: string;
  readonly macs: readonly string[];
  readonly power: PowerParameters;
}

/** The values of a power driver: they contain the password of the BMC. */
export interface PowerParameters {
  readonly type: 'ipmi' | 'redfish';
  readonly values: Readonly<Record<string, string>>;
}

export interface Deployment {
  readonly userData: string;
  readonly series: string | null;
  readonly kernel: string | null;
  readonly hardwareSync: boolean;
  readonly work: string;
}

const EVENTS_IN_A_PAGE = 500;
/** MAAS may hold more of one machine than a run needs. */
const MOST_PAGES = 40;
const MOST_OUTPUT = 256 * 1024;

export class MaasApi {
  readonly #client: Pick<MaasClient, 'get' | 'post' | 'put'>;

  constructor(client: Pick<MaasClient, 'get' | 'post' | 'put'>) {
    this.#client = client;
  }

  async version(): Promise<string> {
    const version = asText(asRecord(await this.#client.get('version/'))?.version);
    if (version === null)
      throw new MaasUnavailable('MAAS does not say its version: is maas.url the address of a MAAS?');
    return version;
  }

  async whoami(): Promise<MaasUser> {
    const user = asRecord(await this.#client.get('users/', [['op', 'whoami']]));
    const name = asText(user?.username);
    if (name === null) throw new MaasUnavailable('MAAS does not say whose API key this is');
    return { name, admin: user?.is_superuser === true };
  }

  async machine(systemId: string): Promise<MaasMachine> {
    return readMachine(await this.#client.get(path(systemId)));
  }

  /** By any of these filters of MAAS, each of which may be repeated. */
  async machines(filter: 'hostname' | 'mac_address' | 'id', values: readonly string[]): Promise<MaasMachine[]> {
    if (values.length === 0) return [];
    const found = await this.#client.get(
      'machines/',
      values.map((value) => [filter, value] as const),
    );
    if (!Array.isArray(found)) throw new MaasUnavailable('MAAS sent a list of machines that cannot be read');
    return found.map(readMachine);
  }

  /** Large sites have thousands: only where no filter of MAAS helps. */
  async allMachines(): Promise<MaasMachine[]> {
    return asList(await this.#client.get('machines/')).map(readMachine);
  }

  /** Which machines have a BMC at this address. Passwords in the answer are dropped here. */
  async machinesAtBmc(address: string): Promise<string[]> {
    const all = asRecord(await this.#client.get('machines/', [['op', 'power_parameters']]));
    if (all === null) throw new MaasUnavailable('MAAS sent power parameters that cannot be read');
    return Object.entries(all).flatMap(([systemId, values]) =>
      bmcAddressIn(asRecord(values)?.power_address) === address ? [systemId] : [],
    );
  }

  /** Null: MAAS has none, or does not show it. */
  async bmcAddress(systemId: string): Promise<string | null> {
    const values = asRecord(await this.#client.get(path(systemId), [['op', 'power_parameters']]));
    return bmcAddressIn(values?.power_address);
  }

  async create({ hostname, architecture, macs, power }: NewMaasMachine): Promise<MaasMachine> {
    return readMachine(
      await this.#client.post('machines/', null, [
        ['hostname', hostname],
        ['architecture', architecture],
        ...macs.map((mac) => ['mac_addresses', mac] as const),
        ...powerFields(power),
        // For admins MAAS would begin at once, with its own options.
        ['commission', 'false'],
      ]),
    );
  }

  async setPower(systemId: string, power: PowerParameters): Promise<void> {
    await this.#client.put(path(systemId), powerFields(power));
  }

  async setHostname(systemId: string, hostname: string): Promise<void> {
    await this.#client.put(path(systemId), [['hostname', hostname]]);
  }

  async commission(systemId: string, options: { enableSsh: boolean; skipBmcConfig: boolean }): Promise<void> {
    await this.#client.post(path(systemId), 'commission', [
      ['enable_ssh', flag(options.enableSsh)],
      ['skip_bmc_config', flag(options.skipBmcConfig)],
    ]);
  }

  /** `work` says for what; only `isAllocatedFor` shows it. */
  async allocate(systemId: string, work: string, comment: string): Promise<void> {
    await this.#client.post('machines/', 'allocate', [
      ['system_id', systemId],
      ['agent_name', work],
      ['comment', comment],
    ]);
  }

  async isAllocatedFor(systemId: string, work: string): Promise<boolean> {
    const found = await this.#client.get('machines/', [
      ['id', systemId],
      ['agent_name', work],
    ]);
    return asList(found).some((one) => asRecord(one)?.system_id === systemId);
  }

  async annotate(systemId: string, work: string): Promise<void> {
    await this.#client.post(path(systemId), 'set_workload_annotations', [[WORK_ANNOTATION, work]]);
  }

  /** Every option each time: some versions keep those of the last deployment. */
  async deploy(systemId: string, { userData, series, kernel, hardwareSync, work }: Deployment): Promise<void> {
    await this.#client.post(path(systemId), 'deploy', [
      ['user_data', Buffer.from(userData).toString('base64')],
      ...(series === null ? [] : ([['distro_series', series]] as const)),
      ...(kernel === null ? [] : ([['hwe_kernel', kernel]] as const)),
      ['enable_hw_sync', String(hardwareSync)],
      ['install_kvm', 'false'],
      ['register_vmhost', 'false'],
      ['comment', `Coldiron onboarding ${work}`],
    ]);
  }

  async abort(systemId: string, comment: string): Promise<void> {
    await this.#client.post(path(systemId), 'abort', [['comment', comment]]);
  }

  async release(systemId: string, erase: 'none' | 'quick' | 'secure' | 'full', comment: string): Promise<void> {
    await this.#client.post(path(systemId), 'release', [
      ['erase', String(erase !== 'none')],
      ['quick_erase', String(erase === 'quick')],
      ['secure_erase', String(erase === 'secure')],
      ['comment', comment],
    ]);
  }

  async markFixed(systemId: string, comment: string): Promise<void> {
    await this.#client.post(path(systemId), 'mark_fixed', [['comment', comment]]);
  }

  async setStorageLayout(systemId: string, layout: string): Promise<void> {
    await this.#client.post(path(systemId), 'set_storage_layout', [['storage_layout', layout]]);
  }

  async subnets(): Promise<MaasSubnet[]> {
    return asList(await this.#client.get('subnets/')).flatMap((value) => {
      const raw = asRecord(value);
      const id = asNumber(raw?.id);
      if (raw === null || id === null) return [];
      const cidr = asText(raw.cidr) ?? String(id);
      const vlan = asNumber(asRecord(raw.vlan)?.id);
      return [{ id, cidr, vlan, managed: raw.managed !== false, gateway: asText(raw.gateway_ip) }];
    });
  }

  async freeAddresses(subnet: number): Promise<number> {
    const statistics = asRecord(await this.#client.get(`subnets/${subnet}/`, [['op', 'statistics']]));
    return asNumber(statistics?.num_available) ?? 0;
  }

  async interface(systemId: string, id: number): Promise<MaasInterface> {
    const found = readInterface(await this.#client.get(interfacePath(systemId, id)));
    if (found === null) throw new MaasUnavailable('MAAS sent a network card that cannot be read');
    return found;
  }

  async unlink(systemId: string, id: number, link: number): Promise<void> {
    await this.#client.post(interfacePath(systemId, id), 'unlink_subnet', [['id', String(link)]]);
  }

  async linkAuto(systemId: string, id: number, subnet: number): Promise<void> {
    await this.#client.post(interfacePath(systemId, id), 'link_subnet', [
      ['mode', 'AUTO'],
      ['subnet', String(subnet)],
    ]);
  }

  /** Above `after`, the oldest first, whatever order MAAS sends them in. */
  async events(systemId: string, after: number): Promise<MaasEvent[]> {
    const found = new Map<number, MaasEvent>();
    let from = after;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const rows = await this.#events(systemId, [['after', String(from)]]);
      for (const row of rows) found.set(row.id, row);
      const highest = Math.max(from, ...rows.map(({ id }) => id));
      if (rows.length < EVENTS_IN_A_PAGE || highest === from) break;
      from = highest;
    }
    return [...found.values()].sort((one, other) => one.id - other.id);
  }

  /** 0: it has none. */
  async lastEvent(systemId: string): Promise<number> {
    return Math.max(0, ...(await this.#events(systemId, [], 1)).map(({ id }) => id));
  }

  async #events(systemId: string, more: readonly (readonly [string, string])[], limit = EVENTS_IN_A_PAGE) {
    const answer = asRecord(
      await this.#client.get('events/', [
        ['op', 'query'],
        ['id', systemId],
        ['level', 'INFO'],
        ['limit', String(limit)],
        ...more,
      ]),
    );
    if (answer === null || !Array.isArray(answer.events)) {
      throw new MaasUnavailable('MAAS sent events that cannot be read');
    }
    return answer.events.flatMap((value): MaasEvent[] => {
      const raw = asRecord(value);
      const id = asNumber(raw?.id);
      // MAAS filters by machine; an event of another one must not appear in this trail.
      if (raw === null || id === null || (asText(raw.node) ?? systemId) !== systemId) return [];
      return [
        {
          id,
          level: asText(raw.level) ?? 'INFO',
          type: asText(raw.type) ?? '',
          description: asText(raw.description) ?? '',
          created: asText(raw.created) ?? '',
        },
      ];
    });
  }

  /** Of the newest set of this kind, with their output. */
  async results(systemId: string, kind: ResultKind): Promise<ScriptResult[]> {
    const set = asRecord(
      await this.#client.get(`nodes/${systemId}/results/current-${kind}/`, [['include_output', '1']]),
    );
    return asList(set?.results).flatMap((value): ScriptResult[] => {
      const raw = asRecord(value);
      const id = asNumber(raw?.id);
      const status = asNumber(raw?.status);
      if (raw === null || id === null || status === null) return [];
      const text = asText(raw.output) ?? asText(raw.stdout);
      return [
        {
          id,
          name: asText(raw.name) ?? String(id),
          status,
          statusName: asText(raw.status_name) ?? SCRIPT_STATUS[status] ?? `status ${status}`,
          exit: asNumber(raw.exit_status),
          output: text === null ? null : Buffer.from(text, 'base64').subarray(-MOST_OUTPUT).toString('utf8'),
        },
      ];
    });
  }
}

/** Of a script: those that mean that it is over, and failed. */
export const FAILED_SCRIPT: ReadonlySet<number> = new Set([3, 4, 6, 8, 11]);
export const UNFINISHED_SCRIPT: ReadonlySet<number> = new Set([0, 1, 7, 10]);

const SCRIPT_STATUS: readonly string[] = [
  ...['Pending', 'Running', 'Passed', 'Failed', 'Timed out', 'Aborted', 'Degraded', 'Installing'],
  ...['Failed installing', 'Skipped', 'Applying network configuration', 'Failed to apply network configuration'],
];

const path = (systemId: string): string => `machines/${systemId}/`;
const interfacePath = (systemId: string, id: number): string => `nodes/${systemId}/interfaces/${id}/`;
const flag = (value: boolean): string => (value ? '1' : '0');

const powerFields = ({ type, values }: PowerParameters): (readonly [string, string])[] => [
  ['power_type', type],
  ...Object.entries(values).map(([name, value]) => [`power_parameters_${name}`, value] as const),
];

/** IPMI drivers have an address, Redfish drivers may have a URL. A masked one is none. */
function bmcAddressIn(value: unknown): string | null {
  const text = asText(value);
  return /^(?:https?:\/\/)?\[?(\d{1,3}(?:\.\d{1,3}){3})\]?(?:[:/].*)?$/.exec(text ?? '')?.[1] ?? null;
}
