// IPMI v2.0 §24.1, §24.2: activates and deactivates serial over LAN (SOL) in a session.

import { type IpmiCommand, ipmiCommand, NET_FN, nothing } from './command.ts';

const SOL_PAYLOAD = 0x01;
const FIRST_INSTANCE = 0x01;
/** Encrypted and authenticated, like all payloads of the session. */
const PROTECTED = 0xc0;

/** Completion code of the activation when another client holds the console. */
export const CONSOLE_IN_USE = 0x80;

export interface ConsoleActivation {
  /** As the BMC reports it: many report sizes that they then reject. */
  readonly inboundBytes: number;
  readonly outboundBytes: number;
  readonly port: number;
}

export const activateConsole = (): IpmiCommand<ConsoleActivation> =>
  ipmiCommand({
    name: 'Activate Payload (SOL)',
    netFn: NET_FN.app,
    command: 0x48,
    data: [SOL_PAYLOAD, FIRST_INSTANCE, PROTECTED, 0, 0, 0],
    codes: {
      128: 'another client holds the console',
      129: 'serial over LAN is disabled',
      130: 'the limit of consoles is reached',
      131: 'the BMC wants the console unencrypted',
      132: 'the BMC wants the console encrypted',
    },
    decode: (reader) => {
      reader.bytes(4, 'auxiliary data');
      const inboundBytes = reader.uint16('inbound payload size');
      const outboundBytes = reader.uint16('outbound payload size');
      return { inboundBytes, outboundBytes, port: reader.uint16('port') };
    },
  });

export const deactivateConsole = (): IpmiCommand<void> =>
  ipmiCommand({
    name: 'Deactivate Payload (SOL)',
    netFn: NET_FN.app,
    command: 0x49,
    data: [SOL_PAYLOAD, FIRST_INSTANCE, 0, 0, 0, 0],
    codes: { 128: 'the console is not active', 129: 'serial over LAN is disabled' },
    decode: nothing,
  });
