// Advertised = served, verified independently: packets of real firmware go in, curl fetches what the replies name, and file(1)
// identifies it.

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { HOUR } from '../../appliance/domain/instant.ts';
import { LIFECYCLE_STATES } from '../../appliance/domain/lifecycle.ts';
import { UNKNOWN_POLICIES } from '../../appliance/domain/network.ts';
import { leaseOf, mac, objectName } from '../store/samples.ts';
import { CELLS, type Cell, CLIENTS, cpuOf, machineOn, prefixOf, serverOf } from './boot-chain-cells.ts';
import type { Client } from './boot-chain-packets.ts';
import { BootChainSite, type Extra, ipv4 } from './boot-chain-site.ts';
import type { Fetched, Walked } from './boot-chain-walk.ts';

const BIOS_PROGRAM = /^pxelinux loader/;
const X64_PROGRAM = /^PE32\+ executable .*x86-64/;
const ARM64_PROGRAM = /^PE32\+ executable .*Aarch64/;
const KERNELS = { x86_64: /^Linux kernel x86 boot executable/, arm64: /^Linux kernel ARM64 boot executable/ };

/** What each client loads before any script. Debian has no iPXE for arm64; shim and GRUB boot it. */
const LOADERS: Readonly<Record<Client, { readonly files: readonly string[]; readonly are: RegExp }>> = {
  bios: { files: ['undionly.kpxe'], are: BIOS_PROGRAM },
  uefi: { files: ['snponly.efi'], are: X64_PROGRAM },
  'uefi-http': { files: ['snponly.efi'], are: X64_PROGRAM },
  arm64: { files: ['shimaa64.efi', 'grubaa64.efi'], are: ARM64_PROGRAM },
  'secure-boot': { files: ['shimx64.efi', 'grubx64.efi'], are: X64_PROGRAM },
};
const throughGrub = (client: Client): boolean => LOADERS[client].files.length > 1;

const SILENT = CELLS.filter(({ gets }) => gets === 'silence');
const ANSWERED = CELLS.filter(({ gets }) => gets !== 'silence');

/** Declared, with an address whose conflict check is pending, as for an unknown machine: answered no sooner than that one. */
const WITNESSES = new Map(
  SILENT.map(({ machine, network }, at) => {
    const witness = machineOn(network, `witness-${machine.name}`, 500 + at, machine.client);
    return [machine.name, { machine: witness, network }];
  }),
);

/** IANA "Processor Architecture Types": those that boot over HTTP, and two unassigned numbers. */
const OVER_HTTP = [15, 16, 17, 18, 19, 20, 23, 24, 26, 28, 30, 38, 40];
const ARCHITECTURES = [...Array.from({ length: 42 }, (_, code) => code), 42, 0xffff];

/** By option 93, on networks with different settings. An architecture that is not named gets no boot file. */
const ADVERTISED: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  'local-disk': {
    0: 'undionly.kpxe',
    7: 'snponly.efi',
    9: 'snponly.efi',
    11: 'shimaa64.efi',
    16: 'snponly.efi',
    17: 'snponly.efi',
  },
  'all-drivers': {
    0: 'undionly.kpxe',
    7: 'ipxe.efi',
    9: 'ipxe.efi',
    11: 'shimaa64.efi',
    16: 'ipxe.efi',
    17: 'ipxe.efi',
  },
  'local-disk-signed': { 0: 'undionly.kpxe', 7: 'shimx64.efi', 9: 'shimx64.efi', 11: 'shimaa64.efi' },
};
const ASKING = Object.keys(ADVERTISED).flatMap((network, place) =>
  ARCHITECTURES.map((code, at) => ({
    machine: machineOn(network, `architecture-${code}-${network}`, 1000 + place * 100 + at, 'uefi'),
    network,
    address: `${prefixOf(network)}.${10 + at}`,
    architecture: { code, http: OVER_HTTP.includes(code) },
  })),
);

const TRAVELLER: Extra = {
  machine: machineOn('ignore', 'traveller', 600, 'uefi'),
  network: 'ignore',
  address: `${prefixOf('ignore')}.190`,
};
const LONG_GONE = leaseOf(0, {
  address: ipv4(`${prefixOf('ignore')}.250`),
  mac: mac(700),
  network: objectName('ignore'),
  grantedAt: Date.now() - 2 * HOUR,
  expiresAt: Date.now() - HOUR,
});

// The first run builds the loaders.
vi.setConfig({ hookTimeout: 300_000 });

let site: BootChainSite;
beforeAll(async () => {
  site = await BootChainSite.start([...WITNESSES.values(), ...ASKING, TRAVELLER], [LONG_GONE]);
});
afterAll(() => site?.stop());

/** The result of a script, or of a GRUB configuration. */
function outcomeOf(script: string): string {
  const [, mode] = /\bcoldiron\.mode=([a-z]+)/.exec(script) ?? [];
  const [, profile] = /\bcoldiron\.profile=([a-z0-9-]+)/.exec(script) ?? [];
  const [, code] = /^echo Code: '?([a-z-]+)/m.exec(script) ?? [];
  if (mode !== undefined) return mode === 'install' ? `installer: ${profile}` : `service OS: ${mode}`;
  if (code !== undefined) return `refusal: ${code}`;
  if (/^echo Coldiron: .* waits/m.test(script)) return 'hold';
  return /^echo Coldiron: .* boots from its own disk: [\s\S]*\bexit\b/m.test(script) ? 'local disk' : script;
}

const starts = ({ gets }: Cell): boolean => /^(service OS|installer): /.test(gets);
const isDestructive = ({ state }: Cell): boolean => state === 'deploying' || state === 'releasing';
const httpOf = (network: string): string => `http://${serverOf(network)}:8080`;

/** Complete, of the right type, and fetched under the advertised name. */
function expectFile(file: Fetched | undefined, url: string, asset: string, is: RegExp): void {
  expect(file).toMatchObject({ url, status: 'fetched', sha256: site.sha256(asset) });
  expect(file?.is).toMatch(is);
}

function expectLoaders({ machine, network }: Cell, { offer, ack, fetched }: Walked): void {
  const { files, are } = LOADERS[machine.client];
  const overHttp = machine.client === 'uefi-http';
  const place = overHttp ? `${httpOf(network)}/boot/loader/` : `tftp://${serverOf(network)}/`;
  const advertised = overHttp ? `${place}${files[0]}` : files[0];
  expect(offer).toMatchObject({
    nextServer: serverOf(network),
    file: advertised,
    vendorClass: overHttp ? 'HTTPClient' : 'PXEClient',
    serverName: serverOf(network),
    fileName: advertised,
  });
  expect(ack).toEqual(offer);
  const loaders = fetched.filter(({ as }) => as === 'loader');
  expect(loaders).toHaveLength(files.length);
  for (const [at, file] of files.entries()) expectFile(loaders[at], `${place}${file}`, `loader/${file}`, are);
}

function expectScripts({ machine, network, gets }: Cell, { ipxeAck, script, fetched }: Walked): void {
  const { mac, uuid, client } = machine;
  const places = fetched.filter(({ as }) => as === 'script').map(({ url }) => url.replace(/\?.*/, ''));
  const own = throughGrub(client) ? `${mac}_${uuid}.cfg` : `${mac.replaceAll(':', '-')}.ipxe`;
  const grub = `tftp://${serverOf(network)}//grub`;
  const ipxe = `${httpOf(network)}/boot/ipxe`;
  if (throughGrub(client)) expect(places.slice(0, 2)).toEqual([`${grub}/grub.cfg`, `${grub}/machine/${own}`]);
  else expect([ipxeAck?.fileName, ...places.slice(1, 2)]).toEqual([`${ipxe}/boot.ipxe`, `${ipxe}/${own}`]);
  expect(outcomeOf(script ?? '')).toBe(gets);
}

const targetsOf = ({ fetched }: Walked): Fetched[] => fetched.filter(({ as }) => as === 'target');

function expectStart({ machine, network, profile }: Cell, walk: Walked): void {
  const cpu = cpuOf(machine.client);
  const [kernel, initrd, ...more] = targetsOf(walk);
  const place = `${throughGrub(machine.client) ? `tftp://${serverOf(network)}/` : httpOf(network)}/boot`;
  const isNixos = profile?.startsWith('nixos');
  const asset = isNixos ? `nixos/${profile}` : `images/service-os-${cpu}`;
  const [path, name] = isNixos ? [asset, 'bzImage'] : [`service-os-${cpu}`, 'kernel'];
  expectFile(kernel, `${place}/${path}/${name}`, `${asset}/${name}`, KERNELS[cpu]);
  expectFile(initrd, `${place}/${path}/initrd`, `${asset}/initrd`, /^gzip compressed data/);
  expect(more).toEqual([]);
  // The started system knows the URL of its work.
  expect(walk.script).toContain(`coldiron.session=${httpOf(network)}/boot/session/`);
}

/** Without a kernel; a waiting machine asks again by itself. */
function expectNoStart({ machine, network, gets }: Cell, walk: Walked): void {
  const led = targetsOf(walk).map(({ url, status }) => `${url.replace(/\?.*/, '')} ${status}`);
  const scripts = `${httpOf(network)}/boot/ipxe`;
  if (throughGrub(machine.client)) {
    expect(led).toEqual([]);
    expect(/^set again=1$/m.test(walk.script ?? '')).toBe(gets === 'hold');
  } else if (gets === 'hold') expect(led).toEqual([`${scripts}/${machine.mac.replaceAll(':', '-')}.ipxe 503`]);
  else expect(led).toEqual(gets === 'local disk' ? [] : [`${scripts}/menu.ipxe fetched`]);
}

describe('the boot chain', () => {
  let walked: ReadonlyMap<string, Walked>;
  const walkOf = ({ machine }: Cell): Walked => {
    const found = walked.get(machine.name);
    if (!found) throw new Error(`${machine.name} has not been walked`);
    expect(found.problem).toBeNull();
    return found;
  };

  beforeAll(async () => {
    const walks = CELLS.map((cell) => {
      const witness = WITNESSES.get(cell.machine.name)?.machine;
      return { machine: cell.machine, again: isDestructive(cell), ...(witness && { witness }) };
    });
    walked = await site.walk(walks);
  });

  it('is walked by every kind of client in every state, and as an unknown machine under every policy', () => {
    expect(walked.size).toBe(CELLS.length);
    expect(new Set(CELLS.map(({ machine }) => machine.client))).toEqual(new Set(CLIENTS));
    expect(new Set(CELLS.map(({ state }) => state))).toEqual(new Set([...LIFECYCLE_STATES, null]));
    const strangers = CELLS.filter(({ state }) => state === null);
    expect(new Set(strangers.map(({ policy }) => policy))).toEqual(new Set(UNKNOWN_POLICIES));
  });

  it.each(ANSWERED)('leads $machine.name to: $gets', (cell) => {
    const walk = walkOf(cell);
    expectLoaders(cell, walk);
    expectScripts(cell, walk);
    if (starts(cell)) expectStart(cell, walk);
    else expectNoStart(cell, walk);
    expect(walk.again && outcomeOf(walk.again)).toBe(isDestructive(cell) ? 'local disk' : null);
  });

  it.each(SILENT)('does not answer $machine.name', async (cell) => {
    expect(walkOf(cell)).toMatchObject({ offer: null, fetched: [] });
    const own = `${httpOf(cell.network)}/boot/ipxe/${cell.machine.mac.replaceAll(':', '-')}.ipxe`;
    expect(await site.curl('-o', '/dev/null', '-w', '%{response_code}', own)).toBe('404');
  });
});

describe('the first file of each architecture', () => {
  let walks: ReadonlyMap<string, Walked>;
  beforeAll(async () => {
    walks = await site.walk(ASKING.map(({ machine, architecture }) => ({ machine, architecture })));
  });

  it.each(Object.entries(ADVERTISED))(
    'is served on network %s, and no file is advertised to other architectures',
    (name, files) => {
      const here = ASKING.filter(({ network }) => network === name);
      expect(here).toHaveLength(44);
      for (const { machine, architecture } of here) {
        const { offer, fetched = [] } = walks.get(machine.name) ?? {};
        const file = files[architecture.code];
        const url = `${httpOf(name)}/boot/loader/${file}`;
        const advertised = architecture.http ? url : file;
        const nothing = { nextServer: '0.0.0.0', file: '', serverName: null, fileName: null };
        const something = { nextServer: serverOf(name), file: advertised, fileName: advertised };
        expect(offer, machine.name).toMatchObject(file === undefined ? nothing : something);
        expect(fetched, machine.name).toHaveLength(file === undefined ? 0 : 1);
        const is = { 0: BIOS_PROGRAM, 11: ARM64_PROGRAM }[architecture.code] ?? X64_PROGRAM;
        const named = architecture.http ? url : `tftp://${serverOf(name)}/${file}`;
        if (file !== undefined) expectFile(fetched[0], named, `loader/${file}`, is);
      }
    },
  );
});

describe('the trail of a machine that boots twice', () => {
  interface TrailEvent {
    readonly kind: string;
    readonly correlation_id: string | null;
    readonly data: { readonly program?: string };
  }
  const BOOT = [
    'dhcp.discover',
    'dhcp.offer',
    'dhcp.request',
    'dhcp.ack',
    'tftp.begun',
    'tftp.completed',
    'http.entry',
    'http.script',
  ];
  const { machine, network, address } = TRAVELLER;
  let events: readonly TrailEvent[];

  const printed = (...args: string[]): string => {
    const { status, stdout, stderr } = site.run(...args);
    expect(status, stderr).toBe(0);
    return stdout;
  };

  beforeAll(async () => {
    for (const boot of [1, 2]) {
      expect((await site.walk([{ machine }])).get(machine.name)?.problem, `boot ${boot}`).toBeNull();
    }
    // The trail is written asynchronously.
    await vi.waitFor(
      () => {
        events = JSON.parse(printed('trail', machine.name, '--json')) as TrailEvent[];
        for (const kind of ['http.script', 'tftp.completed']) {
          expect(events.filter((event) => event.kind === kind)).toHaveLength(2);
        }
      },
      { timeout: 30_000, interval: 200 },
    );
  });

  it('has the same id for all events of a boot, and a new one for the next boot', () => {
    const attempts = Map.groupBy(events, ({ correlation_id }) => correlation_id);
    expect(attempts.size).toBe(2);
    expect(attempts.has(null)).toBe(false);
    for (const boot of attempts.values()) expect(new Set(boot.map(({ kind }) => kind))).toEqual(new Set(BOOT));
  });

  it('starts a boot with the DISCOVER of the firmware, not with that of iPXE', () => {
    const discovers = events.filter(({ kind }) => kind === 'dhcp.discover');
    const programs = discovers.map(({ data, correlation_id }) => `${data.program} ${correlation_id}`);
    const [first, second] = new Set(events.map(({ correlation_id }) => correlation_id));
    const stages = [`firmware-pxe ${first}`, `ipxe ${first}`, `firmware-pxe ${second}`, `ipxe ${second}`];
    expect([...new Set(programs)]).toEqual(stages);
  });

  it('shows two boot attempts', () => {
    const headings = printed('trail', machine.name).match(/^Boot attempt .*$/gm);
    const ids = new Set(events.map(({ correlation_id }) => correlation_id));
    expect(headings).toEqual([...ids].map((id) => `Boot attempt ${id?.slice(0, 8)}`));
    expect(headings).toHaveLength(2);
  });

  it('has an active lease, and one that has expired', () => {
    const rows = printed('leases', 'list', '--network', network)
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    const rowOf = (holder: string) => rows.find(([, hardware]) => hardware === holder);
    const expires = (at: number) => new Date(at).toISOString();
    expect(rowOf(machine.mac)?.slice(0, 5)).toEqual([address, machine.mac, machine.name, network, 'bound']);
    expect(Date.parse(rowOf(machine.mac)?.[5] ?? '')).toBeGreaterThan(Date.now());
    const gone = [LONG_GONE.address, LONG_GONE.mac, '-', network, 'expired', expires(LONG_GONE.expiresAt)];
    expect(rowOf(LONG_GONE.mac)).toEqual(gone);
    expect(printed('leases', 'list')).toContain(machine.mac);
    expect(printed('leases', 'list', '--network', 'hold')).not.toContain(machine.mac);
  });
});
