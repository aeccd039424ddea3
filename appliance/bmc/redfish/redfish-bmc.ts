// A BMC that speaks Redfish, in the verbs of bmc.ts and the further ones that Redfish has. Verbs of one BMC wait for each other
// and share a session, which is given back when nobody has used it for some seconds, and at the end.

import type { Bmc } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import { setBoot } from './boot-override.ts';
import { type RedfishCaller, redfishCaller } from './caller.ts';
import type { CertificateAuthority } from './certificate-pin.ts';
import { conversation } from './conversation.ts';
import { clearEventLog, eventLog } from './event-log.ts';
import { identify } from './identify-light.ts';
import { identity } from './identity.ts';
import { originOf } from './link.ts';
import { setOwnPassword } from './own-password.ts';
import { powerCycle, powerOff, powerOn, powerReset, powerSoft, powerState } from './power.ts';
import { inOneLine, withoutSecrets } from './refusal.ts';
import { sensors } from './sensors.ts';
import { findService, type RedfishService } from './service.ts';
import { type RedfishLogin, redfishSession } from './session.ts';
import type { RedfishTools } from './tools.ts';
import { ejectMedia, insertMedia, type VirtualDrive, virtualDrives } from './virtual-media.ts';

const HTTPS_PORT = 443;

export interface RedfishTarget extends RedfishLogin {
  readonly address: string;
  /** 443 unless told otherwise. */
  readonly port?: number;
}

export interface RedfishSettings {
  /** Id, name, UUID, serial number or MAC of the machine, where several are behind one BMC. */
  readonly system?: string | null;
  /** Who issued the BMC's certificate; without one, the first certificate seen is kept and expected from then on. */
  readonly authority?: CertificateAuthority | null;
}

export interface RedfishBmc extends Bmc {
  virtualDrives(): Promise<VirtualDrive[]>;
  /** An image at an http or https address becomes the machine's CD drive. Reads back; twice is once. */
  insertMedia(image: string): Promise<void>;
  /** Every virtual drive is empty afterwards. */
  ejectMedia(): Promise<void>;
}

export function redfishBmc(target: RedfishTarget, settings: RedfishSettings, tools: RedfishTools): RedfishBmc {
  const { clock, limits } = tools;
  const port = target.port ?? HTTPS_PORT;
  const origin = originOf(target.address, port);
  const address = port === HTTPS_PORT ? target.address : `${target.address}:${port}`;
  const trust = { address, pins: tools.pins, authority: settings.authority ?? null };
  const link = tools.openLink({ origin, trust, clock, limits });
  const session = redfishSession(target, conversation({ origin, link, clock, limits }));

  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  let forgetIdle: () => void = () => undefined;
  let service: RedfishService | null = null;

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };

  const goodbye = (): Promise<void> => {
    service = null;
    return session.end(clock.now() + limits.farewell);
  };

  const ask = <Result>(
    work: (bmc: RedfishCaller) => Promise<Result>,
    secrets: readonly string[] = [],
  ): Promise<Result> => {
    if (closed) return Promise.reject(new BmcError('closed', `BMC ${address}: this driver is closed`));
    return inTurn(async () => {
      forgetIdle();
      try {
        return await work(caller());
      } catch (error) {
        throw named(error, address, [...session.secrets(), ...secrets]);
      } finally {
        forgetIdle = clock.wakeAt(clock.now() + limits.idle, () => void inTurn(goodbye));
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
    identity: () => ask(identity),
    powerState: () => ask(powerState),
    powerOn: () => ask(powerOn),
    powerOff: () => ask(powerOff),
    powerCycle: () => ask(powerCycle),
    powerReset: () => ask(powerReset),
    powerSoft: () => ask(powerSoft),
    setBoot: (choice) => ask((bmc) => setBoot(bmc, choice)),
    identify: (light) => ask((bmc) => identify(bmc, light)),
    sensors: () => ask(sensors),
    eventLog: () => ask(eventLog),
    clearEventLog: () => ask(clearEventLog),
    openConsole: () => Promise.reject(noConsole(address)),
    setOwnPassword: (password) =>
      ask((bmc) => setOwnPassword(bmc, target.userName, password), [new TextDecoder().decode(password.reveal())]),
    virtualDrives: () => ask(virtualDrives),
    insertMedia: (image) => ask((bmc) => insertMedia(bmc, image)),
    ejectMedia: () => ask(ejectMedia),
    close: async () => {
      if (closed) return last.then(() => undefined);
      closed = true;
      await inTurn(async () => {
        forgetIdle();
        await goodbye();
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

/** Whose trouble it is, and nothing that has to stay secret. */
function named(error: unknown, address: string, secrets: readonly string[]): unknown {
  if (!(error instanceof BmcError)) return error;
  const message = `BMC ${address}: ${inOneLine(withoutSecrets(error.message, secrets))}`;
  return new BmcError(error.failure, message, { retryable: error.retryable });
}
