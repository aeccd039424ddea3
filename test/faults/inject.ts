// Carries out the steps of an injection on one machine of the rack. What it did is undone in the opposite order.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { HOUR } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { parseObjectName } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { SERVER_ADDRESS, WORK_BRIDGE } from '../../appliance/lab/rack/addresses.ts';
import { WHOLE_NETWORK } from '../../appliance/lab/rack/faults.ts';
import { RackMachine } from '../../appliance/lab/rack/machine.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import { bootSector } from '../lab/rack/marked-disks.ts';
import { TroubledMachine } from '../onboarding/faults-machine.ts';
import type { OnboardingRig, TrailEvent } from '../onboarding/rig.ts';
import { ROOT } from '../process/appliance.ts';
import { leaseOf } from '../store/samples.ts';
import type { Lost, Step } from './fault.ts';
import { POOL_ADDRESSES } from './rack.ts';

/** A stage takes seconds on an idle machine; tests may share it. */
const MOMENT_WITHIN_MS = 600_000;
const EMPTY_VLAN = 'empty0';
/** Where the Debian image has its root file system, and cloud-init its configuration there. */
const IMAGE_ROOT_AT = 18 * 1024 * 1024;
const USER_DATA = '/var/lib/cloud/seed/nocloud/user-data';
const FILLER_STEP = 1024 * 1024;

type StepOf<Do extends Step['do']> = Extract<Step, { do: Do }>;
type Undo = () => Promise<unknown>;

export class Injector {
  readonly #rig: OnboardingRig;
  readonly #node: string;
  readonly #undo: Undo[] = [];
  readonly #machine: TroubledMachine;
  /** Events before the injection do not count. */
  #since = 0;

  constructor(rig: OnboardingRig, node: string) {
    this.#rig = rig;
    this.#node = node;
    this.#machine = new TroubledMachine(rig, node);
  }

  async all(steps: readonly Step[]): Promise<void> {
    this.#since = await this.#machine.newest();
    for (const step of steps) await this.#one(step);
  }

  /** In the opposite order. Goes on when one fails, and reports the first failure. */
  async undoAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let undo = this.#undo.pop(); undo; undo = this.#undo.pop())
      await undo().catch((error) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  async #one(step: Step): Promise<void> {
    switch (step.do) {
      case 'work':
        return this.#work(step);
      case 'be-active':
        return this.#beActive();
      case 'coldiron':
        return this.#coldiron(step);
      case 'rack-fault':
        return this.#rackFault(step);
      case 'lose':
        return this.#lose(step.frames);
      case 'pull-cable':
        return this.#pullCable(step.seconds ?? null);
      case 'break-user-data':
        return this.#breakUserData();
      case 'move-port':
        return this.#movePort(step.into);
      case 'damage':
        return this.#damage(step);
      case 'from-next-power-on':
        return this.#change(step);
      case 'freeze':
        await this.#server.freeze();
        return void this.#undo.push(() => this.#server.thaw());
      case 'limit-disk':
        await this.#server.limitDisk(step.bytesPerSecond);
        return void this.#undo.push(() => this.#server.limitDisk(0));
      case 'press':
        return this.#press(step.button);
      case 'fill-boot-disk':
        return this.#makeDiskBootable();
      case 'start-twin':
        return this.#startTwin();
      case 'take-pool':
        return this.#takePool();
      case 'fill-state-disk':
        return this.#fillStateDisk();
      case 'kill-appliance':
        return this.#rig.killAppliance();
      case 'start-appliance':
        return this.#rig.startAppliance();
      case 'until-on':
        return this.#machine.until(() => this.#server.isOn, 'its BMC was to switch it on');
      case 'until-event':
        return this.#untilEvent(step);
      case 'until-screen':
        return this.#machine.shows(step.text);
    }
  }

  async #work({ verb, profile }: StepOf<'work'>): Promise<void> {
    const options = profile === undefined ? [] : ['--profile', profile];
    await this.#rig.json(verb, this.#node, ...(verb === 'commission' ? [] : ['--yes']), ...options);
  }

  async #beActive(): Promise<void> {
    const { state } = await this.#rig.node(this.#node);
    if (state === 'active' && this.#server.isOn) return;
    await makeReady(this.#rig, this.#node);
    await this.#work({ do: 'work', verb: 'deploy', profile: 'debian-12' });
    await this.#rig.waitForState(this.#node, 'active', MOMENT_WITHIN_MS);
  }

  async #coldiron({ args, stdin = '' }: StepOf<'coldiron'>): Promise<void> {
    const words = args.map((word) => word.replace('$node', this.#node).replace('$state', this.#rig.state));
    const child = execFile(join(ROOT, 'coldiron'), [...words, '--state', this.#rig.state]);
    const errors: string[] = [];
    child.stderr?.on('data', (text: string) => errors.push(text));
    child.stdin?.end(stdin);
    const [status] = await once(child, 'close');
    if (status !== 0) throw new Error(`coldiron ${words.join(' ')} ended with ${status}: ${errors.join('')}`);
    if (words[1] === 'set-credentials') this.#undo.push(() => this.#credentials());
  }

  /** The right ones again, as the next step says. */
  async #credentials(): Promise<void> {
    const login = ['--username', 'admin', '--password-file', this.#rig.bmcPasswordFile];
    await this.#rig.json('bmc', 'set-credentials', this.#node, ...login, '--yes');
  }

  async #rackFault({ kind, value, everywhere }: StepOf<'rack-fault'>): Promise<void> {
    const fault = { target: everywhere ? WHOLE_NETWORK : this.#node, kind };
    await this.#rig.rack.fault({ ...fault, on: true, ...(value !== undefined && { value }) });
    this.#undo.push(() => this.#rig.rack.fault({ ...fault, on: false }));
  }

  async #lose(frames: Lost): Promise<void> {
    const tap = this.#tap;
    const table = `fault_${tap}_${this.#undo.length}`;
    const [hook, rule] = ruleOf(tap, frames);
    const chain = `chain c { type filter hook ${hook} priority 10; policy accept; ${rule} drop; }`;
    await this.#rig.rack.network.run('nft', `table bridge ${table} { ${chain}; }`);
    this.#undo.push(() => this.#rig.rack.network.run('nft', 'delete', 'table', 'bridge', table));
  }

  async #pullCable(seconds: number | null): Promise<void> {
    await this.#link('down');
    if (seconds === null) return void this.#undo.push(() => this.#link('up'));
    const plugged = pause(seconds * 1000).then(() => this.#link('up'));
    plugged.catch(() => undefined);
    this.#undo.push(() => plugged);
  }

  /** The machine is off meanwhile. */
  async #breakUserData(): Promise<void> {
    await this.#server.powerOff();
    const broken = join(this.#rig.state, 'broken-user-data');
    await writeFile(broken, '#cloud-config\nusers: [ { name: "never closed\n');
    const disk = `${this.#rig.disk(this.#node)}?offset=${IMAGE_ROOT_AT}`;
    for (const request of [`rm ${USER_DATA}`, `write ${broken} ${USER_DATA}`]) {
      await promisify(execFile)('debugfs', ['-w', '-R', request, disk]);
    }
    await this.#server.powerOn();
  }

  async #link(state: 'up' | 'down'): Promise<void> {
    await this.#rig.rack.network.run('ip', 'link', 'set', this.#tap, state);
  }

  async #movePort(into: 'empty' | 'work'): Promise<void> {
    const { network } = this.#rig.rack;
    const bridge = into === 'work' ? WORK_BRIDGE : EMPTY_VLAN;
    if (into === 'empty') {
      await network.run('ip', 'link', 'add', EMPTY_VLAN, 'type', 'bridge', 'stp_state', '0', 'forward_delay', '0');
      await network.run('ip', 'link', 'set', EMPTY_VLAN, 'up');
      this.#undo.push(() => network.run('ip', 'link', 'del', EMPTY_VLAN));
    }
    await network.run('ip', 'link', 'set', this.#tap, 'master', bridge);
    this.#undo.push(() => network.run('ip', 'link', 'set', this.#tap, 'master', network.bridge));
  }

  /** The file is replaced, not written: it may share its bytes with the cache that it was copied from. */
  async #damage({ file, how }: StepOf<'damage'>): Promise<void> {
    const path = join(this.#rig.state, 'assets', file);
    const kept = join(this.#rig.state, 'kept', basename(file));
    const whole = await readFile(path);
    await mkdir(dirname(kept), { recursive: true });
    await rename(path, kept);
    this.#undo.push(() => rename(kept, path));
    if (how === 'removed') return;
    await writeFile(`${kept}.damaged`, damaged(whole, how));
    await rename(`${kept}.damaged`, path);
  }

  async #change({ memory, bootCard, clock }: StepOf<'from-next-power-on'>): Promise<void> {
    const { faults } = this.#server;
    await this.#server.powerOff();
    Object.assign(faults, { memory: memory ?? null, bootCard: bootCard ?? null, clock: clock ?? null });
    this.#undo.push(async () => Object.assign(faults, { memory: null, bootCard: null, clock: null }));
  }

  async #press(button: 'on' | 'off' | 'reset'): Promise<void> {
    if (button === 'on') await this.#server.powerOn();
    else if (button === 'off') await this.#server.powerOff();
    else await this.#server.reset();
  }

  /** Only its first sector is written. */
  async #makeDiskBootable(): Promise<void> {
    const write = async (sector: Buffer): Promise<void> => {
      await using disk = await open(this.#rig.disk(this.#node), 'r+');
      await disk.write(sector, 0, sector.length, 0);
    };
    await write(bootSector('this disk has started'));
    this.#undo.push(() => write(Buffer.alloc(512)));
  }

  async #startTwin(): Promise<void> {
    const { machine } = this.#rig.rack.slot(this.#node);
    const uuid = 'deadbeef-0000-4000-8000-000000000001';
    const spec = { firmware: 'bios-ipxe-rom', mac: machine.cards[0], uuid, serial: 'TWIN0001' } as const;
    await this.#server.powerOff();
    const twin = await RackMachine.powerOn(this.#rig.rack.network, spec);
    this.#undo.push(() => twin.powerOff());
    await this.#untilEvent({ do: 'until-event', kind: 'lifecycle.quarantined' });
  }

  async #takePool(): Promise<void> {
    const now = Date.now();
    const leases = POOL_ADDRESSES.map((address, index) =>
      leaseOf(90 + index, {
        address: mustParse(parseIpv4(address)),
        network: mustParse(parseObjectName('boot')),
        grantedAt: now,
        expiresAt: now + HOUR,
      }),
    );
    await this.#leases(leases);
    this.#undo.push(() =>
      this.#leases(leases.map((lease) => ({ ...lease, grantedAt: now - HOUR, expiresAt: now - 1 }))),
    );
  }

  /** The appliance is down meanwhile. */
  async #leases(leases: readonly ReturnType<typeof leaseOf>[]): Promise<void> {
    await this.#rig.killAppliance();
    const store = await openSqliteStore({ file: join(this.#rig.state, 'coldiron.db') });
    try {
      await store.commitLeases(leases);
    } finally {
      await store.close();
    }
    await this.#rig.startAppliance();
  }

  /** Until not even one more byte fits. */
  async #fillStateDisk(): Promise<void> {
    const filler = join(this.#rig.state, 'filler');
    await using file = await open(filler, 'w');
    this.#undo.push(() => rm(filler, { force: true }));
    for (let piece = Buffer.alloc(FILLER_STEP); piece.length > 0; ) {
      const full = await file.write(piece).then(
        ({ bytesWritten }) => bytesWritten < piece.length,
        () => true,
      );
      if (full) piece = piece.subarray(0, Math.floor(piece.length / 2));
    }
  }

  async #untilEvent({ kind, with: data = {} }: StepOf<'until-event'>): Promise<void> {
    const matches = (event: TrailEvent): boolean =>
      event.kind === kind && Object.entries(data).every(([key, text]) => text.test(String(event.data[key] ?? '')));
    await this.#rig.waitForEvent(this.#node, matches, MOMENT_WITHIN_MS, this.#since);
  }

  get #server() {
    return this.#rig.server(this.#node);
  }

  get #tap(): string {
    const [tap] = this.#rig.rack.slot(this.#node).taps;
    if (tap === undefined) throw new Error(`${this.#node} has no cable`);
    return tap;
  }
}

/** Deployments and erasures begin with a commissioned machine; what failed may be repeated. */
export async function makeReady(rig: OnboardingRig, node: string): Promise<void> {
  const { state, failure } = await rig.node(node);
  if (state === 'ready' || (failure !== null && failure.step !== 'commission')) return;
  await rig.json(state === 'active' ? 'release' : 'commission', node, '--yes');
  await rig.waitForState(node, 'ready', MOMENT_WITHIN_MS);
}

function damaged(whole: Buffer, how: 'garbage' | 'garbage-inside' | 'truncated'): Buffer {
  if (how === 'truncated') return whole.subarray(0, Math.floor(whole.length / 2));
  if (how === 'garbage') return randomBytes(whole.length);
  const middle = Math.floor(whole.length / 2);
  return Buffer.concat([whole.subarray(0, middle), randomBytes(65_536), whole.subarray(middle + 65_536)]);
}

/** After the rules that disguise a ROM. */
function ruleOf(tap: string, frames: Lost): readonly [hook: string, rule: string] {
  if ('longerThan' in frames) return ['postrouting', `oifname "${tap}" meta length > ${frames.longerThan}`];
  if ('to' in frames) return ['prerouting', `iifname "${tap}" ${frames.to} dport ${frames.ports}`];
  const sender = frames.ours ? `ip saddr ${SERVER_ADDRESS} ` : '';
  return ['postrouting', `oifname "${tap}" ${sender}${frames.from} sport ${frames.ports}`];
}
