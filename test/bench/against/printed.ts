// The figures that each benchmark prints, and how to read them from its output. An older tree prints fewer of them: what is not
// there is null.

export interface Reading {
  readonly value: number;
  /** The best peer in the same run. */
  readonly peer: { readonly name: string; readonly value: number } | null;
}

export interface PrintedFigure {
  readonly label: string;
  readonly unit: string;
  readonly better: 'more' | 'less';
  readonly read: (output: string) => Reading | null;
}

const NUMBER = '(-?\\d+(?:\\.\\d+)?)';

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const finite = (text: string | undefined): number | null => {
  const value = Number(text);
  return text === undefined || !Number.isFinite(value) ? null : value;
};

/** The last line that begins with the benchmark's name: `apply: nodes=10000 first_s=2.07`. */
export const closingLine = (bench: string, output: string): string | null =>
  output
    .split('\n')
    .filter((line) => line.startsWith(`${bench}: `))
    .at(-1) ?? null;

/** One member of the closing line; `peerKey` is the same of the peer. */
const member =
  (bench: string, key: string, peerKey?: string): PrintedFigure['read'] =>
  (output) => {
    const line = closingLine(bench, output) ?? '';
    const of = (name: string): number | null => finite(new RegExp(` ${name}=${NUMBER}(?= |$)`).exec(line)?.[1]);
    const value = of(key);
    if (value === null) return null;
    const peer = peerKey === undefined ? null : of(peerKey);
    const name = /\(([^)]+)\)/.exec(line)?.[1] ?? 'peer';
    return { value, peer: peer === null ? null : { name, value: peer } };
  };

/** `dhcp: ours=12923 peer=8000 (kea, one thread) ratio=1.62`. */
const verdict = (bench: string): PrintedFigure['read'] => member(bench, 'ours', 'peer');

/** One number of the line that begins with these words. `after`: what stands between them and the number. */
const inLine =
  (words: string, after = '\\s+'): PrintedFigure['read'] =>
  (output) => {
    const value = finite(new RegExp(`^${escaped(words)}${after}${NUMBER}`, 'm').exec(output)?.[1]);
    return value === null ? null : { value, peer: null };
  };

/** Words in a table are separated by three spaces. */
const cellsOf = (line: string): string[] => line.trimEnd().split(/ {2,}/);

/** A row of a table whose columns are servers, ours first. */
const rowOfServers =
  (name: string, best: (values: readonly number[]) => number): PrintedFigure['read'] =>
  (output) => {
    const lines = output.split('\n');
    const at = lines.findIndex((line) => cellsOf(line)[0] === name);
    const [, ours, ...others] = cellsOf(lines[at] ?? '');
    const value = finite(ours);
    const head = lines.slice(0, Math.max(0, at)).findLast((line) => cellsOf(line)[1] === 'coldiron');
    if (value === null || head === undefined) return null;
    const peers = cellsOf(head)
      .slice(2)
      .flatMap((peer, column) => {
        const each = finite(others[column]);
        return each === null || peer === 'ratio' ? [] : [{ name: peer, value: each }];
      });
    const bestValue = best(peers.map((peer) => peer.value));
    return { value, peer: peers.find((peer) => peer.value === bestValue) ?? null };
  };
const largest = (values: readonly number[]): number => Math.max(...values);
const smallest = (values: readonly number[]): number => Math.min(...values);

/** The last column of the table of DHCP servers: one row each, ours first. */
function dhcpCpu(output: string): Reading | null {
  const lines = output.split('\n');
  const head = lines.findIndex((line) => line.includes('CPU µs each'));
  if (head === -1) return null;
  const end = lines.findIndex((line, at) => at > head && line.startsWith('dhcp: '));
  const rows = lines.slice(head + 1, end === -1 ? undefined : end).map((line) => cellsOf(line));
  const costs = rows.flatMap((cells) => {
    const value = finite(cells.at(-1));
    return value === null ? [] : [{ name: cells[0] ?? '', value }];
  });
  const [ours, ...peers] = costs;
  if (!ours?.name.startsWith('coldiron')) return null;
  const least = smallest(peers.map(({ value }) => value));
  return { value: ours.value, peer: peers.find(({ value }) => value === least) ?? null };
}

const TFTP_CLIENTS = ['curl, blocks of 1468', 'atftp, blocks of 1468', 'atftp, windows of 4', 'atftp, windows of 16'];

const more = (label: string, unit: string, read: PrintedFigure['read']): PrintedFigure => ({
  label,
  unit,
  better: 'more',
  read,
});
const less = (label: string, unit: string, read: PrintedFigure['read']): PrintedFigure => ({
  label,
  unit,
  better: 'less',
  read,
});

/** By benchmark, in the order of the table that `all` prints. */
export const PRINTED: Readonly<Record<string, readonly PrintedFigure[]>> = {
  dhcp: [
    more('DHCP 4-way exchanges without loss, leases synced to disk', '/s', verdict('dhcp')),
    less('DHCP, CPU of the server per exchange', 'µs', dhcpCpu),
  ],
  tftp: [
    ...TFTP_CLIENTS.map((client) => more(`TFTP, 32 clients (${client})`, 'MB/s', rowOfServers(client, largest))),
    ...TFTP_CLIENTS.map((client) =>
      less(`TFTP, CPU of the server (${client})`, 'µs/MB', rowOfServers(`CPU, ${client}`, smallest)),
    ),
  ],
  http: [
    more('HTTP, 16 clients, 250 MiB from memory', 'MB/s', verdict('http')),
    less('HTTP, CPU of the server', 'ms/GB', member('http', 'cpu_ms_per_gb', 'peer_cpu_ms_per_gb')),
    less('HTTP, memory of the server at most', 'MB', inLine('at most')),
  ],
  bmc: [
    more('power status of 500 simulated BMCs (IPMI, cipher suite 17)', '/s', verdict('bmc')),
    more('the same without a remembered suite', '/s', inLine('coldiron, with strangers')),
    less('BMC, our CPU per BMC', 'µs', member('bmc', 'cpu_us_per_bmc')),
    less('memory with 2,000 IPMI sessions open', 'MB', inLine('with 2000 sessions open')),
  ],
  storm: [
    less('storm of 1,000 machines in a minute: lost', 'machines', member('storm', 'lost')),
    less('storm: own script, p50', 'ms', member('storm', 'p50_ms')),
    less('storm: own script, p99', 'ms', member('storm', 'p99_ms')),
    less('storm: CPU of the server per machine', 'ms', member('storm', 'cpu_ms_per_machine')),
  ],
  stream: [
    less('storm with 1,000 listeners: lost', 'machines', member('stream', 'lost')),
    less('storm with 1,000 listeners: own script, p99', 'ms', member('stream', 'p99_ms')),
    less('storm with 1,000 listeners: CPU of the server per machine', 'ms', member('stream', 'cpu_ms_per_machine')),
    less('storm with 1,000 listeners: memory', 'MB', member('stream', 'rss_mb')),
  ],
  apply: [
    less('first apply of 10,000 nodes', 's', member('apply', 'first_s')),
    less('apply without a change', 's', inLine('apply without a change')),
    less('edit of one node, effective', 's', member('apply', 'edit_s')),
    less('first apply, CPU of the appliance', 's', member('apply', 'first_cpu_s')),
    less('edit of one node, CPU of the appliance', 's', member('apply', 'edit_cpu_s')),
  ],
  decide: [
    more('boot decisions from a packet, 10,000 nodes', '/s', member('decide', 'packets_per_s')),
    more('boot decisions from facts, 10,000 nodes', '/s', member('decide', 'decisions_per_s')),
    less('boot decision from a packet, CPU', 'µs', member('decide', 'cpu_us_per_packet')),
    less('boot decision from facts, CPU', 'µs', member('decide', 'cpu_us_per_decision')),
  ],
  render: [
    less('rendering of one of 10,000 nodes', 'µs', member('render', 'per_node_us')),
    less('rendering, CPU per node', 'µs', member('render', 'cpu_us_per_node')),
    less('rendering, memory', 'MB', member('render', 'rss_mb')),
  ],
  idle: [
    less('idle, example-sized inventory: memory', 'MB', member('idle', 'rss_mb')),
    less('idle, 10,000 nodes: memory', 'MB', member('idle', 'rss_10000_nodes_mb')),
    less('idle, example-sized inventory: CPU', 'ms/s', member('idle', 'cpu_ms_per_s')),
    less('idle, 10,000 nodes: CPU', 'ms/s', member('idle', 'cpu_10000_nodes_ms_per_s')),
  ],
  consoles: [
    less('memory of each of 500 captured consoles', 'kB', member('consoles', 'kb_each')),
    less('CPU of 500 captured consoles, all booting', '% of a core', member('consoles', 'cpu_percent')),
  ],
  onboarding: [less('boots from power-on to active, without the installation', 's', verdict('onboarding'))],
  onboardings: [
    more('onboarding runs, 1,000 at once, the appliance killed 20 times', '/min', member('onboardings', 'per_minute')),
    less('onboarding runs: lost', 'runs', member('onboardings', 'lost')),
    less('onboarding runs: installed or enrolled twice', 'machines', member('onboardings', 'doubled')),
    less('onboarding runs: longest step, p99', 's', member('onboardings', 'p99_step_s')),
    less('onboarding runs: CPU of the appliance each', 'ms', member('onboardings', 'cpu_ms_per_run')),
    less('onboarding runs: memory of the appliance at most', 'MB', member('onboardings', 'peak_mb')),
  ],
  fuzz: [
    less('damaged inputs: crashes', 'inputs', member('fuzz', 'crashes')),
    less('damaged inputs: time', 's', member('fuzz', 'seconds')),
  ],
};

/** `all`: those that measure speed or memory and take minutes. The others are measured when they are named. */
export const ALL: readonly string[] = Object.keys(PRINTED).filter(
  (name) => !['consoles', 'onboarding', 'onboardings', 'fuzz', 'stream'].includes(name),
);
