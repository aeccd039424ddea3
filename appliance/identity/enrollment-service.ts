// Everything that trust between the appliance and its nodes is made of, put together once: for the node API, for the
// management API, and for whoever deploys.

import { join } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import { MINUTE, SECOND } from '../domain/instant.ts';
import { awaitsEnrollment, failedTo } from '../domain/lifecycle.ts';
import type { Machine } from '../domain/machine.ts';
import { STATES } from '../domain/states.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { MachineCommands } from '../machines/execute.ts';
import { agentLayout } from '../render/bundle/bundle.ts';
import { installedFiles } from '../render/bundle/installed-files.ts';
import type { BootPart } from '../render/installers/first-boot.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import type { Templates } from '../render/templates.ts';
import type { AuthorityRecord } from '../store/enrollment-store.ts';
import type { Store } from '../store/store.ts';
import { probeApi } from './api-probe.ts';
import { type Authority, openAuthority } from './authority.ts';
import { type BundleIssuer, createBundleDesk, type HandedOver } from './bundle-issuer.ts';
import { createDrains, type Drains } from './drains.ts';
import { type Heartbeats, openHeartbeats } from './heartbeats.ts';
import { loadPassphrase, openKeyFolder } from './key-folder.ts';
import { standingOf } from './node-eligibility.ts';
import { createNodeEnrollment, type NodeEnrollment } from './node-enrollment.ts';
import { apiUrlFor, identityIn, type NodeApiPlace } from './node-place.ts';
import { nodeReported } from './node-reports.ts';
import type { SetTimer } from './notifier.ts';
import { createRotation, type Rotation } from './rotation.ts';
import type { EnrollmentSettings } from './settings.ts';
import { createTaskDesk, type TaskQueue } from './task-queue.ts';
import { openTaskSigner, type TaskSigner } from './task-signing.ts';

export interface EnrollmentServiceDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly now: () => number;
  readonly setTimer: SetTimer;
  readonly newId: () => string;
  readonly state: string;
  readonly credentialsFolder: string | undefined;
  readonly settings: EnrollmentSettings;
  readonly templates: Templates;
  readonly agentText: string;
  readonly commands: Pick<MachineCommands, 'execute'>;
}

export interface EnrollmentService {
  readonly authority: Authority;
  readonly rotation: Pick<Rotation, 'status'>;
  readonly signer: TaskSigner;
  readonly nodes: NodeEnrollment;
  readonly tasks: TaskQueue;
  readonly drains: Drains;
  readonly heartbeats: Heartbeats;
  readonly bundles: BundleIssuer;
  readonly settings: EnrollmentSettings;
  /** For an operator: the bundle, and the machine waits for its node where it did not yet. */
  handOver(machine: Machine, reissue: boolean, onBehalf: Origin): Promise<HandedOver>;
  /** What a machine that is onboarded by its first boot gets for that, with a token made now. Others get nothing. */
  firstBootParts(machine: Machine): Promise<BootPart[]>;
  /** The same as files of a system that is installed as a whole; empty where an operator brings the bundle. */
  installedFiles(machine: Machine): Promise<RenderedFile[]>;
  /** What would keep such a machine from enrolling. Nothing is issued. */
  bundleProblems(machine: Machine): Promise<readonly string[]>;
  /** The node has shown its certificate: its life goes on, where it waited for that. */
  isHere(machine: Machine, correlationId: string | null): Promise<void>;
  /** The next authority signs from now on, or, with `stageOnly`, is only trusted yet. Nobody is cut off by either. */
  rotate(onBehalf: Origin, stageOnly: boolean): Promise<AuthorityRecord>;
  /** The one before is trusted no longer. `conflict` lists who would be cut off. */
  retire(onBehalf: Origin, despiteHolders: boolean): Promise<AuthorityRecord>;
  /** Called where the node API listens; `follow` is run whenever authorities change. */
  listens(place: NodeApiPlace, follow: () => Promise<void>): void;
}

/** How often what nobody asked for is looked after. */
export const SWEEP_EVERY = 5 * SECOND;
export const RENEW_SERVER_EVERY = MINUTE;

export async function openEnrollmentService(deps: EnrollmentServiceDeps): Promise<EnrollmentService> {
  const { store, commands, fleet, now, settings } = deps;
  const passphrase = await loadPassphrase(null, deps.credentialsFolder);
  const authorityDeps = { store, now, settings, keys: await openKeyFolder(join(deps.state, 'ca'), passphrase) };
  const signingKeys = await openKeyFolder(join(deps.state, 'task-signing'), passphrase);
  const authority = await openAuthority(authorityDeps);
  const signer = await openTaskSigner({ store, now, settings, keys: signingKeys });
  const rotation = createRotation(authorityDeps);
  const tasks = createTaskDesk({ ...deps, signer });
  let place: NodeApiPlace | null = null;
  let follow = async (): Promise<void> => undefined;
  const bundles = createBundleDesk({
    store,
    commands,
    authority,
    taskSigner: signer,
    templates: deps.templates,
    probe: probeApi(),
    now,
    settings,
    bundle: {
      apiUrlOf: (machine) => apiUrlFor(fleet, machine, place),
      plainHttp: 'never',
      layout: agentLayout('coldiron'),
      agentText: deps.agentText,
      package: null,
    },
  });
  /** Nodes hear of it with their next heartbeat, which they send at once when their wait ends. */
  const authoritiesChanged = async (): Promise<void> => {
    await follow();
    tasks.wakeAll();
  };

  return {
    authority,
    rotation,
    signer,
    tasks,
    drains: createDrains({ ...deps, tasks, machines: () => fleet.machines() }),
    bundles,
    settings,
    nodes: createNodeEnrollment({
      store,
      authority,
      now,
      settings,
      identityOf: (machine) => identityIn(fleet, machine),
    }),
    heartbeats: await openHeartbeats({
      store,
      now,
      silentAfter: settings.silentAfter,
      machines: () => fleet.machines(),
    }),
    handOver: async (machine, reissue, onBehalf) => {
      const { state } = machine.lifecycle;
      const starts = STATES[state].enrollment === 'possible' || failedTo('enroll', machine.lifecycle);
      if (!starts && !standingOf(machine.lifecycle).enroll) {
        throw new ColdironError(
          'conflict',
          `${machine.spec.hostname} is ${state}: it cannot enroll, and gets no bundle`,
        );
      }
      return bundles.handOver({ machine, delivery: 'manual', reissue, onBehalf, startsEnrollment: starts });
    },
    firstBootParts: async (machine) => {
      const onBehalf: Origin = { actor: 'appliance', correlationId: null };
      const { bundle, files } = await bundles.handOver({ machine, delivery: 'maas', reissue: true, onBehalf });
      return [{ name: 'node-agent', version: bundle.id, script: files.script.text }];
    },
    installedFiles: async (machine) => {
      const onBehalf: Origin = { actor: 'appliance', correlationId: null };
      const { bundle } = await bundles.handOver({ machine, delivery: 'maas', reissue: true, onBehalf });
      return installedFiles(bundle, deps.agentText);
    },
    bundleProblems: async (machine) => {
      const url = apiUrlFor(fleet, machine, place);
      return url.ok ? bundles.check(machine) : [url.reason];
    },
    isHere: async (machine, correlationId) => {
      if (!awaitsEnrollment(machine.lifecycle)) return;
      await nodeReported(commands, machine, 'enrolled', correlationId);
    },
    rotate: async (onBehalf, stageOnly) => {
      const staged = (await store.authorities()).find(({ state }) => state === 'staged');
      let record = staged ?? (await rotation.stage(onBehalf));
      if (!stageOnly) record = await rotation.activate(onBehalf);
      await authoritiesChanged();
      return record;
    },
    retire: async (onBehalf, despiteHolders) => {
      const retired = await rotation.finish(onBehalf, despiteHolders);
      if (!retired)
        throw new ColdironError('conflict', 'no authority is on its way out: coldiron ca rotate begins that');
      await authoritiesChanged();
      return retired;
    },
    listens: (at, following) => {
      place = at;
      follow = following;
    },
  };
}
