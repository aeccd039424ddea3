// What every subsystem needs: settings, clock, ids, the store, the fleet in memory and the trail.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { deleteOldAdminToken, ensureAdminToken } from '../api/admin-token.ts';
import type { Config } from '../config.ts';
import { DAY, HOUR, MINUTE } from '../domain/instant.ts';
import { WEB_SESSION_IDLE } from '../domain/web-session.ts';
import { Fleet } from '../inventory/fleet.ts';
import { FleetFollower } from '../inventory/fleet-follower.ts';
import { applySiteInventory } from '../inventory/site-inventory.ts';
import { type Clock, systemClock } from '../machines/runner/clock.ts';
import { ApplianceMetrics } from '../metrics/appliance-metrics.ts';
import { measuredStore } from '../metrics/measured-store.ts';
import { claimSocket } from '../net/listen.ts';
import { repeat } from '../net/repeat.ts';
import { StoreWrites } from '../self-check/store-problem.ts';
import { observedStore } from '../store/observed-store.ts';
import { openSqliteStore } from '../store/sqlite/sqlite.ts';
import type { Store } from '../store/store.ts';
import { limitedStore } from '../trail/limited-store.ts';
import { TrailRecorder } from '../trail/trail-recorder.ts';
import { secureStateFolder } from './state-folder.ts';

/** Undoes the start in reverse order. */
export class StopList {
  readonly #stops: (() => unknown)[] = [];

  add(stop: () => unknown): void {
    this.#stops.push(stop);
  }

  readonly run = async (): Promise<void> => {
    for (let stop = this.#stops.pop(); stop; stop = this.#stops.pop()) await stop();
  };
}

export interface Foundation {
  readonly config: Config;
  readonly logger: Logger;
  readonly stops: StopList;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly store: Store;
  readonly fleet: Fleet;
  readonly follower: FleetFollower;
  readonly trail: TrailRecorder;
  /** Whether the last write to the store succeeded. */
  readonly storeWrites: StoreWrites;
  readonly metrics: ApplianceMetrics;
  /** The path of the management socket. */
  readonly socket: string;
  /** Null: there is none any more. */
  readonly adminTokenFile: string | null;
}

export const STORE_FILE = 'coldiron.db';
/** A client may repeat a request for this long, and it is executed once. */
const LEAST_COMMAND_DAYS = 7;
/** Writes of other processes are visible within this time; our own at once. */
const FOLLOW_EVERY = 250;
const WRITE_TRAIL_EVERY = 200;

export async function openFoundation(config: Config, logger: Logger, stops: StopList): Promise<Foundation> {
  const clock = systemClock;
  const newId = (): string => randomUUID();
  await secureStateFolder(config.state, logger);
  const socket = await claimSocket(join(config.state, 'coldiron.sock'));
  const storeWrites = new StoreWrites();
  const metrics = new ApplianceMetrics();
  const opened = await openSqliteStore({ file: join(config.state, STORE_FILE), logger });
  const unlimited = observedStore(
    measuredStore(opened, metrics, () => performance.now()),
    storeWrites,
  );
  stops.add(() => unlimited.close());
  const trail = new TrailRecorder(unlimited, clock.now);
  trail.observe(metrics.noted);
  const store = limitedStore(unlimited, trail);
  store.subscribe(metrics.committed);
  const adminTokenFile = await ensureAdminToken(store, config.state, clock);

  const fleet = new Fleet();
  const follower = new FleetFollower(store, fleet);
  stops.add(await follower.start());
  await applySiteInventory(store, fleet.inventory(), config, { now: clock.now, newId, logger });
  stops.add(repeat(FOLLOW_EVERY, () => follower.poll(), logger));

  stops.add(() => trail.close());
  stops.add(repeat(WRITE_TRAIL_EVERY, () => trail.flush(), logger));
  stops.add(repeat(10 * MINUTE, () => deleteOldAdminToken(store, config.state, clock), logger));
  stops.add(
    repeat(HOUR, () => store.trimEvents(clock.now() - config.retentionDays * DAY, config.retainedEvents), logger),
  );
  const commandDays = Math.max(config.retentionDays, LEAST_COMMAND_DAYS);
  stops.add(repeat(HOUR, () => store.trimAgentLogs(clock.now() - config.retentionDays * DAY), logger));
  stops.add(repeat(HOUR, () => store.trimCommands(clock.now() - commandDays * DAY), logger));
  stops.add(repeat(HOUR, () => store.trimWebSessions(clock.now(), clock.now() - WEB_SESSION_IDLE), logger));
  return {
    ...{
      config,
      logger,
      stops,
      clock,
      newId,
      store,
      fleet,
      follower,
      trail,
      socket,
      adminTokenFile,
      storeWrites,
      metrics,
    },
  };
}
