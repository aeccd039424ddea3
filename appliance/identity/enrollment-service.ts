// Assembles the identity subsystem (authority, tokens, tasks, heartbeats) for the node API, the management API and
// deployments.

import { join } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import { MINUTE, SECOND } from '../domain/instant.ts';
import { awaitsEnrollment, failedTo } from '../domain/lifecycle.ts';
import type { Machine } from '../domain/machine.ts';
import { STATES } from '../domain/states.ts';
import type { Fleet } from '../inventory/fleet.ts';
import { quarantinedAsTwin } from '../machines/commands/hardware.ts';
import type { MachineCommands } from '../machines/execute.ts';
import { APPLIANCE } from '../machines/record.ts';
import { agentLayout } from '../render/bundle/bundle.ts';
import { installedFiles } from '../render/bundle/installed-files.ts';
import type { BootPart } from '../render/installers/first-boot.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import type { Templates } from '../render/templates.ts';
import type { AuthorityRecord } from '../store/enrollment-store.ts';
import type { Store } from '../store/store.ts';
import { probeApi } from './api-probe.ts';
import { type Authority, openAuthority } from './authority.ts';
import { type BundleIssuer, createBundleIssuer, type IssuedBundle } from './bundle-issuer.ts';
import { createDrains, type Drains } from './drains.ts';
import { type Heartbeats, openHeartbeats } from './heartbeats.ts';
import { loadPassphrase, openKeyFolder } from './key-folder.ts';
import { apiUrlFor, identityIn, type NodeApiAddress } from './node-addresses.ts';
import { eligibilityOf } from './node-eligibility.ts';
import { createNodeEnrollment, type NodeEnrollment } from './node-enrollment.ts';
import { nodeReported } from './node-reports.ts';
import type { SetTimer } from './notifier.ts';
import { createRotation, type Rotation } from './rotation.ts';
import type { EnrollmentSettings } from './settings.ts';
import { createTaskQueue, type TaskQueue } from './task-queue.ts';
import { openTaskSigner, type TaskSigner } from './task-signing.ts';
import { type ReadsPower, TwinWatch } from './twin-watch.ts';

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
  readonly power: ReadsPower;
  readonly logger: { warn(fields: object, message: string): void };
}

export interface EnrollmentService {
  readonly authority: Authority;
  readonly rotation: Pick<Rotation, 'status'>;
  readonly signer: TaskSigner;
  readonly nodes: NodeEnrollment;
  readonly tasks: TaskQueue;
  readonly drains: Drains;
  readonly heartbeats: Heartbeats;
  readonly twins: TwinWatch;
  readonly bundles: BundleIssuer;
  readonly settings: EnrollmentSettings;
  /** Issues a bundle to an operator, and starts the enrollment if it has not started yet. */
  issueBundle(machine: Machine, reissue: boolean, origin: Origin): Promise<IssuedBundle>;
  /** The first-boot payload of a machine that enrolls at its first boot, with a new token. */
  firstBootParts(machine: Machine): Promise<BootPart[]>;
  /** The same as files, for a system that is installed as a whole. */
  installedFiles(machine: Machine): Promise<RenderedFile[]>;
  /** Problems that would prevent such a machine from enrolling. Issues nothing. */
  bundleProblems(machine: Machine): Promise<readonly string[]>;
  /** The node presented its certificate: completes its enrollment if its state waits for that. */
  confirmEnrolled(machine: Machine, correlationId: string | null): Promise<void>;
  /** Activates the next authority, or with `stageOnly` only adds it to the trust. All issued certificates stay valid. */
  rotate(origin: Origin, stageOnly: boolean): Promise<AuthorityRecord>;
  /** Stops trusting the outgoing authority. `conflict` lists the certificates that are still in use. */
  retire(origin: Origin, despiteHolders: boolean): Promise<AuthorityRecord>;
  /** Where this node reaches the node API; null: it is off, or no address is known. */
  apiUrl(machine: Machine): string | null;
  /** Sets where the node API listens; `onAuthoritiesChanged` runs after each change of the authorities. */
  setNodeApi(address: NodeApiAddress, onAuthoritiesChanged: () => Promise<void>): void;
  /** Runs after each change of the authorities, too. It must not reject. */
  followAuthorities(listener: () => Promise<void>): void;
}

/** Interval of the periodic jobs (tasks, drains, heartbeats). */
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
  const tasks = createTaskQueue({ ...deps, signer });
  const twins = new TwinWatch({
    ...{ now, setTimer: deps.setTimer, power: deps.power, log: deps.logger },
    heartbeatEvery: settings.heartbeatEvery,
    silentAfter: settings.silentAfter,
    machines: () => fleet.machines(),
    onTwin: async (machine, reason, correlationId) => {
      const origin = { actor: APPLIANCE, correlationId };
      await commands.execute({ machine: machine.id, name: 'twin', input: { reason }, origin }, (current, context) =>
        quarantinedAsTwin(current, reason, origin, context),
      );
    },
  });
  let nodeApi: NodeApiAddress | null = null;
  const followers: (() => Promise<void>)[] = [];
  const bundles = createBundleIssuer({
    store,
    commands,
    authority,
    taskSigner: signer,
    templates: deps.templates,
    probe: probeApi(),
    now,
    settings,
    bundle: {
      apiUrlOf: (machine) => apiUrlFor(fleet, machine, nodeApi),
      plainHttp: 'never',
      layout: agentLayout(settings.agentNames),
      agentText: deps.agentText,
      package: null,
    },
  });
  /** Nodes get the new trust with their next heartbeat, which they send as soon as their task wait ends. */
  const authoritiesChanged = async (): Promise<void> => {
    for (const follower of followers) await follower();
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
      twins,
    }),
    twins,
    issueBundle: async (machine, reissue, origin) => {
      const { state } = machine.lifecycle;
      const starts = STATES[state].enrollment === 'possible' || failedTo('enroll', machine.lifecycle);
      if (!starts && !eligibilityOf(machine.lifecycle).enroll) {
        throw new ColdironError(
          'conflict',
          `${machine.spec.hostname} is ${state}: it cannot enroll, so no bundle is issued`,
        );
      }
      return bundles.issue({ machine, delivery: 'manual', reissue, origin, startsEnrollment: starts });
    },
    firstBootParts: async (machine) => {
      const origin: Origin = { actor: 'appliance', correlationId: null };
      const { bundle, files } = await bundles.issue({ machine, delivery: 'maas', reissue: true, origin });
      return [{ name: 'node-agent', version: bundle.id, script: files.script.text, reports: true }];
    },
    installedFiles: async (machine) => {
      const origin: Origin = { actor: 'appliance', correlationId: null };
      const { bundle } = await bundles.issue({ machine, delivery: 'maas', reissue: true, origin });
      return installedFiles(bundle, deps.agentText);
    },
    bundleProblems: async (machine) => {
      const url = apiUrlFor(fleet, machine, nodeApi);
      return url.ok ? bundles.check(machine) : [url.reason];
    },
    confirmEnrolled: async (machine, correlationId) => {
      if (!awaitsEnrollment(machine.lifecycle)) return;
      await nodeReported(commands, machine, 'enrolled', correlationId);
    },
    rotate: async (origin, stageOnly) => {
      const staged = (await store.authorities()).find(({ state }) => state === 'staged');
      let record = staged ?? (await rotation.stage(origin));
      if (!stageOnly) record = await rotation.activate(origin);
      await authoritiesChanged();
      return record;
    },
    retire: async (origin, despiteHolders) => {
      const retired = await rotation.finish(origin, despiteHolders);
      if (!retired)
        throw new ColdironError('conflict', 'no authority is outgoing: start a rotation with coldiron ca rotate');
      await authoritiesChanged();
      return retired;
    },
    apiUrl: (machine) => {
      const url = apiUrlFor(fleet, machine, nodeApi);
      return url.ok ? url.value : null;
    },
    setNodeApi: (address, listener) => {
      nodeApi = address;
      followers.push(listener);
    },
    followAuthorities: (listener) => void followers.push(listener),
  };
}
