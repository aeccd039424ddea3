// The operations on a node's BMC.

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
/** Access to a BMC is access to the machine: its credentials are for admins. */
const logins = { ...writes, access: 'admin' } as const;
const repeatable = { write: { ...WRITES_NODE, idempotent: true } } as const;

export const BMC_OPERATIONS = {
  getNodePower: { ...reads, path: `${NODE}/power`, summary: 'Read the power state', cli: 'power' },
  setNodePower: {
    ...writes,
    path: `${NODE}/power`,
    access: 'tech',
    summary: 'Switch the node on or off, or restart it',
    cli: 'power',
  },
  setNodeBootDevice: {
    ...writes,
    ...repeatable,
    path: `${NODE}/bootdev`,
    access: 'operator',
    summary: 'Set the device of the next boot; the power state does not change',
    cli: 'bootdev',
  },
  identifyNode: {
    ...writes,
    ...repeatable,
    path: `${NODE}/identify`,
    access: 'tech',
    summary: 'Switch the identify LED',
    cli: 'identify',
  },
  getNodeSensors: {
    ...reads,
    path: `${NODE}/sensors`,
    summary: 'Read the sensors: temperatures, fans, voltages, power supplies',
    cli: 'sensors',
  },
  getNodeEventLog: { ...reads, path: `${NODE}/sel`, summary: "Read the BMC's event log, oldest first", cli: 'sel' },
  clearNodeEventLog: {
    ...writes,
    method: 'DELETE',
    path: `${NODE}/sel`,
    access: 'operator',
    summary: "Clear the BMC's event log",
    cli: 'sel',
  },
  openNodeConsole: {
    ...reads,
    path: `${NODE}/console`,
    access: 'operator',
    status: 101,
    summary:
      'Open the serial console, a stream of bytes in both directions: send Connection: Upgrade and Upgrade: coldiron-console',
    cli: 'console',
  },
  getNodeConsoleLog: {
    ...reads,
    path: `${NODE}/console/log`,
    errors: ['conflict'],
    summary: 'Read what the machine said on its console, captured while it was worked on',
    cli: 'console',
  },
  setBmcCredentials: {
    ...logins,
    ...repeatable,
    method: 'PUT',
    path: `${NODE}/bmc/credentials`,
    summary: 'Set the credentials of its BMC; they take precedence over the inventory',
    cli: 'bmc set-credentials',
  },
  rotateBmcPassword: {
    ...logins,
    path: `${NODE}/bmc/rotate`,
    summary: 'Set a new random password for the configured BMC user; only the vault stores it',
    cli: 'bmc rotate',
  },
  forgetBmcCertificate: {
    ...logins,
    ...repeatable,
    method: 'DELETE',
    path: `${NODE}/bmc/certificate`,
    summary: 'Trust the next certificate that its BMC presents, after it was replaced on purpose',
    cli: 'bmc forget-certificate',
  },
  listBmcQuirks: {
    ...reads,
    path: `${V1}/bmc/quirks`,
    errors: [],
    summary: 'List which network-boot methods worked, by BMC model',
    cli: 'bmc quirks',
  },
  scanForBmcs: {
    method: 'POST',
    path: `${V1}/bmc/scan`,
    access: 'operator',
    tag: 'bmc',
    errors: ['bmc_off_limits', 'conflict'],
    write: { ...WRITES, idempotent: true },
    summary: 'Scan for BMCs in the networks that the site file allows, without logging in',
    cli: 'bmc scan',
  },
} as const satisfies Readonly<Record<string, Operation>>;
