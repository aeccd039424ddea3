// Machines as the network sees them, in a separate process on their side of the cables: each sends packets
// recorded from real firmware and real iPXE, fetches with curl exactly what the replies name, and continues as its
// loader would.
//
//   boot-chain-walk.ts FOLDER     walks the machines of FOLDER/walks.json; prints one line of JSON for each

import { execFile } from 'node:child_process';
import { createHash, randomInt } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DhcpMessage } from '../../appliance/codecs/dhcp4/message.ts';
import { readIpv4, writeIpv4 } from '../../appliance/codecs/dhcp4/option-values.ts';
import { OPTION } from '../../appliance/codecs/dhcp4/options.ts';
import { grubCommands } from '../boot/replies/grub-shell-model.ts';
import { ipxeCommands } from '../boot/replies/ipxe-shell-model.ts';
import {
  type Answer,
  answerIn,
  asSentBy,
  type Client,
  type Machine,
  recorded,
  Wire,
  withArchitecture,
} from './boot-chain-packets.ts';

export const WALK = import.meta.filename;

export interface Walk {
  readonly machine: Machine;
  /** Sends requests as firmware of this architecture (option 93), and fetches its first file only. */
  readonly architecture?: { readonly code: number; readonly http: boolean };
  /** Sends a request after it on the same wire. Replies keep their order: once this one has its reply, the other gets none. */
  readonly witness?: Machine;
  /** Requests its own script once more at the end. */
  readonly again?: boolean;
}

export interface Fetched {
  /** Fetched by the firmware or shim; by the loader; by a script. */
  readonly as: 'loader' | 'script' | 'target';
  readonly url: string;
  /** `fetched`, an HTTP status, or the exit code of curl. */
  readonly status: string;
  readonly sha256: string;
  /** As file(1) describes it. */
  readonly is: string;
}

export interface Walked {
  readonly name: string;
  /** Why it stopped. */
  readonly problem: string | null;
  /** The offer to its firmware; null: no reply. */
  readonly offer: Answer | null;
  readonly ack: Answer | null;
  /** The offer to iPXE. */
  readonly ipxeAck: Answer | null;
  /** The script that is the same for every machine. */
  readonly entry: string | null;
  /** Its own script. */
  readonly script: string | null;
  /** The same, requested once more. */
  readonly again: string | null;
  readonly fetched: readonly Fetched[];
}

/** The values of iPXE's settings in Debian's builds. */
const IPXE_BUILDS: Partial<Record<Client, { readonly buildarch: string; readonly platform: string }>> = {
  bios: { buildarch: 'i386', platform: 'pcbios' },
  uefi: { buildarch: 'x86_64', platform: 'efi' },
  'uefi-http': { buildarch: 'x86_64', platform: 'efi' },
};
/** Compiled into shim: the name of the loader, which is in the same folder. */
const STARTED_BY_SHIM: Partial<Record<Client, string>> = { arm64: 'grubaa64.efi', 'secure-boot': 'grubx64.efi' };

const run = promisify(execFile);

/** A machine from its address to the next file. */
class Walker {
  readonly #machine: Machine;
  readonly #wire: Wire;
  /** Folder for fetched files. */
  readonly #shelf: string;
  readonly #fetches: (Pick<Fetched, 'as' | 'url' | 'status'> & { readonly file: string })[] = [];
  #address: string | null = null;

  constructor(machine: Machine, wire: Wire, folder: string) {
    this.#machine = machine;
    this.#wire = wire;
    this.#shelf = join(folder, machine.name);
  }

  async discover(discover: DhcpMessage, until?: Promise<unknown>): Promise<DhcpMessage | null> {
    return await this.#wire.ask({ ...asSentBy(this.#machine, discover), xid: randomInt(1, 2 ** 32) }, until);
  }

  /** Accepts an offer. The machine uses the address from then on. */
  async take(offer: DhcpMessage | null, request: DhcpMessage): Promise<Answer> {
    const server = readIpv4(offer?.options.get(OPTION.serverIdentifier) ?? new Uint8Array());
    if (offer === null || !server.ok) throw new Error('it is offered nothing');
    const chosen = asSentBy(this.#machine, request);
    const options = new Map(chosen.options)
      .set(OPTION.requestedAddress, writeIpv4(offer.yiaddr))
      .set(OPTION.serverIdentifier, writeIpv4(server.value));
    const ack = await this.#wire.ask({ ...chosen, options, xid: offer.xid });
    if (ack === null) throw new Error('it is not given what it was offered');
    if (this.#address !== ack.yiaddr) {
      this.#address = ack.yiaddr;
      await run('ip', ['address', 'replace', `${ack.yiaddr}/32`, 'dev', this.#machine.device]);
    }
    return answerIn(ack);
  }

  /** The fetched text; null: nothing was fetched. */
  async fetch(as: Fetched['as'], url: string): Promise<string | null> {
    const file = `${this.#shelf}.${this.#fetches.length}`;
    const from = this.#address === null ? [] : ['--interface', this.#address];
    const how = ['--tftp-blksize', '1468', '--user-agent', 'iPXE/1.0.0+', '--max-time', '60', '--output', file];
    const status = await run('curl', ['-sS', ...from, ...how, '--write-out', '%{response_code}', url]).then(
      ({ stdout }) => (url.startsWith('tftp:') || stdout === '200' ? 'fetched' : stdout),
      ({ code }: { code: number }) => `curl ${code}`,
    );
    this.#fetches.push({ as, url, status, file });
    return status === 'fetched' ? readFileSync(file, 'latin1') : null;
  }

  /** Everything that was fetched, as file(1) describes it. */
  async identified(): Promise<Fetched[]> {
    if (this.#fetches.length === 0) return [];
    const { stdout } = await run('file', ['--brief', ...this.#fetches.map(({ file }) => file)]);
    const words = stdout.split('\n');
    return this.#fetches.map(({ as, url, status, file }, at) => {
      const bytes = status === 'fetched' ? readFileSync(file) : Buffer.of();
      rmSync(file, { force: true });
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return { as, url, status, sha256, is: words[at] ?? '' };
    });
  }
}

/** The results of a walk. */
type WalkResult = Partial<Omit<Walked, 'name' | 'fetched'>>;

async function boot(walker: Walker, wire: Wire, { machine, architecture, witness, again = false }: Walk) {
  const { client } = machine;
  const firmware = recorded(client, 'firmware');
  const discover = architecture ? withArchitecture(firmware.discover, architecture) : firmware.discover;
  const { promise: witnessed, resolve: seen } = Promise.withResolvers<void>();
  const offering = walker.discover(discover, witnessed);
  if (witness) void new Walker(witness, wire, '').discover(firmware.discover).then(() => seen());
  const reply = await offering;
  if (reply === null) return {};
  const offer = answerIn(reply);
  const first = firstFile(offer, architecture?.http ?? client === 'uefi-http');
  if (architecture) {
    if (first !== null) await walker.fetch('loader', first);
    return { offer };
  }

  const ack = await walker.take(reply, firmware.request);
  if (first === null) return { offer, ack };
  await walker.fetch('loader', first);
  const second = STARTED_BY_SHIM[client];
  if (second) await walker.fetch('loader', new URL(second, first).href);
  const onward = second
    ? await throughGrub(machine, walker, ack.nextServer, again)
    : await throughIpxe(machine, walker, again);
  return { offer, ack, ...onward };
}

/** PXE reads the header, UEFI HTTP Boot the option. */
function firstFile({ nextServer, file, fileName }: Answer, http: boolean): string | null {
  if (http) return fileName;
  return file === '' ? null : `tftp://${nextServer}/${file}`;
}

async function throughIpxe(machine: Machine, walker: Walker, again: boolean): Promise<WalkResult> {
  const { discover, request } = recorded(machine.client, 'ipxe');
  const ipxeAck = await walker.take(await walker.discover(discover), request);
  const settings = new Map<string, string>([
    ['netX/mac:hexhyp', machine.mac.replaceAll(':', '-')],
    ['net0/mac:hexhyp', machine.mac.replaceAll(':', '-')],
    ['uuid', machine.uuid],
    ...Object.entries(IPXE_BUILDS[machine.client] ?? {}),
  ]);
  const scripts = await fromScriptToScript(walker, ipxeAck.fileName ?? '', again, (text) =>
    ipxeTargets(text, settings),
  );
  return { ipxeAck, ...scripts };
}

async function throughGrub(machine: Machine, walker: Walker, server: string, again: boolean): Promise<WalkResult> {
  const settings = new Map([
    ['net_default_mac', machine.mac],
    ['uuid', machine.uuid],
  ]);
  // A GRUB path starts with a slash on the wire.
  const entry = `tftp://${server}//grub/grub.cfg`;
  return await fromScriptToScript(walker, entry, again, (text) => grubTargets(text, settings));
}

async function fromScriptToScript(
  walker: Walker,
  entryUrl: string,
  again: boolean,
  targetsIn: (text: string) => string[],
): Promise<WalkResult> {
  const entry = await walker.fetch('script', entryUrl);
  const [own = ''] = targetsIn(entry ?? '');
  const script = await walker.fetch('script', own);
  for (const url of targetsIn(script ?? '')) await walker.fetch('target', url);
  return { entry, script, again: again ? await walker.fetch('script', own) : null };
}

const expanded = (word: string, settings: ReadonlyMap<string, string>): string =>
  word.replace(/<([^>]*)>/g, (_, name) => settings.get(name) ?? '');

/** The URLs of an iPXE script, each once and in order; variables that it sets are stored in `settings`. */
function ipxeTargets(script: string, settings: Map<string, string>): string[] {
  const targets = new Set<string>();
  for (const { words } of ipxeCommands(script)) {
    const [command = '', name = '', value = ''] = words;
    if (command === 'set') settings.set(name, expanded(value, settings));
    const url = words.find((word) => word.startsWith('http://'));
    if (url && ['kernel', 'initrd', 'chain'].includes(command)) targets.add(expanded(url, settings));
  }
  return [...targets];
}

/** The same for a GRUB configuration: (tftp,SERVER)/PATH. */
function grubTargets(config: string, settings: ReadonlyMap<string, string>): string[] {
  const places = grubCommands(config).flatMap((words) => {
    const at = words.findIndex((word) => ['linux', 'initrd', 'source', 'configfile'].includes(word));
    return at === -1 ? [] : (words[at + 1] ?? []);
  });
  return places.map((place) => expanded(place, settings).replace(/^\(tftp,([0-9.]+)\)/, 'tftp://$1/'));
}

const NOTHING = { problem: null, offer: null, ack: null, ipxeAck: null, entry: null, script: null, again: null };

async function walkAll(folder: string): Promise<void> {
  const walks = JSON.parse(readFileSync(join(folder, 'walks.json'), 'utf8')) as Walk[];
  const wires = new Map<string, Wire>();
  for (const { machine } of walks) {
    if (!wires.has(machine.device)) wires.set(machine.device, await Wire.open(machine.device));
  }
  // One after the other on each wire, each with its own card: the appliance looks who answers for an address.
  const walkOn = async ([device, wire]: [string, Wire]): Promise<void> => {
    for (const walk of walks.filter(({ machine }) => machine.device === device)) {
      const { name, mac } = walk.machine;
      await run('ip', ['link', 'set', 'dev', device, 'address', mac]);
      const walker = new Walker(walk.machine, wire, folder);
      const result = await boot(walker, wire, walk).catch((error: Error): WalkResult => ({ problem: error.message }));
      const walked: Walked = { ...NOTHING, name, ...result, fetched: await walker.identified() };
      process.stdout.write(`${JSON.stringify(walked)}\n`);
    }
  };
  await Promise.all([...wires].map(walkOn));
  for (const wire of wires.values()) await wire.close();
}

if (process.argv[1] === WALK) await walkAll(process.argv[2] ?? '');
