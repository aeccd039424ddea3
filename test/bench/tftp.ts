// Thirty-two machines that fetch the same loader of 1 MiB over TFTP at the same time, each several times in a row: with blocks
// that are acknowledged one by one (curl), and with windows (atftp).

import { needPackages } from '../interop/packages.ts';
import type { RackProcess } from '../lab/rack/rack-process.ts';
import { allAtOnce, type ClientWork } from './all-at-once.ts';
import { LOADER, loaderFolder, putLoader } from './boot-files.ts';
import { provesItself } from './fetch-once.ts';
import { median, printTable, printVerdict, shown } from './figures.ts';
import { cpuSecondsOf } from './process-cost.ts';
import { largeRack } from './rack.ts';
import { BenchWire, PEERS, SERVER } from './wire.ts';

const CLIENTS = 32;
const BLOCK_SIZE = '1468';
/** What EDK2 requests, and the maximum that our server grants; each with a factor for the number of fetches. */
const WINDOW_SIZES = { 4: 2, 16: 4 };

interface TftpServerUnderTest {
  readonly name: string;
  readonly address: string;
}
const [DNSMASQ, ATFTPD] = PEERS;
const SERVERS: readonly TftpServerUnderTest[] = [
  { name: 'coldiron', address: SERVER },
  { name: 'dnsmasq', address: DNSMASQ },
  { name: 'atftpd', address: ATFTPD },
];

interface TftpClient {
  readonly name: string;
  /** Factor for the number of fetches: each kind must run for seconds, so that the start of its programs does not dominate. */
  readonly more: number;
  /** Fetches the loader this many times, one after the other. */
  readonly work: (address: string, times: number) => Omit<ClientWork, 'network'>;
}
const CURL: TftpClient = {
  name: `curl, blocks of ${BLOCK_SIZE}`,
  more: 1,
  // All in one process: starting curl takes longer than fetching the file.
  work: (address, times) => {
    const once = ['-o', '/dev/null', `tftp://${address}/${LOADER}`];
    const all = Array.from({ length: times }, () => once).flat();
    return { program: ['curl', '-sS', '--tftp-blksize', BLOCK_SIZE, ...all], times: 1 };
  },
};
/**
 * The same for atftp, which reads commands, needs an option to write to /dev/null, and continues after a failure. It must
 * report the length of the file for each fetch, with the headers of its packets.
 */
const ATFTP_SEVERAL_TIMES = `
  times=$1; file=$2; shift 2
  whole=$(yes "get $file /dev/null
y
status" | head -n "$((3 * times))" | atftp "$@" 2>&1 | grep -c 'Bytes transferred: *1\\.05.MB')
  [ "$whole" -eq "$times" ] || { echo "only $whole of $times" >&2; exit 1; }`;
const atftp = (name: string, more: number, ...options: readonly string[]): TftpClient => ({
  name,
  more,
  work: (address, times) => {
    const requested = [`blksize ${BLOCK_SIZE}`, ...options].flatMap((option) => ['--option', option]);
    return { program: ['sh', '-c', ATFTP_SEVERAL_TIMES, 'sh', String(times), LOADER, ...requested, address], times: 1 };
  },
});
const CLIENT_PROGRAMS = [
  CURL,
  atftp(`atftp, blocks of ${BLOCK_SIZE}`, 1),
  ...Object.entries(WINDOW_SIZES).map(([size, more]) => atftp(`atftp, windows of ${size}`, more, `windowsize ${size}`)),
];

export async function benchTftp(timesEach = 8, rounds = 7): Promise<void> {
  needPackages(['dnsmasq-base', 'atftpd', 'atftp', 'curl', 'iproute2']);
  await BenchWire.during(CLIENTS, async (wire) => {
    const loader = putLoader(wire.state);
    const [dnsmasq, atftpd] = startPeers(wire, loaderFolder(wire.state));
    const listen = { boot: 'off', management: '127.0.0.1:8443', tftp: `${SERVER}:69` };
    const appliance = await wire.coldiron({ listen, ...largeRack(0) });
    const pids = new Map([
      [SERVER, appliance.pid],
      [DNSMASQ, dnsmasq.pid],
      [ATFTPD, atftpd.pid],
    ]);
    for (const { address } of SERVERS) await provesItself(wire.client, `tftp://${address}/${LOADER}`, loader);

    const speeds = new Map<string, number[]>();
    const costs = new Map<string, number[]>();
    // The first round is not counted: our server compiles its code while it runs.
    for (let round = 0; round <= rounds; round++) {
      for (const client of CLIENT_PROGRAMS) {
        // Each server is first equally often.
        const order = SERVERS.map((_, at) => SERVERS[(at + round) % SERVERS.length] as TftpServerUnderTest);
        for (const server of order) {
          const times = timesEach * client.more;
          const work = client.work(server.address, times);
          const pid = pids.get(server.address) ?? Number.NaN;
          const cpuBefore = cpuSecondsOf(pid);
          const { seconds } = await allAtOnce(wire.clients.map((network) => ({ network, ...work })));
          const key = keyOf(client, server);
          const megabytes = (CLIENTS * times * loader.length) / 1e6;
          const cost = ((cpuSecondsOf(pid) - cpuBefore) * 1e6) / megabytes;
          if (round === 0) continue;
          speeds.set(key, [...(speeds.get(key) ?? []), megabytes / seconds]);
          costs.set(key, [...(costs.get(key) ?? []), cost]);
        }
      }
    }
    const medianOf =
      (of: ReadonlyMap<string, number[]>): Measured =>
      (client, server) =>
        median(of.get(keyOf(client, server)) ?? []);
    report(medianOf(speeds), medianOf(costs));
  });
}

const keyOf = (client: TftpClient, server: TftpServerUnderTest): string => `${client.name} ${server.name}`;

type Measured = (client: TftpClient, server: TftpServerUnderTest) => number;

/** `speed` in MB/s, `cost` in microseconds of the server's processor time per MB. */
function report(speed: Measured, cost: Measured): void {
  const names = SERVERS.map(({ name }) => name);
  const rows = CLIENT_PROGRAMS.map((client) => {
    const values = SERVERS.map((server) => speed(client, server));
    const [ours = Number.NaN, ...peers] = values;
    return [client.name, ...values.map(shown), (ours / Math.max(...peers)).toFixed(2)];
  });
  printTable([`${CLIENTS} clients, 1 MiB, MB/s`, ...names, 'ratio'], rows);
  printTable(
    ['CPU µs per MB', ...names],
    CLIENT_PROGRAMS.map((client) => [
      `CPU, ${client.name}`,
      ...SERVERS.map((server) => cost(client, server).toFixed(0)),
    ]),
  );
  const figures = SERVERS.map((server) => ({ name: server.name, value: speed(CURL, server) }));
  const [ours, ...peers] = figures;
  if (ours) printVerdict('tftp', ours.value, peers);
}

function startPeers(wire: BenchWire, folder: string): [dnsmasq: RackProcess, atftpd: RackProcess] {
  const dnsmasq = wire.serve([
    'dnsmasq',
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--user=root',
    '--port=0',
    '--log-facility=-',
    `--listen-address=${DNSMASQ}`,
    '--bind-interfaces',
    '--enable-tftp',
    `--tftp-root=${folder}`,
    '--quiet-tftp',
  ]);
  const asRoot = ['--user', 'root', '--group', 'root', '--verbose=0'];
  const atftpd = wire.serve([
    'atftpd',
    '--daemon',
    '--no-fork',
    '--bind-address',
    ATFTPD,
    ...asRoot,
    '--logfile',
    '/dev/null',
    folder,
  ]);
  return [dnsmasq, atftpd];
}
