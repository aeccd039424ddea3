// Adds machines that boot from the network without a declaration to the inventory, for an operator to accept. MAC addresses can be
// forged, so both the rate and the number of discovered machines are limited.

import type { ClientFacts } from '../boot/client-facts.ts';
import { ColdironError } from '../domain/errors.ts';
import type { NewEvent } from '../domain/event.ts';
import { type Instant, MINUTE } from '../domain/instant.ts';
import { lifeIn } from '../domain/lifecycle.ts';
import type { Mac } from '../domain/mac.ts';
import { type Machine, type MachineSpec, NODE_DEFAULTS, parseMachineId } from '../domain/machine.ts';
import { parseHostname } from '../domain/names.ts';
import type { SiteNetwork } from '../domain/network.ts';
import { mustParse } from '../domain/parsed.ts';
import type { InventoryWrites, Store } from '../store/store.ts';
import type { Fleet } from './fleet.ts';

/** Besides those that onboarding runs wait for. */
const MAX_PER_MINUTE = 60;
const MAX_DISCOVERED = 2000;

interface DiscoveryDeps {
  readonly store: Pick<Store, 'writeInventory' | 'changesSince'>;
  readonly fleet: Fleet;
  readonly now: () => Instant;
  readonly newId: () => string;
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

export class Discovery {
  readonly #deps: DiscoveryDeps;
  readonly #inProgress = new Set<Mac>();
  /** Writes run one at a time: each is based on the inventory after the one before. */
  #queue: Promise<void> = Promise.resolve();
  #minute = 0;
  #countThisMinute = 0;
  #awaited = (): number => 0;

  constructor(deps: DiscoveryDeps) {
    this.#deps = deps;
  }

  /** How many undeclared machines somebody waits for: so many more may be added in a minute. */
  expect(awaited: () => number): void {
    this.#awaited = awaited;
  }

  /**
   * Adds the machine unless it is known. One that was added without its serial number, which not every packet has, gets it. Never fails: the
   * machine waits for its reply.
   */
  async seen(facts: ClientFacts, network: SiteNetwork): Promise<void> {
    const { fleet } = this.#deps;
    const { mac, uuid } = facts;
    if (mac === null || network.unknown === 'ignore') return;
    // A removed machine is not added again until an operator declares it.
    const known = fleet.machineByMac(mac);
    if (known === null && fleet.removedMachine(mac, uuid) !== null) return;
    if (known !== null && !lacksSerial(known, facts)) return;
    if (this.#inProgress.has(mac) || (known === null && !this.#isWithinLimits())) return;
    this.#inProgress.add(mac);
    const work = known === null ? () => this.#add(mac, facts, network) : () => this.#learn(mac, facts);
    this.#queue = this.#queue.then(work);
    await this.#queue;
  }

  async #learn(mac: Mac, facts: ClientFacts): Promise<void> {
    const { fleet, log } = this.#deps;
    try {
      await this.#written(() => {
        const known = fleet.machineByMac(mac);
        if (known === null || !lacksSerial(known, facts)) return null;
        const { id, version, source, spec } = known;
        return { changeMachines: [{ id, version, source, spec: { ...spec, serial: facts.serial } }] };
      });
    } catch (error) {
      log.error({ err: error, mac }, 'the serial number of a discovered machine could not be saved');
    } finally {
      this.#inProgress.delete(mac);
    }
  }

  async #add(mac: Mac, { uuid, serial, cpu }: ClientFacts, network: SiteNetwork): Promise<void> {
    const { fleet, log } = this.#deps;
    try {
      const spec: MachineSpec = {
        ...NODE_DEFAULTS,
        hostname: mustParse(parseHostname(`unknown-${mac.replaceAll(':', '')}`)),
        site: network.site,
        sku: null,
        profile: null,
        cluster: null,
        architecture: cpu ?? 'x86_64',
        // The UUID of another machine would give this one a foreign identity.
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
      log.error({ err: error, mac }, 'a discovered machine could not be added to the inventory');
    } finally {
      this.#inProgress.delete(mac);
    }
  }

  async #write(spec: MachineSpec, network: SiteNetwork): Promise<void> {
    const { now, newId } = this.#deps;
    await this.#written(() => {
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
      return {
        createMachines: [{ id, spec, source: 'network', lifecycle: lifeIn('discovered', at) }],
        events: [event],
      };
    });
  }

  /** Decided again when another writer was first. Null: there is nothing to write. */
  async #written(decide: () => Partial<InventoryWrites> | null): Promise<void> {
    const { store, fleet } = this.#deps;
    let { declaredRevision } = fleet.at;
    for (let attempt = 1; ; attempt++) {
      const writes = decide();
      if (writes === null) return;
      try {
        const catalogue = { putCatalogue: [], dropCatalogue: [] };
        const machines = { createMachines: [], changeMachines: [], removeMachines: [] };
        await store.writeInventory({ declaredRevision, ...catalogue, ...machines, events: [], audit: [], ...writes });
        return;
      } catch (error) {
        const conflict = error instanceof ColdironError && error.code === 'version_conflict';
        if (!conflict || attempt === 5) throw error;
        ({ declaredRevision } = await store.changesSince(fleet.at.revision));
      }
    }
  }

  #isWithinLimits(): boolean {
    const { fleet, now, log } = this.#deps;
    const minute = Math.floor(now() / MINUTE);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#countThisMinute = 0;
    }
    this.#countThisMinute += 1;
    const most = MAX_PER_MINUTE + this.#awaited();
    if (this.#countThisMinute === most + 1)
      log.warn({ per_minute: most }, 'too many unknown machines: those over the limit are not added to the inventory');
    if (this.#countThisMinute > most) return false;
    return fleet.discovered().size < MAX_DISCOVERED;
  }
}

const lacksSerial = ({ lifecycle, spec }: Machine, { serial }: ClientFacts): boolean =>
  lifecycle.state === 'discovered' && spec.serial === null && serial !== null;
