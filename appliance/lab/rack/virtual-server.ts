// One server of the rack with everything that survives a power-off: its disk, its firmware's variables, its cables and its
// console. QEMU runs while it is on.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import type { BootFlag, Chassis } from './chassis.ts';
import type { RackedMachine } from './definition.ts';
import {
  BOOT_CARD,
  type BootOrder,
  bootIndexOf,
  DISK,
  type MachineDisk,
  type MachinePlace,
  qemuCommand,
  type TpmBackend,
} from './firmware.ts';
import type { RackNetwork } from './network.ts';
import type { ProcessRecords } from './process-records.ts';
import { listenForQemu, Qmp } from './qmp.ts';
import type { PoweredTpm, RackTpm } from './rack-tpm.ts';
import type { SerialLine } from './serial-line.ts';

export interface VirtualServerDeps {
  readonly machine: RackedMachine;
  readonly network: RackNetwork;
  readonly records: ProcessRecords;
  readonly serial: SerialLine;
  readonly place: MachinePlace & { readonly control: string };
  readonly disk: string | null;
  readonly tpm: RackTpm | null;
  /** File for QEMU's error output. */
  readonly qemuLog: string;
}

/** Injected faults. Disk faults take effect at the next power-on. */
export interface ServerFaults {
  ignoresBootFlag: boolean;
  diskReadOnly: boolean;
  diskShownBytes: number | null;
  /** From the next power-on; null: QEMU's own. */
  firmwareVersion: string | null;
  /** In MiB, from the next power-on; null: its own. */
  memory: number | null;
  /** The MAC address of another boot card, from the next power-on; null: its own card. */
  bootCard: string | null;
  /** What its clock shows at the next power-on, such as `2020-01-01`; null: the time. */
  clock: string | null;
  /** Runs before each power-on, when the cables are already plugged in. */
  beforePowerOn: (() => Promise<void>) | null;
}

/** The first file descriptor after the standard ones. */
const TPM_FD = 3;

/** The firmware has read its boot order this long after a reset. */
const SETTLED_AFTER_MS = 3000;

export class VirtualServer implements Chassis {
  readonly faults: ServerFaults = {
    ignoresBootFlag: false,
    diskReadOnly: false,
    diskShownBytes: null,
    firmwareVersion: null,
    memory: null,
    bootCard: null,
    clock: null,
    beforePowerOn: null,
  };
  readonly #deps: VirtualServerDeps;
  #process: ChildProcess | null = null;
  #control: PromiseWithResolvers<Qmp> | null = null;
  #calls: Server | null = null;
  #flag: BootFlag = 'none';
  /** The boot index that QEMU has for the boot card. */
  #bootIndex = 0;
  #settling: NodeJS.Timeout | undefined;
  #lightUntil = 0;
  #queue: Promise<unknown> = Promise.resolve();

  private constructor(deps: VirtualServerDeps) {
    this.#deps = deps;
  }

  static async rack(deps: VirtualServerDeps): Promise<VirtualServer> {
    const server = new VirtualServer(deps);
    server.#calls = await listenForQemu(deps.place.control, (socket) => {
      const control = server.#control;
      Qmp.begin(socket, (event) => server.#onEvent(event)).then(
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
    // Commands that are still queued end at once.
    this.#process?.kill('SIGKILL');
    return this.#inTurn(() => this.#end());
  }

  reset(): Promise<void> {
    return this.#inTurn(() => this.#command('system_reset'));
  }

  softOff(): Promise<void> {
    return this.#inTurn(() => this.#command('system_powerdown'));
  }

  /** Its processor stands still; the power stays on. */
  freeze(): Promise<void> {
    return this.#inTurn(() => this.#command('stop'));
  }

  thaw(): Promise<void> {
    return this.#inTurn(() => this.#command('cont'));
  }

  /** In bytes per second; 0: as fast as it is. */
  limitDisk(rate: number): Promise<void> {
    const none = { bps: 0, bps_rd: 0, iops: 0, iops_rd: 0, iops_wr: 0 };
    return this.#inTurn(() => this.#command('block_set_io_throttle', { device: DISK, ...none, bps_wr: rate }));
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

  /** Serializes commands: a machine cannot go off while it is starting. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => undefined);
    return done;
  }

  async #start(): Promise<void> {
    if (this.isOn) return;
    const { network, records, serial, machine, qemuLog, tpm } = this.#deps;
    await this.faults.beforePowerOn?.();
    const poweredTpm = (await tpm?.powerOn()) ?? null;
    const place = { ...this.#deps.place, ...(poweredTpm === null ? {} : { tpm: backendOf(poweredTpm) }) };
    const first = this.#nextOrder();
    const [command, ...args] = network.command(...qemuCommand({ ...this.#spec(), first }, place));
    await using log = await open(qemuLog, 'a', 0o600);
    const control = Promise.withResolvers<Qmp>();
    // There may be no waiter when the machine goes off.
    control.promise.catch(() => undefined);
    const more = poweredTpm?.kind === 'stream' ? (['pipe'] as const) : [];
    const started = spawn(command, args, { stdio: ['pipe', 'pipe', log.fd, ...more] });
    const { stdin, stdout } = started;
    if (poweredTpm?.kind === 'stream') poweredTpm.serve(started.stdio[TPM_FD] as Duplex);
    if (stdin === null || stdout === null) throw new Error('the child process has no pipes');
    this.#control = control;
    const disconnect = serial.connect(stdout, stdin);
    started.once('exit', () => {
      this.#process = null;
      this.#control = null;
      this.#consumeFlag();
      control.reject(new Error('the machine went off'));
      tpm?.powerOff().catch(() => undefined);
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
    await this.#deps.tpm?.powerOff();
    await this.#deps.records.remove(this.#deps.machine.name);
  }

  async #command(command: string, args: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const qmp = await this.#control?.promise;
    await qmp?.execute(command, args);
  }

  /** A boot flag is valid for one start; SeaBIOS resets the machine once more by itself before it reads the boot order. */
  #onEvent(event: string): void {
    if (event !== 'RESET') return;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#consumeFlag();
      void this.#inTurn(() => this.#arrangeNextBoot()).catch(() => undefined);
    }, SETTLED_AFTER_MS);
  }

  /** For a reset that has not settled yet; keeps a flag that was set after it. */
  #consumeFlag(): void {
    if (this.#settling !== undefined) this.#flag = 'none';
    this.#forgetReset();
  }

  #forgetReset(): void {
    clearTimeout(this.#settling);
    this.#settling = undefined;
  }

  /** QEMU passes the boot order to the firmware again at each reset. */
  async #arrangeNextBoot(): Promise<void> {
    const value = bootIndexOf(this.#nextOrder());
    if (!this.isOn || value === this.#bootIndex) return;
    await this.#command('qom-set', { path: `/machine/peripheral/${BOOT_CARD}`, property: 'bootindex', value });
    this.#bootIndex = value;
  }

  #nextOrder(): BootOrder {
    if (this.faults.ignoresBootFlag) return this.#deps.machine.first;
    if (this.#flag === 'pxe') return 'network';
    return this.#flag === 'default' ? 'disk' : this.#deps.machine.first;
  }

  #spec(): Parameters<typeof qemuCommand>[0] {
    const { firmware, cards, uuid, serial } = this.#deps.machine;
    const [ownCard, ...moreCards] = cards;
    const disk = this.#disk();
    const { firmwareVersion, bootCard, clock } = this.faults;
    const memory = this.faults.memory ?? this.#deps.machine.memory;
    return {
      ...{ firmware, mac: bootCard ?? ownCard, moreCards, uuid, serial },
      ...(clock === null ? {} : { clock }),
      ...(firmwareVersion === null ? {} : { firmwareVersion }),
      ...(memory === null ? {} : { memory }),
      ...(disk === null ? {} : { disk }),
    };
  }

  #disk(): MachineDisk | null {
    const { disk: file } = this.#deps;
    if (file === null) return null;
    const { diskReadOnly: readOnly, diskShownBytes } = this.faults;
    return { kind: 'image', file, readOnly, ...(diskShownBytes === null ? {} : { shownBytes: diskShownBytes }) };
  }
}

const backendOf = (tpm: PoweredTpm): TpmBackend =>
  tpm.kind === 'process' ? { kind: 'emulator', socket: tpm.socket } : { kind: 'inherited', fd: TPM_FD };
