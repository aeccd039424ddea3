// The Redfish driver: implements the verbs of bmc.ts, and further ones of Redfish. The verbs of one BMC are queued and share a
// session, which is closed after some idle seconds and at the end.

import type { Bmc } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import { setBoot } from './boot-override.ts';
import { type RedfishCaller, redfishCaller } from './caller.ts';
import type { CertificateAuthority } from './certificate-pin.ts';
import { conversation } from './conversation.ts';
import type { RedfishDeps } from './deps.ts';
import { clearEventLog, eventLog } from './event-log.ts';
import { identify } from './identify-light.ts';
import { identity } from './identity.ts';
import { originOf } from './link.ts';
import { networkCards } from './network-cards.ts';
import { setOwnPassword } from './own-password.ts';
import { powerCycle, powerOff, powerOn, powerReset, powerSoft, powerState } from './power.ts';
import { oneLine, withoutSecrets } from './refusal.ts';
import { sensors } from './sensors.ts';
import { findService, type RedfishService } from './service.ts';
import { type RedfishLogin, redfishSession } from './session.ts';
import { ejectMedia, insertMedia, type VirtualDrive, virtualDrives } from './virtual-media.ts';

const HTTPS_PORT = 443;

export interface RedfishTarget extends RedfishLogin {
  readonly address: string;
  /** Default: 443. */
  readonly port?: number;
}

export interface RedfishSettings {
  /** Id, name, UUID, serial number or MAC of the machine, if several share one BMC. */
  readonly system?: string | null;
  /** The issuer of the BMC's certificate; without one, the first certificate seen is pinned. */
  readonly authority?: CertificateAuthority | null;
}

export interface RedfishBmc extends Bmc {
  virtualDrives(): Promise<VirtualDrive[]>;
}

export function redfishBmc(target: RedfishTarget, settings: RedfishSettings, deps: RedfishDeps): RedfishBmc {
  const { clock, limits } = deps;
  const port = target.port ?? HTTPS_PORT;
  const origin = originOf(target.address, port);
  const address = port === HTTPS_PORT ? target.address : `${target.address}:${port}`;
  const trust = { address, pins: deps.pins, authority: settings.authority ?? null };
  const link = deps.openLink({ origin, trust, clock, limits });
  const session = redfishSession(target, conversation({ origin, link, clock, limits }));

  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  let cancelIdle: () => void = () => undefined;
  let service: RedfishService | null = null;

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };

  const endSession = (): Promise<void> => {
    service = null;
    return session.end(clock.now() + limits.logout);
  };

  const run = <Result>(
    work: (bmc: RedfishCaller) => Promise<Result>,
    secrets: readonly string[] = [],
  ): Promise<Result> => {
    if (closed) return Promise.reject(new BmcError('closed', `BMC ${address}: this driver is closed`));
    return inTurn(async () => {
      cancelIdle();
      try {
        return await work(caller());
      } catch (error) {
        throw withAddress(error, address, [...session.secrets(), ...secrets]);
      } finally {
        cancelIdle = clock.wakeAt(clock.now() + limits.idle, () => void inTurn(endSession));
      }
    });
  };

  const caller = (): RedfishCaller =>
    redfishCaller({
      clock,
      limits,
      deadline: clock.now() + limits.verb,
      session,
      service: async (bmc) => {
        service ??= await findService(bmc, await bmc.root(), settings.system ?? null);
        return service;
      },
    });

  return {
    identity: () => run(identity),
    networkCards: () => run(networkCards),
    powerState: () => run(powerState),
    powerOn: () => run(powerOn),
    powerOff: () => run(powerOff),
    powerCycle: () => run(powerCycle),
    powerReset: () => run(powerReset),
    powerSoft: () => run(powerSoft),
    setBoot: (choice) => run((bmc) => setBoot(bmc, choice)),
    identify: (light) => run((bmc) => identify(bmc, light)),
    sensors: () => run(sensors),
    eventLog: () => run(eventLog),
    clearEventLog: () => run(clearEventLog),
    openConsole: () => Promise.reject(noConsole(address)),
    setOwnPassword: (password) =>
      run((bmc) => setOwnPassword(bmc, target.userName, password), [new TextDecoder().decode(password.reveal())]),
    virtualDrives: () => run(virtualDrives),
    insertMedia: (image, replaces) => run((bmc) => insertMedia(bmc, image, replaces)),
    ejectMedia: (which) => run((bmc) => ejectMedia(bmc, which)),
    close: async () => {
      if (closed) return last.then(() => undefined);
      closed = true;
      await inTurn(async () => {
        cancelIdle();
        await endSession();
        await link.close().catch(() => undefined);
      });
    },
  };
}

const noConsole = (address: string): BmcError =>
  new BmcError(
    'unsupported',
    `BMC ${address}: Redfish has no serial console; use IPMI Serial over LAN, or the BMC's own SSH`,
  );

/** Adds the address of the BMC to the message, and removes secrets. */
function withAddress(error: unknown, address: string, secrets: readonly string[]): unknown {
  if (!(error instanceof BmcError)) return error;
  const message = `BMC ${address}: ${oneLine(withoutSecrets(error.message, secrets))}`;
  return new BmcError(error.failure, message, { retryable: error.retryable });
}
