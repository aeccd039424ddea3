// One server of the rack with all that outlives a power-off: its disk, its firmware's settings, its cables and its console.
// QEMU runs while it is on.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { Server } from 'node:net';
import type { BootFlag, Chassis } from './chassis.ts';
import type { RackedMachine } from './definition.ts';
import {
  BOOT_CARD,
  type BootOrder,
  bootIndexOf,
  type MachineDisk,
  type MachinePlace,
  qemuCommand,
} from './firmware.ts';
import type { RackNetwork } from './network.ts';
import type { ProcessRecords } from './process-records.ts';
import { listenForQemu, Qmp } from './qmp.ts';
import type { SerialLine } from './serial-line.ts';

export interface VirtualServerDeps {
  readonly machine: RackedMachine;
  readonly network: RackNetwork;
  readonly records: ProcessRecords;
  readonly serial: SerialLine;
  readonly place: MachinePlace & { readonly control: string };
  readonly disk: string | null;
  /** QEMU's own complaints. */
  readonly complaints: string;
}

/** What is wrong with it on purpose. Disk faults are seen from the next power-on. */
export interface ServerFaults {
  ignoresBootFlag: boolean;
  diskReadOnly: boolean;
  diskShownBytes: number | null;
  /** Done before it is switched on; its cables are in by then. */
  beforePowerOn: (() => Promise<void>) | null;
}

/** After a reset the firmware has read its boot order by then. */
const SETTLED_AFTER_MS = 3000;

export class VirtualServer implements Chassis {
  readonly faults: ServerFaults = {
    ignoresBootFlag: false,
    diskReadOnly: false,
    diskShownBytes: null,
    beforePowerOn: null,
  };
  readonly #parts: VirtualServerDeps;
  #process: ChildProcess | null = null;
  #control: PromiseWithResolvers<Qmp> | null = null;
  #calls: Server | null = null;
  #flag: BootFlag = 'none';
  /** What QEMU has for the card that it boots from. */
  #bootIndex = 0;
  #settling: NodeJS.Timeout | undefined;
  #lightUntil = 0;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(parts: VirtualServerDeps) {
    this.#parts = parts;
  }

  static async rack(parts: VirtualServerDeps): Promise<VirtualServer> {
    const server = new VirtualServer(parts);
    server.#calls = await listenForQemu(parts.place.control, (socket) => {
      const control = server.#control;
      Qmp.begin(socket, (event) => server.#heard(event)).then(
        (qmp) => control?.resolve(qmp),
        (error: Error) => control?.reject(error),
      );
    });
    return server;
  }

  get isOn(): boolean {
    return this.#process !== null;
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  get bootFlag(): BootFlag {
    return this.#flag;
  }

  get lightIsOn(): boolean {
    return performance.now() < this.#lightUntil;
  }

  identify(seconds: number): void {
    this.#lightUntil = performance.now() + seconds * 1000;
  }

  powerOn(): Promise<void> {
    return this.#inTurn(() => this.#start());
  }

  powerOff(): Promise<void> {
    // Whatever waits for its turn waits no longer.
    this.#process?.kill('SIGKILL');
    return this.#inTurn(() => this.#end());
  }

  reset(): Promise<void> {
    return this.#inTurn(() => this.#order('system_reset'));
  }

  softOff(): Promise<void> {
    return this.#inTurn(() => this.#order('system_powerdown'));
  }

  setBootFlag(flag: BootFlag): Promise<void> {
    this.#forgetReset();
    this.#flag = flag;
    return this.#inTurn(() => this.#arrangeNextBoot());
  }

  async unrack(): Promise<void> {
    await this.powerOff();
    this.#calls?.close();
  }

  /** Orders are carried out one after the other: a machine cannot go off while it goes on. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #start(): Promise<void> {
    if (this.isOn) return;
    const { network, records, serial, machine, place, complaints } = this.#parts;
    await this.faults.beforePowerOn?.();
    const first = this.#nextOrder();
    const [command, ...args] = network.command(...qemuCommand({ ...this.#spec(), first }, place));
    await using log = await open(complaints, 'a', 0o600);
    const control = Promise.withResolvers<Qmp>();
    // Nobody may be waiting for it when the machine goes off.
    control.promise.catch(() => undefined);
    const started = spawn(command, args, { stdio: ['pipe', 'pipe', log.fd] });
    const { stdin, stdout } = started;
    if (stdin === null || stdout === null) throw new Error('a child process without the pipes that it was given');
    this.#control = control;
    const disconnect = serial.connect(stdout, stdin);
    started.once('exit', () => {
      this.#process = null;
      this.#control = null;
      this.#useUpFlag();
      control.reject(new Error('the machine went off'));
    });
    started.once('close', (code, by) => disconnect(`the machine went off (${by ?? `QEMU ended with ${code}`})`));
    await once(started, 'spawn');
    this.#process = started;
    this.#flag = 'none';
    this.#bootIndex = bootIndexOf(first);
    if (started.pid !== undefined) await records.write(machine.name, started.pid);
    void control.promise.then(() => this.#arrangeNextBoot()).catch(() => undefined);
  }

  async #end(): Promise<void> {
    const dying = this.#process;
    if (dying !== null) {
      const exited = once(dying, 'exit');
      dying.kill('SIGKILL');
      await exited;
    }
    await this.#parts.records.remove(this.#parts.machine.name);
  }

  async #order(command: string, args: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const qmp = await this.#control?.promise;
    await qmp?.execute(command, args);
  }

  /** A flag is good for one start; SeaBIOS resets the machine once more by itself before it looks at the order. */
  #heard(event: string): void {
    if (event !== 'RESET') return;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#useUpFlag();
      void this.#inTurn(() => this.#arrangeNextBoot()).catch(() => undefined);
    }, SETTLED_AFTER_MS);
  }

  /** Of a reset that has not settled yet; a flag that was set since then stays. */
  #useUpFlag(): void {
    if (this.#settling !== undefined) this.#flag = 'none';
    this.#forgetReset();
  }

  #forgetReset(): void {
    clearTimeout(this.#settling);
    this.#settling = undefined;
  }

  /** QEMU tells the order to the firmware anew at each reset. */
  async #arrangeNextBoot(): Promise<void> {
    const value = bootIndexOf(this.#nextOrder());
    if (!this.isOn || value === this.#bootIndex) return;
    await this.#order('qom-set', { path: `/machine/peripheral/${BOOT_CARD}`, property: 'bootindex', value });
    this.#bootIndex = value;
  }

  #nextOrder(): BootOrder {
    if (this.faults.ignoresBootFlag) return this.#parts.machine.first;
    if (this.#flag === 'pxe') return 'network';
    return this.#flag === 'default' ? 'disk' : this.#parts.machine.first;
  }

  #spec(): Parameters<typeof qemuCommand>[0] {
    const { firmware, cards, uuid, serial, memory } = this.#parts.machine;
    const [mac, ...moreCards] = cards;
    const disk = this.#disk();
    return {
      ...{ firmware, mac, moreCards, uuid, serial },
      ...(memory === null ? {} : { memory }),
      ...(disk === null ? {} : { disk }),
    };
  }

  #disk(): MachineDisk | null {
    const { disk: file } = this.#parts;
    if (file === null) return null;
    const { diskReadOnly: readOnly, diskShownBytes } = this.faults;
    return { kind: 'image', file, readOnly, ...(diskShownBytes === null ? {} : { shownBytes: diskShownBytes }) };
  }
}
