// The running pushes: at most one per machine, with the key that its installer authorized. Keys are only in memory: after a
// restart the appliance has none of them, and reports that.

import type { Instant } from '../../../domain/instant.ts';
import type { MachineId } from '../../../domain/machine.ts';
import { parsed, unparsable } from '../../../domain/parsed.ts';
import type { Secret } from '../../../domain/secret.ts';
import type { SessionId } from '../../../domain/session.ts';
import type { PushProgress } from './anywhere-steps.ts';
import { type EphemeralKey, makeEphemeralKey } from './ephemeral-key.ts';
import type { NixosFiles } from './install-files.ts';
import { type Push, type PushLimits, type PushResult, pushNixos } from './push.ts';
import { probePushTools } from './push-tools.ts';
import { removeWorkFolders } from './work-folder.ts';

export interface PushSubject {
  readonly machine: MachineId;
  readonly hostname: string;
  readonly session: SessionId;
  /** The leased address of its card: the source of its session's requests. */
  readonly address: string;
  /** From its facts: `ssh_host_keys`. */
  readonly hostKeys: readonly string[];
}

export interface PushInstallerDeps {
  /** Made on demand: they hold a one-time token and a fresh key. */
  readonly files: (subject: PushSubject) => Promise<NixosFiles & { readonly diskPassphrase: Secret | null }>;
  /** Reports a step, as a service OS would. Calls are sequential. */
  readonly report: (subject: PushSubject, progress: PushProgress) => Promise<void>;
  /** Reports the outcome, as a service OS would. Exactly once for each push, after the last report. */
  readonly finish: (subject: PushSubject, result: PushResult) => Promise<void>;
  /** False: the session has ended, and the push is aborted. */
  readonly isSessionOpen: (subject: PushSubject) => Promise<boolean>;
  /** For errors of the functions above. */
  readonly logError: (subject: PushSubject, error: unknown) => void;
  readonly workFolders: string;
  readonly environment: Push['environment'];
  readonly limits: PushLimits;
  readonly sshPort: number;
  /** How often `isSessionOpen` is called. */
  readonly checkEvery: Instant;
}

interface Running {
  readonly session: SessionId;
  readonly controller: AbortController;
  readonly done: Promise<void>;
}

export class PushInstaller {
  readonly #deps: PushInstallerDeps;
  readonly #keys = new Map<MachineId, EphemeralKey & { readonly deployment: Instant }>();
  readonly #running = new Map<MachineId, Running>();
  #stopping = false;

  private constructor(deps: PushInstallerDeps) {
    this.#deps = deps;
  }

  /** First removes the work folders of a killed process: they may hold a private key. */
  static async open(deps: PushInstallerDeps): Promise<PushInstaller> {
    await removeWorkFolders(deps.workFolders);
    return new PushInstaller(deps);
  }

  /** For the order: the same key for every boot script of a deployment, which is identified by its start time. */
  authorizedKey(machine: MachineId, hostname: string, deployment: Instant): string {
    const known = this.#keys.get(machine);
    if (known?.deployment === deployment) return known.authorizedKey;
    const key = { ...makeEphemeralKey(`coldiron-${hostname}`), deployment };
    this.#keys.set(machine, key);
    return key.authorizedKey;
  }

  /** Called when the installer waits. A repetition by the same session has no effect; a newer session aborts the older push. */
  begin(subject: PushSubject): void {
    const before = this.#running.get(subject.machine);
    if (before?.session === subject.session) return;
    before?.controller.abort();
    const controller = new AbortController();
    const done = (before?.done ?? Promise.resolve())
      .then(() => this.#watched(subject, controller))
      .catch((error: unknown) => this.#deps.logError(subject, error))
      .finally(() => {
        if (this.#running.get(subject.machine)?.session === subject.session) this.#running.delete(subject.machine);
      });
    this.#running.set(subject.machine, { session: subject.session, controller, done });
  }

  /** Aborts the push of a machine; resolves when it has ended. */
  async cancel(machine: MachineId): Promise<void> {
    this.#keys.delete(machine);
    const running = this.#running.get(machine);
    running?.controller.abort();
    await running?.done;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#running.keys()].map((machine) => this.cancel(machine)));
  }

  async #watched(subject: PushSubject, controller: AbortController): Promise<void> {
    const { isSessionOpen, logError, checkEvery } = this.#deps;
    const check = async (): Promise<void> => {
      if (!(await isSessionOpen(subject))) controller.abort();
    };
    const timer = setInterval(() => void check().catch((error: unknown) => logError(subject, error)), checkEvery);
    try {
      await this.#push(subject, controller.signal);
    } finally {
      clearInterval(timer);
    }
  }

  async #push(subject: PushSubject, signal: AbortSignal): Promise<void> {
    const { report, finish, logError } = this.#deps;
    const key = this.#keys.get(subject.machine);
    let reports: Promise<void> = Promise.resolve();
    const say = (progress: PushProgress): void => {
      reports = reports.then(() => report(subject, progress)).catch((error: unknown) => logError(subject, error));
    };
    const ended = await this.#result(subject, key ?? null, signal, say);
    const result = this.#stopping && !ended.ok ? { ...ended, reason: STOPPED } : ended;
    await reports;
    // Valid for one deployment, however it ended; one that began meanwhile has its own.
    if (this.#keys.get(subject.machine) === key) this.#keys.delete(subject.machine);
    await finish(subject, result);
  }

  async #result(
    subject: PushSubject,
    key: EphemeralKey | null,
    signal: AbortSignal,
    say: (progress: PushProgress) => void,
  ): Promise<PushResult> {
    const { files, workFolders, environment, limits, sshPort } = this.#deps;
    if (key === null) return { ok: false, step: 'prepare', reason: LOST_KEY, log: null };
    const tools = await probePushTools(environment.PATH ?? '');
    if (!tools.ok) return { ok: false, step: 'prepare', reason: tools.reason, log: null };
    const made = await files(subject).then(parsed, (error: Error) => unparsable(error.message));
    if (!made.ok)
      return { ok: false, step: 'prepare', reason: `its files could not be made: ${made.reason}`, log: null };
    const { hostname: node, hostKeys, address } = subject;
    const target = { host: address, port: sshPort };
    return pushNixos({
      ...made.value,
      node,
      target,
      hostKeys,
      key,
      tools,
      workFolders,
      environment,
      limits,
      signal,
      say,
    });
  }
}

const STOPPED = 'the appliance was stopped during the installation: deploy it again';
export const LOST_KEY = 'the appliance was restarted and lost the SSH key of this deployment: deploy it again';
