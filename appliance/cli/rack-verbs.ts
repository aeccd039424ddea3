// A virtual rack on this machine: up, down, status, and injected faults. A keeper process of its own runs it and
// continues after the verb returns.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { ColdironError, ERRORS, type ErrorCode } from '../domain/errors.ts';
import type { BmcMode } from '../domain/network.ts';
import type { Button } from '../lab/rack/buttons.ts';
import { identicalMachines, type RackDefinition, readRackDefinition } from '../lab/rack/definition.ts';
import { endRack } from '../lab/rack/end-rack.ts';
import type { FaultKind } from '../lab/rack/faults.ts';
import type { FirmwareKind } from '../lab/rack/firmware.ts';
import { installPackages, missingPackages } from '../lab/rack/packages.ts';
import { isAlive } from '../lab/rack/process-records.ts';
import { Rack } from '../lab/rack/rack.ts';
import { orderRack, type RackOrder } from '../lab/rack/rack-control.ts';
import { RackFolder } from '../lab/rack/rack-folder.ts';
import type { RackStatus } from '../lab/rack/rack-status.ts';
import { stateFolder } from './connection.ts';
import { printJson, standardOutput, styled, table } from './terminal.ts';

interface PlaceOptions {
  readonly config?: string;
  readonly state?: string;
  readonly json?: boolean;
}

interface UpOptions extends PlaceOptions {
  readonly rack?: string;
  readonly machines: string;
  readonly firmware: FirmwareKind;
  readonly tpm?: boolean;
  readonly bmcMode?: BmcMode;
  readonly install?: boolean;
}

const rackFolder = async (options: PlaceOptions): Promise<RackFolder> =>
  new RackFolder(join(await stateFolder(options), 'rack'));

export async function bringUp(options: UpOptions): Promise<void> {
  const folder = await rackFolder(options);
  const definition = await definitionOf(options);
  await needPackages(options);
  await startKeeper(folder, definition);
  const status = await currentStatus(folder);
  const output = standardOutput();
  if (options.json) return printJson(output, status ?? { up: false });
  if (status) printStatus(status);
  output.write(
    `\nTo serve it:  ip netns exec ${status?.namespace} coldiron serve --config ${status?.siteFile}\n` +
      'To end it:    coldiron rack down\n',
  );
}

async function definitionOf(options: UpOptions): Promise<RackDefinition> {
  const definition =
    options.rack === undefined
      ? identicalMachines(Number(options.machines), options.firmware, options.tpm)
      : await readRackDefinition(options.rack);
  return options.bmcMode === undefined ? definition : { ...definition, bmcMode: options.bmcMode };
}

async function needPackages({ install, json }: UpOptions): Promise<void> {
  const missing = await missingPackages();
  if (missing.length === 0) return;
  if (!install) {
    throw new ColdironError('service_unavailable', 'the rack needs Debian packages that are not installed', [
      `apt-get install ${missing.join(' ')}`,
      'or: coldiron rack up --install',
    ]);
  }
  await installPackages(missing, (line) => void (json || process.stdout.write(`${line}\n`)));
}

type KeeperMessage =
  | { readonly up: true }
  | { readonly up: false; readonly code: ErrorCode; readonly message: string; readonly details: readonly string[] };

/** Returns when the rack is up. The keeper logs to a file. */
async function startKeeper(folder: RackFolder, definition: RackDefinition): Promise<void> {
  await folder.make();
  await using log = await open(folder.file('keeper.log'), 'a', 0o600);
  const program = join(import.meta.dirname, `coldiron${extname(import.meta.filename)}`);
  const args = ['rack', 'keep', '--state', join(folder.path, '..')];
  const keeper = spawn(process.execPath, [program, ...args], {
    detached: true,
    stdio: ['ignore', log.fd, log.fd, 'ipc'],
  });
  keeper.send(definition);
  const [reply] = (await Promise.race([once(keeper, 'message'), once(keeper, 'exit').then(() => [null])])) as [
    KeeperMessage | null,
  ];
  if (keeper.connected) keeper.disconnect();
  keeper.unref();
  if (reply?.up) return;
  if (reply === null)
    throw new ColdironError('internal', `the keeper process of the rack exited: see ${folder.file('keeper.log')}`);
  throw new ColdironError(reply.code in ERRORS ? reply.code : 'internal', reply.message, reply.details);
}

export async function keep(options: PlaceOptions): Promise<void> {
  if (!process.connected)
    throw new ColdironError('usage', 'this verb is internal; start a rack with: coldiron rack up');
  const report = (message: KeeperMessage): void => void process.send?.(message);
  const [definition] = (await once(process, 'message')) as [RackDefinition];
  try {
    const rack = await Rack.start({ definition, folder: await rackFolder(options), kind: 'keeper' });
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => void rack.stop());
    report({ up: true });
    await rack.ended;
  } catch (error) {
    if (!(error instanceof ColdironError)) throw error;
    report({ up: false, code: error.code, message: error.message, details: error.details });
  }
  if (process.connected) process.disconnect?.();
}

export async function takeDown(options: PlaceOptions & { readonly erase?: boolean }): Promise<void> {
  const folder = await rackFolder(options);
  const wasUp = await endRack(folder);
  if (options.erase) await folder.erase();
  const output = standardOutput();
  if (options.json) printJson(output, { up: false, was_up: wasUp, erased: options.erase ?? false });
  else output.write(wasUp ? 'The rack is down.\n' : 'No rack was up.\n');
}

export async function showStatus(options: PlaceOptions): Promise<void> {
  const status = await currentStatus(await rackFolder(options));
  const output = standardOutput();
  if (options.json) return printJson(output, status ?? { up: false });
  if (status) printStatus(status);
  else output.write('No rack is up: coldiron rack up\n');
}

export const press = (machine: string, button: Button, options: PlaceOptions): Promise<void> =>
  orderAndShow({ do: 'press', machine, button }, options);

export async function makeFault(
  target: string,
  kind: FaultKind,
  position: 'on' | 'off',
  options: PlaceOptions & { readonly value?: string; readonly in?: string },
): Promise<void> {
  const more = {
    ...(options.value === undefined ? {} : { value: options.value }),
    ...(options.in === undefined ? {} : { file: options.in }),
  };
  await orderAndShow({ do: 'fault', fault: { target, kind, on: position === 'on', ...more } }, options);
}

async function orderAndShow(order: RackOrder, options: PlaceOptions): Promise<void> {
  const folder = await rackFolder(options);
  const claim = await folder.claim();
  if (claim === null || !(await isAlive(claim.owner))) {
    throw new ColdironError('conflict', `no rack is up in ${folder.path}: coldiron rack up`);
  }
  const status = await orderRack(claim.control, order);
  if (options.json) printJson(standardOutput(), status);
  else if (status) printStatus(status);
}

/** Null: no rack is up. */
async function currentStatus(folder: RackFolder): Promise<RackStatus | null> {
  const claim = await folder.claim();
  if (claim === null || !(await isAlive(claim.owner))) return null;
  return await orderRack(claim.control, { do: 'status' });
}

function printStatus(status: RackStatus): void {
  const output = standardOutput();
  const rows = status.machines.map((machine) => [
    machine.name,
    machine.firmware,
    machine.power,
    machine.pid === null ? '-' : String(machine.pid),
    machine.bmc === null ? '-' : `${machine.bmc.address} ${machine.bmc.state}`,
    machine.tpm === null ? '-' : machine.tpm.state,
    machine.bootFlag,
    machine.console,
  ]);
  output.write(
    `${styled(output, 'bold', status.site)}, BMCs ${status.bmcMode}, in the network namespace ${status.namespace}\n`,
  );
  output.write(table(output, ['MACHINE', 'FIRMWARE', 'POWER', 'PID', 'BMC', 'TPM', 'BOOT FLAG', 'CONSOLE'], rows));
  for (const { target, kind, amount, means, note } of status.faults) {
    output.write(styled(output, 'yellow', `fault: ${target} ${kind} ${amount}`.trimEnd()));
    output.write(`: ${means}${note === '' ? '' : ` (${note})`}\n`);
  }
}
