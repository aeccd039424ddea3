// Tests the service OS scripts as far as they need no virtual machine: under dash, which is their shell, with files that replace
// /sys.

import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { selfSigned } from '../bmc/redfish/mock/certificates.ts';
import { needPackages } from '../interop/packages.ts';

const SCRIPTS = join(import.meta.dirname, '../../boot-assets/service-os');
const folder = mkdtempSync(join(tmpdir(), 'coldiron-scripts-'));

beforeAll(() => needPackages(['busybox', 'curl', 'dash', 'jq', 'shellcheck']));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const put = (path: string, content: string): void => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), content);
};

const run = (command: string, args: readonly string[], input: string) =>
  spawnSync(command, args, { input, encoding: 'utf8' });

const ENVIRONMENT = {
  ...{ PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', CONSOLE: '/dev/null', LIB: SCRIPTS },
  ...{ RUN: join(folder, 'run'), SYS: join(folder, 'sys'), DEV: join(folder, 'dev') },
};

/** Shell lines that source the functions of these files. */
function withFunctions(files: readonly string[], lines: string): string {
  mkdirSync(join(folder, 'run'), { recursive: true });
  return `${files.map((name) => `. ${SCRIPTS}/${name}.sh`).join('\n')}\n${lines}`;
}

function shell(files: readonly string[], lines: string): { status: number | null; stdout: string } {
  const { status, stdout, stderr } = spawnSync('dash', ['-eu', '-c', withFunctions(files, lines)], {
    env: ENVIRONMENT,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return { status, stdout };
}

describe('the scripts of the service OS', () => {
  it('pass shellcheck', () => {
    const files = readdirSync(SCRIPTS).filter((name) => name === 'init' || name.endsWith('.sh'));
    expect(files.length).toBeGreaterThan(12);
    const { stdout } = spawnSync('shellcheck', ['--shell=sh', '--severity=warning', ...files], {
      cwd: SCRIPTS,
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
  });

  it('never put the session key on a command line', () => {
    const { stdout } = spawnSync('grep', ['-rnE', '(Bearer|--oauth2|--user)', SCRIPTS], { encoding: 'utf8' });
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(2);
    // In a file; printf is part of the shell, not a process.
    for (const line of lines) expect(line).toMatch(/(?:jq -r|printf) '[^']*Bearer .*> "\$KEY"$/);
  });

  it('read the kernel command line', () => {
    put(
      'cmdline',
      'quiet coldiron.server=http://10.0.2.2:8080 coldiron.mode=erase coldiron.session=http://10.0.2.2:8080/boot/session/ab coldiron.node=node05 coldiron.time=1794954930 BOOTIF=01-52-54-00-AB-CD-EF\n',
    );
    const { stdout } = shell(
      ['common'],
      `read_command_line ${folder}/cmdline; echo "$mode $session $node $boot_time $boot_mac"`,
    );
    expect(stdout).toBe('erase http://10.0.2.2:8080/boot/session/ab node05 1794954930 52:54:00:ab:cd:ef\n');
  });

  it.each([
    ['a fixed address', '10.0.100.65/24', 0, ['ip link set eth0 up', 'ip address add 10.0.100.65/24 dev eth0']],
    ['no address', '', 0, ['ip link set eth0 up']],
    ['DHCP', 'dhcp', 0, ['ip link set eth0 up', 'udhcpc -i eth0 -n -q -t 6 -T 2 -s /service-os/lease.sh']],
    ['DHCP without a server', 'dhcp', 1, ['ip link set eth0 up']],
  ])('rehearse a link with %s', (_what, address, noLease, commands) => {
    put('run/rehearsed', '');
    put('run/link', JSON.stringify({ kind: 'ethernet', name: 'eth0', ...(address !== '' && { address }) }));
    const lines = `LOG=/dev/null; link=$(cat $RUN/link)
      inside() { [ "$1" != udhcpc ] || [ ${noLease} = 0 ] || return 1; echo "$*" >> $RUN/rehearsed; }
      configure_link || true`;
    const { stdout } = shell(['common', 'network', 'session', 'rehearse'], lines);
    expect(stdout).toBe(noLease === 0 ? '' : 'eth0 gets no address by DHCP in the final network\n');
    expect(readFileSync(join(folder, 'run/rehearsed'), 'utf8').trim().split('\n')).toEqual(commands);
  });

  it.each([
    ['its authority', 'own', ''],
    [
      'another authority',
      'other',
      'the node API cannot be reached at URL through the final network, so it could not enroll: ',
    ],
  ])('call the node API with %s before anything is written', async (_what, authority, problem) => {
    const own = selfSigned();
    const server = createTlsServer({ key: own.key, cert: own.certificate }, (_request, answer) =>
      answer.writeHead(404).end(),
    ).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    put('authority.pem', (authority === 'own' ? own : selfSigned('somebody-else')).certificate);
    put('run/order', JSON.stringify({ network: { node_api: url } }));
    const lines = `inside() { "$@"; }; ORDER=$RUN/order AUTHORITY=${folder}/authority.pem CALL_SECONDS=0; call_node_api`;
    const script = withFunctions(['common', 'network', 'session', 'rehearse'], lines);
    const { stdout } = await promisify(execFile)('dash', ['-eu', '-c', script], { env: ENVIRONMENT });
    expect(stdout.replace(url, 'URL')).toMatch(problem === '' ? /^$/ : new RegExp(`^${problem}.*certificate`));
  });

  it('name the disk that was erased last in the outcome', () => {
    const erased = `inspect_machine() { :; }; selected_disks() { printf 'vda\\nvdb\\n'; }; erase_disk() { :; }; report_heard() { :; }
      send_outcome() { echo "$1 $2"; }; run_erase`;
    expect(shell(['common', 'session', 'erase'], erased).stdout).toBe('true erase-vdb\n');
  });

  it("wait for the switch's LLDP frames, but not on a bridge", () => {
    const card = join(folder, 'sys/class/net/eth0');
    mkdirSync(join(card, 'device'), { recursive: true });
    writeFileSync(join(card, 'carrier'), '1\n');
    const waitsWith = (driver: string, passed = 0): string => {
      mkdirSync(join(folder, 'drivers', driver), { recursive: true });
      rmSync(join(card, 'device/driver'), { force: true });
      symlinkSync(join(folder, 'drivers', driver), join(card, 'device/driver'));
      const question = `watch_began=$(($(seconds) - ${passed}))
        if neighbours_are_missing 32 || ordered_neighbours_are_missing 45; then echo waits; else echo "goes on"; fi`;
      return shell(['common', 'network', 'session', 'facts'], question).stdout.trim();
    };
    put('run/order.json', '{"mode":"commission"}');
    expect(waitsWith('virtio_net')).toBe('goes on');
    expect(waitsWith('igb')).toBe('waits');
    expect(waitsWith('igb', 33)).toBe('goes on');
    // The inventory declares the switch port of this card, whatever it is.
    writeFileSync(join(card, 'address'), '52:54:00:00:00:01\n');
    put('run/order.json', '{"mode":"commission","neighbours":["52:54:00:00:00:01","52:54:00:00:00:99"]}');
    expect(waitsWith('virtio_net', 33)).toBe('waits');
    expect(waitsWith('virtio_net', 46)).toBe('goes on');
    put('run/lldp-eth0', '{"system":"sw1"}\n');
    expect(waitsWith('igb')).toBe('goes on');
    rmSync(card, { recursive: true });
  });

  it('list the network devices on the PCI bus that have no driver, when there is no card', () => {
    put('sys/bus/pci/devices/0000:00:1f.2/class', '0x010601\n');
    for (const [slot, device] of [
      ['0000:03:00.0', '0x1572'],
      ['0000:04:00.0', '0x1592'],
    ] as const) {
      put(`sys/bus/pci/devices/${slot}/class`, '0x020000\n');
      put(`sys/bus/pci/devices/${slot}/vendor`, '0x8086\n');
      put(`sys/bus/pci/devices/${slot}/device`, `${device}\n`);
    }
    mkdirSync(join(folder, 'sys/bus/pci/drivers/i40e'), { recursive: true });
    symlinkSync('../../drivers/i40e', join(folder, 'sys/bus/pci/devices/0000:03:00.0/driver'));
    const { stdout } = shell(['common', 'network'], 'take_address || echo "$network_error"; echo "$network_remedy"');
    expect(stdout.split('\n')[0]).toBe(
      'there is no network card with a driver; PCI network devices: 0000:03:00.0 8086:1572 (driver i40e), 0000:04:00.0 8086:1592 (no driver)',
    );
    expect(stdout).toContain('firmware setup');
    rmSync(join(folder, 'sys/bus/pci'), { recursive: true });
    expect(shell(['common', 'network'], 'pci_network_devices').stdout).toBe('none\n');
  });

  it.each([
    ['https://10.77.0.1:8444/boot/session/secret', 'TCP port 8444 of 10.77.0.1'],
    ['http://10.77.0.1/boot/session', 'TCP port 80 of 10.77.0.1'],
  ])('say for %s which address and port must be reachable, and never the ticket', (url, words) => {
    const { stdout } = shell(['common', 'network', 'session'], `node=node05; server_of ${url}; reach_remedy ${url}`);
    expect(stdout).toContain(words);
    expect(stdout).toContain('coldiron diagnose node05');
    expect(stdout).not.toContain('secret');
  });

  it.each(['dash', 'busybox'])('notice under %s that the kernel unpacked only a part of the initrd', (program) => {
    const root = mkdtempSync(join(folder, 'root-'));
    mkdirSync(join(root, 'service-os'));
    writeFileSync(join(root, 'service-os/files'), '2980\nlib/last\n');
    writeFileSync(join(root, 'meminfo'), 'MemTotal:         249000 kB\n');
    const check = () =>
      spawnSync(
        program,
        [
          ...(program === 'busybox' ? ['sh'] : []),
          '-c',
          `. ${SCRIPTS}/whole.sh; initrd_problem ${root} ${root}/meminfo || echo whole`,
        ],
        { env: ENVIRONMENT, encoding: 'utf8' },
      );
    expect(check()).toMatchObject({
      stdout: expect.stringMatching(/^the initrd is incomplete: 2 of 2980 files are there\..*\(243 MB\)\n$/),
      stderr: '',
    });
    mkdirSync(join(root, 'lib'));
    writeFileSync(join(root, 'lib/last'), '');
    expect(check().stdout).toBe('whole\n');
    rmSync(join(root, 'service-os/files'));
    expect(check()).toMatchObject({ stdout: 'whole\n' });
  });

  it('read the neighbour from an LLDP frame, and nothing from a malformed one', () => {
    const read = (frame: Buffer): unknown => {
      writeFileSync(join(folder, 'frame'), Buffer.concat([Buffer.alloc(40), frame]));
      return JSON.parse(shell(['common', 'disks', 'facts'], `read_neighbour ${folder}/frame || :`).stdout || 'null');
    };
    const element = (type: number, ...value: (number | string)[]): Buffer => {
      const bytes = Buffer.concat(
        value.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))),
      );
      return Buffer.concat([Buffer.of(type * 2 + (bytes.length >> 8), bytes.length & 255), bytes]);
    };
    const frameOf = (...elements: Buffer[]): Buffer =>
      Buffer.concat([Buffer.alloc(12), Buffer.of(0x88, 0xcc), ...elements, element(0)]);
    const chassis = element(1, 4, 0, 0x11, 0x22, 0xaa, 0xbb, 0xcc);
    const port = element(2, 5, 'Ethernet1/12');
    const ttl = element(3, 0, 120);
    const whole = frameOf(chassis, port, ttl, element(4, 'to node05'), element(5, 'sw3\u001b[2J\n'), element(127, 'x'));
    expect(read(whole)).toEqual({
      ...{ chassis: '00:11:22:aa:bb:cc', system: 'sw3?[2J?', port: 'Ethernet1/12', port_description: 'to node05' },
    });
    expect(read(frameOf(element(1, 5, 1, 10, 0, 0, 1), element(2, 3, 2, 0, 0, 0, 0, 9), ttl))).toEqual({
      ...{ chassis: '10.0.0.1', system: null, port: '02:00:00:00:00:09', port_description: null },
    });
    const long = read(frameOf(chassis, port, ttl, element(5, 'a'.repeat(500)))) as { system: string };
    expect(long.system).toHaveLength(200);
    // The neighbour leaves; the order of elements is wrong; another protocol; cut within an element.
    expect(read(frameOf(chassis, port, element(3, 0, 0)))).toBeNull();
    expect(read(frameOf(port, chassis, ttl))).toBeNull();
    expect(read(Buffer.concat([Buffer.alloc(12), Buffer.of(8, 0), chassis, port, ttl]))).toBeNull();
    for (let length = 0; length < 14 + chassis.length + port.length + ttl.length; length++) {
      expect(read(whole.subarray(0, length)), String(length)).toBeNull();
    }
  });

  it('wait for the cables of an order to install, and for nothing without them', () => {
    const checked = (order: object): string[] => {
      put('run/order.json', JSON.stringify(order));
      const nics = [
        { name: 'eth0', neighbour: { chassis: 'c', system: 'sw3', port: 'swp1' } },
        { name: 'eth1', neighbour: null },
        { name: 'eth2', neighbour: { chassis: '00:11:22:aa:bb:cc', system: null, port: null } },
      ];
      put('run/facts.json', JSON.stringify({ nics }));
      // Only this function: the file itself sources others from the root of the service OS.
      const lines = `eval "$(sed -n '/^check_cabling()/,/^}/p' ${SCRIPTS}/install.sh)"
        for name in step_started await_neighbours report_heard step_done; do eval "$name() { echo $name \\"\\$*\\"; }"; done
        check_cabling`;
      return shell(['common', 'session'], lines)
        .stdout.trim()
        .split('\n')
        .map((line) => line.trimEnd());
    };
    expect(checked({ mode: 'install' })).toEqual(['']);
    expect(checked({ mode: 'install', neighbours: ['52:54:00:00:00:01'] })).toEqual([
      'step_started cabling waiting for the LLDP frames of the switches',
      'await_neighbours',
      'report_heard',
      'step_done cabling eth0 at sw3 swp1, eth2 at 00:11:22:aa:bb:cc',
    ]);
  });

  it('name partitions as the kernel does', () => {
    const { stdout } = shell(['disks'], 'partition_device /dev/sda 3; partition_device /dev/nvme0n1 2');
    expect(stdout).toBe('/dev/sda3\n/dev/nvme0n1p2\n');
  });

  it('list whole disks that have a size, without virtual devices', () => {
    for (const name of ['sda', 'nvme0n1', 'loop0', 'sr0', 'md0', 'dm-0', 'vdb'])
      put(`sys/block/${name}/size`, '2048\n');
    put('sys/block/sdempty/size', '0\n');
    expect(shell(['common', 'disks'], 'disk_names').stdout).toBe('nvme0n1\nsda\nvdb\n');
  });

  it('back off up to thirty seconds', () => {
    const { stdout } = shell(['common', 'network'], 'for try in 1 2 3 4 5 6 99; do backoff $try; done');
    expect(stdout.trim().split('\n').map(Number)).toEqual([1, 2, 4, 8, 30, 30, 30]);
  });

  it('write the start of a disk only after the rest of the image', () => {
    const mebibyte = 1024 * 1024;
    const image = randomBytes(2 * mebibyte + 7);
    const disk = join(folder, 'dev/sda');
    put('dev/sda', '');
    writeFileSync(join(folder, 'image'), image);
    const written = (lines: string): Buffer => {
      shell(['common', 'write-image'], `target=$DEV/sda\n${lines}`);
      return readFileSync(disk);
    };
    const half = written(`write_stream < ${folder}/image 2> "$RUN/stream-write-says"`);
    expect(half.subarray(0, mebibyte).equals(Buffer.alloc(mebibyte))).toBe(true);
    expect(half.subarray(mebibyte).equals(image.subarray(mebibyte))).toBe(true);
    expect(written('write_disk_start').equals(image)).toBe(true);
  });

  it('open the session again, with the same nonce, when the reply is lost', async () => {
    const bodies: { nonce: string }[] = [];
    const server = createServer(async (request, response) => {
      bodies.push(JSON.parse(await text(request)));
      if (bodies.length === 1) request.socket.destroy();
      else
        response.writeHead(201).end(JSON.stringify({ session: 'the-key', node: 'node05', order: { mode: 'inspect' } }));
    });
    onTestFinished(() => void server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    put('sys/class/net/eth0/address', '52:54:00:ab:cd:ef\n');
    const lines = `card=eth0 session=http://127.0.0.1:${port}/boot/session/ticket\nopen_session\ncat "$KEY"; echo "$node $mode"`;
    const opened = withFunctions(['common', 'network', 'seal', 'tpm', 'media', 'session', 'facts'], lines);
    const { stdout } = await promisify(execFile)('dash', ['-eu', '-c', opened], { env: ENVIRONMENT });
    expect(stdout).toBe('Authorization: Bearer the-key\nnode05 inspect\n');
    expect(bodies).toHaveLength(2);
    expect(bodies[0]).toEqual(bodies[1]);
    expect(bodies[0]?.nonce).toMatch(/^[0-9a-f]{64}$/);
  });
});

interface Disk {
  readonly name: string;
  readonly serial: string | null;
  readonly model: string | null;
  readonly by_id: readonly string[];
  readonly bytes: number;
  readonly rotational: boolean | null;
  readonly read_only: boolean;
  readonly removable: boolean;
}

const PLAIN: Disk = {
  ...{ name: 'sda', serial: 'A', model: 'M', by_id: ['ata-M_A'], bytes: 1000, rotational: false },
  ...{ read_only: false, removable: false },
};

function choose(disks: readonly Disk[], wanted: object = {}, image = 500): string {
  const order = join(folder, 'choose-order.json');
  writeFileSync(order, JSON.stringify({ disk: wanted, image: { bytes: image } }));
  const args = ['-r', '--slurpfile', 'order', order, '-f', join(SCRIPTS, 'choose-disk.jq')];
  const { stdout, stderr } = run('jq', args, JSON.stringify(disks));
  expect(stderr).toBe('');
  return stdout.trim();
}

describe('choosing a disk', () => {
  const other: Disk = { ...PLAIN, name: 'sdb', serial: 'B', by_id: ['ata-M_B'], bytes: 2000, rotational: true };

  it.each([
    ['the only one', [PLAIN], {}, 'disk sda'],
    ['by its serial number', [PLAIN, other], { serial: 'B' }, 'disk sdb'],
    ['by its name in by-id', [PLAIN, other], { by_id: 'ata-M_A' }, 'disk sda'],
    ['by size', [PLAIN, other], { min_bytes: 1500 }, 'disk sdb'],
    ['by the largest size allowed', [PLAIN, other], { max_bytes: 1500 }, 'disk sda'],
    ['by kind', [PLAIN, other], { rotational: true }, 'disk sdb'],
  ])('%s', (_, disks, wanted, chosen) => {
    expect(choose(disks, wanted)).toBe(chosen);
  });

  it.each([
    ['two that match', [PLAIN, other], {}, /^refused 2 disks match .*sda.*sdb/],
    ['none that matches', [PLAIN], { serial: 'X' }, /^refused no disk matches the order; there are: sda/],
    ['no disk at all', [], {}, /there is no disk$/],
    ['a read-only one', [{ ...PLAIN, read_only: true }], {}, /^refused the only matching disks are read-only/],
    ['the medium it may have started from', [{ ...PLAIN, removable: true }], {}, /^refused .* removable/],
    ['one that is too small', [{ ...PLAIN, bytes: 499 }], {}, /^refused the image has 500 bytes and fits on none/],
  ])('refuses %s', (_, disks, wanted, reason) => {
    expect(choose(disks, wanted)).toMatch(reason);
  });

  it('never returns a disk that is read-only, removable or too small', () => {
    const disk = fc.record({
      ...{ serial: fc.constantFrom('A', 'B', null), model: fc.constantFrom('M', null) },
      ...{ bytes: fc.constantFrom(1, 499, 500, 1000), rotational: fc.constantFrom(true, false, null) },
      ...{ read_only: fc.boolean(), removable: fc.boolean() },
    });
    fc.assert(
      fc.property(fc.array(disk, { maxLength: 4 }), (list) => {
        const disks = list.map((one, at) => ({ ...one, name: `sd${at}`, by_id: [] }));
        const good = disks.filter((one) => !one.read_only && !one.removable && one.bytes >= 500);
        const said = choose(disks);
        if (good.length === 1) expect(said).toBe(`disk ${good[0]?.name}`);
        else expect(said).toMatch(/^refused /);
      }),
      { numRuns: 25 },
    );
  });
});
