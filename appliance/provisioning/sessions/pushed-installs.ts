// NixOS installations that the appliance performs itself, with nixos-anywhere. The installer's session reports when it may
// begin; steps and outcome are recorded in that session as if the machine had reported them.

import { ColdironError } from '../../domain/errors.ts';
import { type Instant, SECOND } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Parsed } from '../../domain/parsed.ts';
import type { Session } from '../../domain/session.ts';
import { STATES } from '../../domain/states.ts';
import type { NodePlan } from '../../render/node-plan.ts';
import type { Store } from '../../store/store.ts';
import { INSTALL_STEPS } from '../installers/nixos/anywhere-steps.ts';
import type { NixosFiles } from '../installers/nixos/install-files.ts';
import { AWAIT_PUSH, isPushOrder, SECRETS_FILE } from '../installers/nixos/order.ts';
import type { PushResult } from '../installers/nixos/push.ts';
import {
  LOST_KEY,
  PushInstaller,
  type PushInstallerDeps,
  type PushSubject,
} from '../installers/nixos/push-installer.ts';
import { probePushTools } from '../installers/nixos/push-tools.ts';
import { readFacts } from './reports.ts';
import { fileTaken } from './session-commands.ts';
import { sessionEligibility } from './session-eligibility.ts';
import type { Held, Sessions } from './sessions.ts';

export interface PushedInstallDeps extends Pick<PushInstallerDeps, 'workFolders' | 'environment' | 'limits'> {
  /** The port of the installer's SSH server, if not the default. */
  readonly sshPort?: number;
  readonly store: Pick<Store, 'machine' | 'sessionsOf' | 'factsOf' | 'commit'>;
  readonly sessions: Pick<Sessions, 'report' | 'conclude'>;
  readonly plan: (machine: Machine) => Parsed<NodePlan>;
  /** Made on demand: with new keys and a one-time token. */
  readonly files: (machine: Machine, plan: NodePlan) => Promise<NixosFiles>;
  readonly now: () => Instant;
  readonly log: { error(fields: object, message: string): void };
}

const SSH_PORT = 22;
const LOOK_EVERY = 2 * SECOND;
/** How many sessions of a machine to search: the session of a push is among the last. */
const LAST_SESSIONS = 5;

export class PushedInstalls {
  readonly #deps: PushedInstallDeps;
  readonly #pushes: PushInstaller;

  private constructor(deps: PushedInstallDeps, pushes: PushInstaller) {
    this.#deps = deps;
    this.#pushes = pushes;
  }

  static async open(deps: PushedInstallDeps): Promise<PushedInstalls> {
    const sessions = new PushedSessions(deps);
    const pushes = await PushInstaller.open({
      ...deps,
      sshPort: deps.sshPort ?? SSH_PORT,
      checkEvery: LOOK_EVERY,
      files: async (subject) => ({ ...(await sessions.files(subject)), diskPassphrase: null }),
      report: async (subject, progress) => {
        const held = await sessions.held(subject);
        if (held) await deps.sessions.report(held, progress);
      },
      finish: (subject, result) => sessions.finish(subject, result),
      isSessionOpen: async (subject) => (await sessions.held(subject)) !== null,
      logError: ({ hostname }, error) =>
        deps.log.error({ err: error, node: hostname }, 'the progress of a push could not be recorded'),
    });
    return new PushedInstalls(deps, pushes);
  }

  /** For the order of this deployment. */
  authorizedKey({ id, spec, lifecycle }: Machine): string {
    return this.#pushes.authorizedKey(id, spec.hostname, lifecycle.since);
  }

  /** Why this appliance cannot push; checked before anything is armed. */
  async problems(): Promise<readonly string[]> {
    const tools = await probePushTools(this.#deps.environment.PATH ?? '');
    return tools.ok ? [] : [tools.reason];
  }

  /** The installer waits for our login. A machine with another order cannot trigger this. */
  begin(held: Held, address: Ipv4 | null): void {
    if (!isPushOrder(held.session.order)) return;
    this.#begin(held, address).catch((error: unknown) =>
      this.#deps.log.error({ err: error, node: held.machine.spec.hostname }, 'a push could not begin'),
    );
  }

  async #begin({ session, machine }: Held, address: Ipv4 | null): Promise<void> {
    if (address === null) {
      const reason = 'the address of its installer is unknown';
      await this.#deps.sessions.conclude({ session, machine }, { ok: false, step: 'prepare', reason });
      return;
    }
    const [newest] = await this.#deps.store.factsOf(machine.id);
    // Host keys of an earlier boot belong to another installer.
    const facts = newest && newest.at >= (session.openedAt ?? 0) ? readFacts(newest.facts) : null;
    const { id, spec } = machine;
    this.#pushes.begin({
      machine: id,
      hostname: spec.hostname,
      session: session.id,
      address,
      hostKeys: facts?.ssh_host_keys ?? [],
    });
  }

  /** Fails the pushes of a killed process: their keys are lost, and their installers would wait until the deadline. */
  async failAbandoned(machines: Iterable<Machine>): Promise<void> {
    for (const machine of machines) {
      if (STATES[machine.lifecycle.state].session?.mode !== 'install') continue;
      const [session] = await this.#deps.store.sessionsOf(machine.id, 1);
      if (!session || !isPushOrder(session.order) || !hasWaited(session)) continue;
      if (!sessionEligibility(session, machine, this.#deps.now()).open) continue;
      await this.#deps.sessions.conclude({ session, machine }, { ok: false, reason: LOST_KEY });
    }
  }

  async stop(): Promise<void> {
    await this.#pushes.stop();
  }
}

/** A session that has not reached the step is handled when it does. */
const hasWaited = ({ last }: Session): boolean =>
  last !== null && (last.step === AWAIT_PUSH || INSTALL_STEPS.some((step) => step === last.step));

/** What a push needs from its session. */
class PushedSessions {
  readonly #deps: PushedInstallDeps;

  constructor(deps: PushedInstallDeps) {
    this.#deps = deps;
  }

  /** Null: the session has ended. */
  async held({ machine: id, session: sessionId }: PushSubject): Promise<Held | null> {
    const { store, now } = this.#deps;
    const machine = await store.machine(id);
    const session = (await store.sessionsOf(id, LAST_SESSIONS)).find((each) => each.id === sessionId);
    return machine && session && sessionEligibility(session, machine, now()).open ? { session, machine } : null;
  }

  async files(subject: PushSubject): Promise<NixosFiles> {
    const { store, plan, files, now } = this.#deps;
    const held = await this.held(subject);
    if (!held) throw new ColdironError('session_over', 'the session has ended');
    const { session, machine } = held;
    const planned = plan(machine);
    if (!planned.ok) throw new ColdironError('conflict', planned.reason);
    const taken = fileTaken({ at: now(), machine, correlationId: session.id }, session, SECRETS_FILE);
    if ((await store.commit(taken)).outcome === 'refused') {
      throw new ColdironError('conflict', 'its secrets were already issued, and are issued only once');
    }
    return files(machine, planned.value);
  }

  /** A session that has ended already has an outcome. */
  async finish(subject: PushSubject, result: PushResult): Promise<void> {
    const held = await this.held(subject);
    if (!held) return;
    const outcome = result.ok ? { ok: true } : { ok: false, step: result.step, reason: result.reason };
    await this.#deps.sessions.conclude(held, outcome);
  }
}
