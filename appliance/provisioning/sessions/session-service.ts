// Everything for machines that start our code: their orders, tickets and sessions, and the installations
// that the appliance performs on them.

import type { MachineCommands } from '../../machines/execute.ts';
import type { NewTicket } from '../../store/session-store.ts';
import type { Store } from '../../store/store.ts';
import { nixosPushFiles, nixosSessionFile, type SessionFileDeps } from '../installers/nixos/session-files.ts';
import { WorkOrders, type WorkOrdersDeps } from '../orders/work-orders.ts';
import { type EndFailedBoot, endFailedBoot } from './boot-failure.ts';
import { type PushedInstallDeps, PushedInstalls } from './pushed-installs.ts';
import { requiredIdentity } from './required-identity.ts';
import { ticketIssued } from './session-commands.ts';
import { failOnRestart } from './session-watch.ts';
import { Sessions, type SessionsDeps } from './sessions.ts';
import { stallWatch } from './stall-watch.ts';
import { ticketMaker } from './tickets.ts';

export interface SessionServiceDeps
  extends Omit<WorkOrdersDeps, 'nixosFile' | 'pushKey'>,
    Omit<SessionFileDeps, 'templates'>,
    Pick<SessionsDeps, 'seenAt' | 'now' | 'readTpm' | 'seeds' | 'random' | 'heard'>,
    Pick<PushedInstallDeps, 'workFolders' | 'environment' | 'limits' | 'sshPort'> {
  readonly store: Store;
  readonly fleet: WorkOrdersDeps['fleet'] & SessionsDeps['fleet'];
  readonly commands: Pick<MachineCommands, 'execute'>;
  readonly newId: () => string;
  /** The port of the node API, which sessions use; null: it is off, and sessions use the boot server. */
  readonly nodePort: () => number | null;
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}

export interface SessionService {
  readonly orders: WorkOrders;
  /** For boot scripts and the boot server. */
  readonly sessions: {
    readonly draft: ReturnType<typeof ticketMaker>;
    readonly put: (ticket: NewTicket) => Promise<void>;
    readonly onRestart: ReturnType<typeof failOnRestart>;
    readonly endFailedBoot: EndFailedBoot;
    /** Handles the requests of the service OS. */
    readonly handler: Sessions;
  };
  /** Records of these machines whose work stands still that it does. */
  readonly noteStalled: ReturnType<typeof stallWatch>;
  /** Why this appliance cannot install NixOS itself. Empty: it can. */
  readonly pushProblems: () => Promise<readonly string[]>;
  stop(): Promise<void>;
}

export async function openSessionService(deps: SessionServiceDeps): Promise<SessionService> {
  const { store, commands, now, newId, log } = deps;
  const orders = new WorkOrders({
    ...deps,
    nixosFile: nixosSessionFile(deps),
    pushKey: (machine) => pushes.authorizedKey(machine),
  });
  const handler = new Sessions({
    ...deps,
    files: orders,
    profile: (name) => deps.fleet.profile(name),
    installerWaits: (held, address) => pushes.begin(held, address),
  });
  const pushes = await PushedInstalls.open({
    ...deps,
    sessions: handler,
    plan: (machine) => orders.plan(machine, machine.intent?.profile ?? null),
    files: nixosPushFiles(deps, deps.given),
  });
  const required = requiredIdentity((name) => deps.fleet.profile(name));
  await pushes.failAbandoned(deps.fleet.inventory().machines);
  return {
    orders,
    sessions: {
      draft: ticketMaker(orders, { now, newId, nodePort: deps.nodePort }),
      put: async (ticket) => void (await store.commit(ticketIssued(ticket))),
      onRestart: failOnRestart(store, commands, required, now, log),
      endFailedBoot: endFailedBoot({ store, commands, seenAt: deps.seenAt, log }),
      handler,
    },
    noteStalled: stallWatch(store, now),
    pushProblems: () => pushes.problems(),
    stop: () => pushes.stop(),
  };
}
