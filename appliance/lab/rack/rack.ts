// A virtual rack: an isolated network, servers in it, and a BMC for each. The process that starts it owns it: when the owner
// dies, all its processes die too, and `endRack` removes what is left.

import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import type { Secret } from '../../domain/secret.ts';
import { BRIDGE_ADDRESS, inBandPort, WORK_BRIDGE, WORK_BRIDGE_ADDRESS } from './addresses.ts';
import { BMC_USER } from './bmc-config.ts';
import { type Chassis, runChassisCommand } from './chassis.ts';
import type { RackDefinition, RackedMachine } from './definition.ts';
import { disguiseIpxeRom } from './disguise.ts';
import { endRack } from './end-rack.ts';
import type { FaultRequest } from './faults.ts';
import { inventoryText, rackInventory, siteText } from './inventory-file.ts';
import { type LineSocket, serveLines } from './line-socket.ts';
import { RackNetwork } from './network.ts';
import { identityOf, isAlive } from './process-records.ts';
import { PseudoTerminal } from './pseudo-terminal.ts';
import { RackBmc } from './rack-bmc.ts';
import { handleOrders } from './rack-control.ts';
import { RackFaults } from './rack-faults.ts';
import type { RackClaim, RackFolder } from './rack-folder.ts';
import { bmcView, type RackSlot } from './rack-slot.ts';
import { type RackStatus, slotStatus } from './rack-status.ts';
import { RackTpm } from './rack-tpm.ts';
import { RecordedServer } from './recorded-server.ts';
import { SerialLine } from './serial-line.ts';
import { TpmVendor } from './tpm-vendor.ts';
import { VirtualServer } from './virtual-server.ts';

export interface RackOptions {
  readonly definition: RackDefinition;
  readonly folder: RackFolder;
  readonly kind: RackClaim['kind'];
}

export class Rack {
  readonly network: RackNetwork;
  readonly definition: RackDefinition;
  readonly #folder: RackFolder;
  readonly #faults: RackFaults;
  readonly #tpmVendor: TpmVendor;
  readonly #slots = new Map<string, RackSlot>();
  readonly #sockets: LineSocket[] = [];
  readonly #ended = Promise.withResolvers<void>();
  #stopping: Promise<void> | null = null;

  private constructor({ definition, folder }: RackOptions, network: RackNetwork) {
    this.definition = definition;
    this.network = network;
    this.#folder = folder;
    this.#tpmVendor = new TpmVendor(folder.tpmVendor);
    this.#faults = new RackFaults({ network, records: folder.records, slots: this.#slots });
  }

  /** `conflict` when a rack is already up in this folder. */
  static async start(options: RackOptions): Promise<Rack> {
    const { folder } = options;
    await folder.make();
    await removeStaleRack(folder);
    const rack = new Rack(options, await RackNetwork.start({ address: BRIDGE_ADDRESS }));
    try {
      await rack.#claim(options.kind);
      await rack.#fill(await folder.password());
      await rack.#describe();
    } catch (error) {
      await rack.stop();
      throw error;
    }
    return rack;
  }

  /** Settles when the rack is down, for whatever reason. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** The site file for an appliance in its network. */
  get siteFile(): string {
    return this.#folder.file('coldiron.yaml');
  }

  slot(name: string): RackSlot {
    const slot = this.#slots.get(name);
    if (slot) return slot;
    const names = [...this.#slots.keys()].join(', ');
    throw new ColdironError('not_found', `this rack has no machine ${name}; it has ${names}`);
  }

  status(): RackStatus {
    return {
      up: true,
      namespace: this.network.name,
      site: this.definition.site,
      bmcMode: this.definition.bmcMode,
      siteFile: this.siteFile,
      machines: this.definition.machines.map(({ name }) => slotStatus(this.slot(name))),
      faults: this.#faults.list(),
    };
  }

  fault(request: FaultRequest): Promise<void> {
    return this.#faults.change(request);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #claim(kind: RackClaim['kind']): Promise<void> {
    const owner = await identityOf(process.pid);
    if (owner === null) throw new Error('a process without an entry in /proc');
    const control = this.network.file('control');
    this.#sockets.push(await serveLines(control, handleOrders(this)));
    await this.#folder.writeClaim({ owner, kind, namespace: this.network.name, control });
  }

  async #fill(password: Secret): Promise<void> {
    const { machines } = this.definition;
    if (machines.some(({ cards }) => cards.length > 1)) await this.network.addBridge(WORK_BRIDGE, WORK_BRIDGE_ADDRESS);
    const chassisProgram = await this.#chassisProgram();
    // Waits for all, also when one fails: nothing may still be starting during the cleanup.
    const installed = await Promise.allSettled(
      machines.map((machine) => this.#install(machine, password, chassisProgram)),
    );
    const failed = installed.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async #install(machine: RackedMachine, password: Secret, chassisProgram: string): Promise<RackSlot> {
    const { network } = this;
    const { records } = this.#folder;
    const folder = await this.#folder.machineFolder(machine);
    const terminal =
      this.definition.bmcMode !== 'disabled'
        ? await PseudoTerminal.open(network, records, `${machine.name}-serial`)
        : null;
    const serial = await SerialLine.open(join(folder, 'console.log'), terminal);
    const slot: RackSlot = {
      machine,
      serial,
      ...(this.definition.bmcMode === 'recorder'
        ? { server: new RecordedServer(machine.name, this.#folder.file('recorded.jsonl')), taps: [], tpm: null }
        : await this.#virtualServer(machine, serial, folder)),
      bmc: null,
      bmcIgnoresPower: false,
    };
    this.#slots.set(machine.name, slot);
    if (terminal === null) return slot;
    const chassisCommand = `${chassisProgram} ${machine.name}`;
    const deps = { machine, network, records, password, folder, chassisCommand, serialPort: terminal.device };
    slot.bmc = await RackBmc.start(deps);
    return slot;
  }

  async #virtualServer(machine: RackedMachine, serial: SerialLine, folder: string) {
    const { network } = this;
    const [tap, ...moreTaps] = await this.#cables(machine);
    const { records } = this.#folder;
    const deps = { machine, network, records, folder, vendor: this.#tpmVendor };
    const tpm = machine.tpm ? await RackTpm.install(deps) : null;
    const server = await VirtualServer.rack({
      machine,
      network,
      serial,
      records,
      tpm,
      disk: await this.#folder.disk(machine),
      qemuLog: join(folder, 'qemu.log'),
      place: {
        tap,
        moreTaps,
        variables: await this.#folder.variables(machine),
        control: network.file(`qemu-${machine.number}`),
        ...(machine.inBandBmc && this.definition.bmcMode === 'real'
          ? { inBandBmcPort: inBandPort(machine.number) }
          : {}),
      },
    });
    return { server, tpm, taps: [tap, ...moreTaps] };
  }

  async #cables(machine: RackedMachine): Promise<readonly [string, ...string[]]> {
    const first = await this.network.addTap();
    if (machine.firmware === 'bios-first-stage') await disguiseIpxeRom(this.network, first);
    const rest: string[] = [];
    for (const _ of machine.cards.slice(1)) rest.push(await this.network.addTap(WORK_BRIDGE));
    return [first, ...rest];
  }

  /** The program that OpenIPMI's simulator runs; it forwards the command to us and takes a few milliseconds. */
  async #chassisProgram(): Promise<string> {
    const socket = this.network.file('chassis-socket');
    this.#sockets.push(await serveLines(socket, (line) => this.#answerChassis(line.split(' '))));
    const program = this.network.file('chassis');
    await writeFile(program, chassisScript(socket));
    await chmod(program, 0o700);
    return program;
  }

  async #answerChassis([name = '', ...words]: readonly string[]): Promise<string> {
    try {
      const chassis: Chassis = bmcView(this.slot(name));
      return `done\n${await runChassisCommand(chassis, words)}`;
    } catch (error) {
      return `refused: ${(error as Error).message}\n`;
    }
  }

  async #describe(): Promise<void> {
    const inventory = rackInventory(this.definition, {
      bridge: this.network.bridge,
      passwordFile: this.#folder.passwordFile,
      userName: BMC_USER,
    });
    await writeFile(this.#folder.file('inventory.yaml'), inventoryText(inventory), { mode: 0o600 });
    const site = siteText('..', 'inventory.yaml', this.#folder.passwordFolder);
    await writeFile(this.siteFile, site, { mode: 0o600 });
  }

  async #stop(): Promise<void> {
    await this.#faults.endAll();
    await Promise.all([...this.#slots.values()].map(clear));
    await this.network.stop();
    await rm(this.#folder.file('processes'), { recursive: true, force: true });
    await this.#folder.dropClaim();
    // Not awaited: the request to stop may be one that is still to be answered.
    for (const socket of this.#sockets) void socket.close();
    this.#ended.resolve();
  }
}

/** Removes what a dead owner left behind; the rack of a live owner stays. */
async function removeStaleRack(folder: RackFolder): Promise<void> {
  const claim = await folder.claim();
  if (claim !== null && (await isAlive(claim.owner))) {
    throw new ColdironError(
      'conflict',
      `a rack is up in ${folder.path} already (process ${claim.owner.pid}): run coldiron rack down first`,
    );
  }
  await endRack(folder);
}

async function clear({ server, bmc, serial }: RackSlot): Promise<void> {
  await server.unrack();
  await bmc?.stop();
  await serial.close();
}

const chassisScript = (socket: string): string => `#!/bin/sh
# Called by ipmi_sim with a machine's name and a command for its chassis.
answer=$(printf '%s\\n' "$*" | socat -t 10 - 'UNIX-CONNECT:${socket}') || exit 1
case $answer in
done) ;;
done*) printf '%s\\n' "\${answer#done?}" ;;
*) printf '%s\\n' "$answer" >&2; exit 1 ;;
esac
`;
