// The pushes that are under way: one for each machine at most, with the key that its installer was told to let in. Keys are in memory
// only; an appliance that was restarted has none of them, and says so.

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
  /** The address that its card was leased: where its session comes from. */
  readonly address: string;
  /** As its facts have them: `ssh_host_keys`. */
  readonly hostKeys: readonly string[];
}

export interface PushInstallerDeps {
  /** Made at this moment: they hold a one-time token and a fresh key. */
  readonly files: (subject: PushSubject) => Promise<NixosFiles & { readonly diskPassphrase: Secret | null }>;
  /** What a service OS would have told with a step. One after the other. */
  readonly report: (subject: PushSubject, progress: PushProgress) => Promise<void>;
  /** What it would have told as its outcome. Exactly once for each push, after the last report. */
  readonly finish: (subject: PushSubject, result: PushResult) => Promise<void>;
  /** False: nobody waits for it any more, and it is ended. */
  readonly stillWanted: (subject: PushSubject) => Promise<boolean>;
  /** For what those above could not do. */
  readonly complain: (subject: PushSubject, error: unknown) => void;
  readonly workFolders: string;
  readonly environment: Push['environment'];
  readonly limits: PushLimits;
  readonly sshPort: number;
  /** How often `stillWanted` is asked. */
  readonly lookEvery: Instant;
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

  /** What a process that was killed left behind is removed first: a private key may be among it. */
  static async open(deps: PushInstallerDeps): Promise<PushInstaller> {
    await removeWorkFolders(deps.workFolders);
    return new PushInstaller(deps);
  }

  /** For the order: the same one for every boot script of a deployment, which is known by its beginning. */
  authorizedKey(machine: MachineId, hostname: string, deployment: Instant): string {
    const known = this.#keys.get(machine);
    if (known?.deployment === deployment) return known.authorizedKey;
    const key = { ...makeEphemeralKey(`coldiron-${hostname}`), deployment };
    this.#keys.set(machine, key);
    return key.authorizedKey;
  }

  /** When the installer says that it waits. Said twice by one session it is begun once; a newer session ends the older one's. */
  begin(subject: PushSubject): void {
    const before = this.#running.get(subject.machine);
    if (before?.session === subject.session) return;
    before?.controller.abort();
    const controller = new AbortController();
    const done = (before?.done ?? Promise.resolve())
      .then(() => this.#watched(subject, controller))
      .catch((error: unknown) => this.#deps.complain(subject, error))
      .finally(() => {
        if (this.#running.get(subject.machine)?.session === subject.session) this.#running.delete(subject.machine);
      });
    this.#running.set(subject.machine, { session: subject.session, controller, done });
  }

  /** When nobody wants it any more; returns when all of it has ended. */
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
    const { stillWanted, complain, lookEvery } = this.#deps;
    const look = async (): Promise<void> => {
      if (!(await stillWanted(subject))) controller.abort();
    };
    const timer = setInterval(() => void look().catch((error: unknown) => complain(subject, error)), lookEvery);
    try {
      await this.#push(subject, controller.signal);
    } finally {
      clearInterval(timer);
    }
  }

  async #push(subject: PushSubject, signal: AbortSignal): Promise<void> {
    const { report, finish, complain } = this.#deps;
    const key = this.#keys.get(subject.machine);
    let told: Promise<void> = Promise.resolve();
    const say = (progress: PushProgress): void => {
      told = told.then(() => report(subject, progress)).catch((error: unknown) => complain(subject, error));
    };
    const ended = await this.#result(subject, key ?? null, signal, say);
    const result = this.#stopping && !ended.ok ? { ...ended, reason: STOPPED } : ended;
    await told;
    // Good for one deployment, however it ended; one that began meanwhile has its own.
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
    if (!made.ok) return { ok: false, step: 'prepare', reason: `its files cannot be made: ${made.reason}`, log: null };
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

const STOPPED = 'the appliance was stopped in the middle of it: deploy it again';
export const LOST_KEY = 'the appliance was restarted since the installer was told whom to let in: deploy it again';
