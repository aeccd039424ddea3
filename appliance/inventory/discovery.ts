// Machines that merely showed up are listed for acceptance. Anybody can make up a MAC address, so only so many are listed,
// and only so fast.

import type { ClientFacts } from '../boot/client-facts.ts';
import { ColdironError } from '../domain/errors.ts';
import type { NewEvent } from '../domain/event.ts';
import { type Instant, MINUTE } from '../domain/instant.ts';
import { lifeIn } from '../domain/lifecycle.ts';
import type { Mac } from '../domain/mac.ts';
import { type MachineSpec, NODE_DEFAULTS, parseMachineId } from '../domain/machine.ts';
import { parseHostname } from '../domain/names.ts';
import type { SiteNetwork } from '../domain/network.ts';
import { mustParse } from '../domain/parsed.ts';
import type { Store } from '../store/store.ts';
import type { Fleet } from './fleet.ts';

const PER_MINUTE = 60;
const MOST = 2000;

interface DiscoveryDeps {
  readonly store: Pick<Store, 'writeInventory' | 'changesSince'>;
  readonly fleet: Fleet;
  readonly now: () => Instant;
  readonly newId: () => string;
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

export class Discovery {
  readonly #parts: DiscoveryDeps;
  readonly #underWay = new Set<Mac>();
  /** One after the other: each is written against the inventory that the one before it has left. */
  #turn: Promise<void> = Promise.resolve();
  #minute = 0;
  #thisMinute = 0;

  constructor(parts: DiscoveryDeps) {
    this.#parts = parts;
  }

  /** Lists it, unless it is listed already. Never fails: the machine waits for its answer meanwhile. */
  async seen(facts: ClientFacts, network: SiteNetwork): Promise<void> {
    const { fleet } = this.#parts;
    const { mac, uuid } = facts;
    if (mac === null || network.unknown === 'ignore') return;
    // What was removed stays removed until somebody declares it anew.
    if (fleet.machineByMac(mac) !== null || fleet.removedMachine(mac, uuid) !== null) return;
    if (this.#underWay.has(mac) || !this.#hasRoom()) return;
    this.#underWay.add(mac);
    this.#turn = this.#turn.then(() => this.#list(mac, facts, network));
    await this.#turn;
  }

  async #list(mac: Mac, { uuid, serial, cpu }: ClientFacts, network: SiteNetwork): Promise<void> {
    const { fleet, log } = this.#parts;
    try {
      const spec: MachineSpec = {
        ...NODE_DEFAULTS,
        hostname: mustParse(parseHostname(`unknown-${mac.replaceAll(':', '')}`)),
        site: network.site,
        sku: null,
        profile: null,
        cluster: null,
        architecture: cpu ?? 'x86_64',
        // A UUID that another machine is known by would bind this one to a foreign identity.
        uuid: uuid !== null && fleet.machineByUuid(uuid) === null ? uuid : null,
        serial,
        interfaces: [{ name: 'eth0', mac, network: network.name, address: null, mtu: null }],
        bmc: null,
        secureBoot: null,
        gpus: null,
        region: null,
        access: null,
        labels: {},
      };
      await this.#write(spec, network);
    } catch (error) {
      log.error({ err: error, mac }, 'a machine that showed up could not be listed');
    } finally {
      this.#underWay.delete(mac);
    }
  }

  async #write(spec: MachineSpec, network: SiteNetwork): Promise<void> {
    const { store, fleet, now, newId } = this.#parts;
    let { declaredRevision } = fleet.at;
    for (let attempt = 1; ; attempt++) {
      const id = mustParse(parseMachineId(newId()));
      const at = now();
      const mac = spec.interfaces[0]?.mac ?? null;
      const event: NewEvent = {
        at,
        kind: 'node.discovered',
        actor: 'network',
        machine: id,
        correlationId: null,
        data: { mac, network: network.name },
      };
      try {
        await store.writeInventory({
          declaredRevision,
          putCatalogue: [],
          dropCatalogue: [],
          createMachines: [{ id, spec, source: 'network', lifecycle: lifeIn('discovered', at) }],
          changeMachines: [],
          removeMachines: [],
          events: [event],
          audit: [],
        });
        return;
      } catch (error) {
        const outrun = error instanceof ColdironError && error.code === 'version_conflict';
        if (!outrun || attempt === 5) throw error;
        ({ declaredRevision } = await store.changesSince(fleet.at.revision));
      }
    }
  }

  #hasRoom(): boolean {
    const { fleet, now, log } = this.#parts;
    const minute = Math.floor(now() / MINUTE);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#thisMinute = 0;
    }
    this.#thisMinute += 1;
    if (this.#thisMinute === PER_MINUTE + 1)
      log.warn({ per_minute: PER_MINUTE }, 'more unknown machines show up than are listed');
    if (this.#thisMinute > PER_MINUTE) return false;
    let listed = 0;
    for (const machine of fleet.machines()) if (machine.lifecycle.state === 'discovered') listed += 1;
    return listed < MOST;
  }
}
