// A rack of emulated machines, BMCs that speak IPMI, and a real appliance process: shared by the tests and
// the benchmark of the way from cold to active. Needs root.

import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { CLOUD_IMAGE_PACKAGES } from '../../appliance/assets/cloud-image/build.ts';
import { type Connection, connect } from '../../appliance/cli/connection.ts';
import { operate } from '../../appliance/cli/operate.ts';
import type { Answer } from '../../appliance/contract/wire.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import type { Json } from '../../appliance/domain/event.ts';
import type { LifecycleState } from '../../appliance/domain/lifecycle.ts';
import { type DemoSite, demoRack } from '../../appliance/lab/demo/demo-site.ts';
import { gatherBootFiles } from '../../appliance/lab/demo/prepare.ts';
import { ServedRack } from '../../appliance/lab/demo/served-rack.ts';
import { BMC_USER } from '../../appliance/lab/rack/bmc-config.ts';
import type { RackedMachine } from '../../appliance/lab/rack/definition.ts';
import type { FirmwareKind } from '../../appliance/lab/rack/firmware.ts';
import { sweepLeftovers } from '../../appliance/lab/rack/leftovers.ts';
import { FULL_RACK_PACKAGES } from '../../appliance/lab/rack/packages.ts';
import type { Rack } from '../../appliance/lab/rack/rack.ts';
import { VirtualServer } from '../../appliance/lab/rack/virtual-server.ts';
import { storyLines } from '../../appliance/trail/story.ts';
import { needPackages } from '../interop/packages.ts';
import { fairClock } from '../lab/rack/fair-clock.ts';
import { ROOT, type Run } from '../process/appliance.ts';

export interface RigOptions {
  /** One machine for each, in this order: node01, node02, … */
  readonly firmwares: readonly FirmwareKind[];
  /** Changes these machines. */
  readonly machines?: (machine: RackedMachine) => RackedMachine;
  /** Inventory files to use instead of the rack's own. */
  readonly inventory?: (written: string) => Promise<readonly string[]>;
  /** Where its state folder is made; by default among the temporary files. */
  readonly folder?: string;
  /** Adds another image than Debian's to the boot files, and returns it. */
  readonly image?: (assets: string) => Promise<Pick<DemoSite, 'imageSha256' | 'imageName'>>;
}

/** One event of a machine's trail, as in the API. */
export interface TrailEvent {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly actor: string;
  readonly correlation_id: string | null;
  readonly data: { readonly [key: string]: Json };
}

const COLDIRON = join(ROOT, 'coldiron');
const LOOK_EVERY_MS = 500;
const CONSOLE_LINES = 40;
const TRAIL_EVENTS = 60;
const PAGE = 1000;

export class OnboardingRig {
  readonly #served: ServedRack;
  readonly #state: string;

  private constructor(served: ServedRack, state: string) {
    this.#served = served;
    this.#state = state;
  }

  /** All machines are off. The caller stops it, also when a test fails. */
  static async start(options: RigOptions): Promise<OnboardingRig> {
    // With ipxe installed, its loaders need no download.
    needPackages([...FULL_RACK_PACKAGES, ...CLOUD_IMAGE_PACKAGES, 'ipmitool', 'ipxe']);
    await sweepLeftovers();
    const { firmwares, machines = (machine) => machine, inventory, image, folder = tmpdir() } = options;
    const state = await mkdtemp(join(folder, 'coldiron-onboarding-'));
    try {
      const imageSha256 = await gatherBootFiles(state, () => {});
      const rack = demoRack(firmwares);
      const served = await ServedRack.start({
        definition: { ...rack, machines: rack.machines.map(machines) },
        state,
        image: image ? await image(join(state, 'assets')) : { imageSha256 },
        ...(inventory && { inventory }),
      });
      return new OnboardingRig(served, state);
    } catch (error) {
      await rm(state, { recursive: true, force: true });
      if (!(error instanceof ColdironError)) throw error;
      throw new Error([error.message, ...error.details].join('\n'));
    }
  }

  async stop(): Promise<void> {
    await this.#served.stop();
    await rm(this.#state, { recursive: true, force: true });
  }

  get rack(): Rack {
    return this.#served.rack;
  }

  /** The appliance's folder: boot files in `assets`, the rack in `rack`, and files of a test. */
  get state(): string {
    return this.#state;
  }

  /** The file with the password of the BMCs. */
  get bmcPasswordFile(): string {
    return this.#served.folder.passwordFile;
  }

  get applianceLog(): string {
    return this.#served.logFile;
  }

  /** Kills the appliance, like a power failure. */
  killAppliance(): Promise<void> {
    return this.#served.stopAppliance('SIGKILL');
  }

  startAppliance(): Promise<void> {
    return this.#served.startAppliance();
  }

  api(): Promise<Connection> {
    return connect({ state: this.#state });
  }

  /** `coldiron …` as a user types it. Asynchronous, because this process also runs the machines. */
  run(...args: readonly string[]): Promise<Run> {
    return new Promise((resolve, reject) => {
      const options = { maxBuffer: 64 * 1024 * 1024 };
      const child = execFile(COLDIRON, [...args, '--state', this.#state], options, (error, stdout, stderr) => {
        if (error !== null && typeof error.code !== 'number') return reject(error);
        resolve({ status: child.exitCode, stdout, stderr });
      });
      child.stdin?.end();
    });
  }

  /** `coldiron … --json`; must succeed. */
  async json<T>(...args: readonly string[]): Promise<T> {
    const { status, stdout, stderr } = await this.run(...args, '--json');
    if (status === 0) return JSON.parse(stdout);
    const [, ...words] = args;
    const stories = await Promise.all(
      this.#names.filter((name) => words.includes(name)).map((name) => this.story(name)),
    );
    throw new Error([`coldiron ${args.join(' ')}: ${stderr || stdout}`, ...stories].join('\n'));
  }

  async node(name: string): Promise<Answer<'getNode'>> {
    return operate(await this.api(), 'getNode', { params: { node: name } });
  }

  /** The whole trail of a node, oldest first; `kind` with all kinds below it. */
  async trail(name: string, kind?: string): Promise<readonly TrailEvent[]> {
    const api = await this.api();
    const all: TrailEvent[] = [];
    for (let after = 0; ; ) {
      const query = { node: name, after: String(after), limit: String(PAGE), ...(kind !== undefined && { kind }) };
      const { events } = await operate(api, 'listEvents', { query });
      all.push(...(events as TrailEvent[]));
      if (events.length < PAGE) return all;
      after = events.at(-1)?.seq ?? 0;
    }
  }

  /** Rejects at once when the node fails on the way, or on timeout, with its history. */
  async waitForState(name: string, state: LifecycleState, milliseconds: number): Promise<Answer<'getNode'>> {
    const now = this.#clockOf(name);
    const deadline = now() + milliseconds;
    for (;;) {
      const node = await this.node(name);
      if (node.state === state) return node;
      if (node.state === 'failed')
        throw new Error(await this.story(name, `${name} was to become ${state}, and failed`));
      if (now() > deadline) {
        throw new Error(await this.story(name, `${name} is ${node.state}, not ${state}, after ${milliseconds} ms`));
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  /** Limits count the time of the machine. */
  #clockOf(name: string): () => number {
    return fairClock(() => this.server(name).pid);
  }

  /** Waits for an event, recorded already or later. */
  async waitForEvent(
    name: string,
    matches: (event: TrailEvent) => boolean,
    milliseconds: number,
    after = 0,
  ): Promise<TrailEvent> {
    const now = this.#clockOf(name);
    const deadline = now() + milliseconds;
    for (;;) {
      const found = (await this.trail(name)).find((event) => event.seq > after && matches(event));
      if (found) return found;
      if (now() > deadline) throw new Error(await this.story(name, `no such event: ${matches}`));
      await pause(LOOK_EVERY_MS);
    }
  }

  /** The events of a node, and the end of its console, to explain a failed test. */
  async story(name: string, what = `what happened to ${name}:`): Promise<string> {
    const events = await this.trail(name).catch(() => []);
    return [
      what,
      ...storyLines(events.slice(-TRAIL_EVENTS).map((event) => ({ ...event, attempt: event.correlation_id }))),
      `--- the last of the console of ${name}`,
      ...this.#lastLines(name),
    ].join('\n');
  }

  /** The machine's output since it was last switched on. */
  console(name: string): string {
    return this.rack.slot(name).serial.console.text;
  }

  /** All of its output. */
  consoleFile(name: string): string {
    return this.rack.slot(name).serial.file;
  }

  /** The machine itself, for its buttons and cables. */
  server(name: string): VirtualServer {
    const { server } = this.rack.slot(name);
    if (!(server instanceof VirtualServer)) throw new Error('not a machine that runs');
    return server;
  }

  disk(name: string): string {
    return join(this.#state, 'rack/machines', name, 'disk.img');
  }

  /** Queries the machine's BMC with ipmitool. */
  ipmitool(name: string, ...args: readonly string[]): Promise<string> {
    const address = this.rack.slot(name).bmc?.address ?? '';
    const login = ['-H', address, '-U', BMC_USER, '-f', this.#served.folder.passwordFile];
    return this.rack.network.run('ipmitool', '-I', 'lanplus', '-C', '3', ...login, ...args);
  }

  get #names(): readonly string[] {
    return this.rack.definition.machines.map(({ name }) => name);
  }

  #lastLines(name: string): readonly string[] {
    if (!this.#names.includes(name)) return [];
    return this.rack.slot(name).serial.console.lastLines(CONSOLE_LINES);
  }
}
