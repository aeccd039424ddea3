// What goes to a node's BMC.

import type { ErrorCode } from '../../domain/errors.ts';
import { type Operation, V1, WRITES, WRITES_NODE } from '../operation.ts';

const NODE = `${V1}/nodes/:node`;

const BMC_ERRORS: readonly ErrorCode[] = [
  'conflict',
  'vault_unavailable',
  'bmc_off_limits',
  'bmc_login_failed',
  'bmc_locked_out',
  'bmc_untrusted',
  'bmc_unreachable',
  'bmc_busy',
  'bmc_unsupported',
  'bmc_failed',
];

const reads = { method: 'GET', access: 'viewer', tag: 'bmc', errors: BMC_ERRORS, write: null } as const;
const writes = { method: 'POST', tag: 'bmc', errors: BMC_ERRORS, write: WRITES_NODE } as const;
/** Whoever has a BMC has the machine: its logins are for admins. */
const logins = { ...writes, access: 'admin' } as const;
const repeatable = { write: { ...WRITES_NODE, idempotent: true } } as const;

export const BMC_OPERATIONS = {
  getNodePower: { ...reads, path: `${NODE}/power`, summary: 'Whether it is on', cli: 'power' },
  setNodePower: {
    ...writes,
    path: `${NODE}/power`,
    access: 'tech',
    summary: 'Switch it on or off, or restart it',
    cli: 'power',
  },
  setNodeBootDevice: {
    ...writes,
    ...repeatable,
    path: `${NODE}/bootdev`,
    access: 'operator',
    summary: 'What it starts from the next time; power is not touched',
    cli: 'bootdev',
  },
  identifyNode: {
    ...writes,
    ...repeatable,
    path: `${NODE}/identify`,
    access: 'tech',
    summary: 'The light that shows which machine it is',
    cli: 'identify',
  },
  getNodeSensors: {
    ...reads,
    path: `${NODE}/sensors`,
    summary: 'Temperatures, fans, voltages, power supplies',
    cli: 'sensors',
  },
  getNodeEventLog: { ...reads, path: `${NODE}/sel`, summary: "The BMC's own event log, the oldest first", cli: 'sel' },
  clearNodeEventLog: {
    ...writes,
    method: 'DELETE',
    path: `${NODE}/sel`,
    access: 'operator',
    summary: "Clear the BMC's own event log",
    cli: 'sel',
  },
  openNodeConsole: {
    ...reads,
    path: `${NODE}/console`,
    access: 'operator',
    status: 101,
    summary:
      'Its serial console, as a stream of bytes both ways: send Connection: Upgrade and Upgrade: coldiron-console',
    cli: 'console',
  },
  setBmcCredentials: {
    ...logins,
    ...repeatable,
    method: 'PUT',
    path: `${NODE}/bmc/credentials`,
    summary: 'How to log in to its BMC from now on; used instead of what the inventory says',
    cli: 'bmc set-credentials',
  },
  rotateBmcPassword: {
    ...logins,
    path: `${NODE}/bmc/rotate`,
    summary: 'Give our user of its BMC a new random password that only the vault knows',
    cli: 'bmc rotate',
  },
  forgetBmcCertificate: {
    ...logins,
    ...repeatable,
    method: 'DELETE',
    path: `${NODE}/bmc/certificate`,
    summary: 'Trust the next certificate that its BMC shows, after it was replaced on purpose',
    cli: 'bmc forget-certificate',
  },
  listBmcQuirks: {
    ...reads,
    path: `${V1}/bmc/quirks`,
    errors: [],
    summary: 'Which ways to boot from the network worked, by kind of BMC',
    cli: 'bmc quirks',
  },
  scanForBmcs: {
    method: 'POST',
    path: `${V1}/bmc/scan`,
    access: 'operator',
    tag: 'bmc',
    errors: ['bmc_off_limits', 'conflict'],
    write: { ...WRITES, idempotent: true },
    summary: 'Look for BMCs in the networks that the site file allows; nothing is logged in to',
    cli: 'bmc scan',
  },
} as const satisfies Readonly<Record<string, Operation>>;
