import { describe, expect, test } from 'vitest';
import { ALL, closingLine, PRINTED, type Reading } from './printed.ts';

const read = (bench: string, label: string, output: string): Reading | null => {
  const figure = PRINTED[bench]?.find((each) => each.label === label);
  if (!figure) throw new Error(`${bench} has no figure "${label}"`);
  return figure.read(output);
};

/** All figures of a benchmark that are in this output. */
const readAll = (bench: string, output: string): Record<string, number> =>
  Object.fromEntries(
    (PRINTED[bench] ?? []).flatMap((figure) => {
      const reading = figure.read(output);
      return reading === null ? [] : [[figure.label, reading.value]];
    }),
  );

const DHCP = `4-way exchanges/s           without loss   most completed   limited by   CPU µs each
coldiron (synced to disk)          12923            13100     perfdhcp          48.2
kea, one thread                     8000             8210       server         104
kea, threads                        7250             7300       server         181
dnsmasq                              500              510       server          91.0
dhcp: ours=12923 peer=8000 (kea, one thread) ratio=1.62
`;

const TFTP_OLD = `32 clients, 1 MiB, MB/s   coldiron   dnsmasq   atftpd   ratio
curl, blocks of 1468             102      96.1     88.0    1.06
atftp, blocks of 1468            109      99.0     99.2    1.10
atftp, windows of 4              264       103      192    1.38
atftp, windows of 16             464       102      255    1.82
tftp: ours=102 peer=96.1 (dnsmasq) ratio=1.06
`;
const TFTP = `${TFTP_OLD.slice(0, TFTP_OLD.indexOf('tftp:'))}CPU µs per MB                coldiron   dnsmasq   atftpd
CPU, curl, blocks of 1468        5200      6000     7100
CPU, atftp, blocks of 1468       5100      6100     7000
CPU, atftp, windows of 4         2000      6200     5000
CPU, atftp, windows of 16        1200      6300     4900
${TFTP_OLD.slice(TFTP_OLD.indexOf('tftp:'))}`;

describe('the figures in the output of a benchmark', () => {
  test('the rate of DHCP with the best peer, and the cheapest peer by CPU', () => {
    expect(PRINTED.dhcp?.map((figure) => figure.read(DHCP))).toEqual([
      { value: 12923, peer: { name: 'kea, one thread', value: 8000 } },
      { value: 48.2, peer: { name: 'dnsmasq', value: 91 } },
    ]);
  });

  test('TFTP by client program; the fastest peer is not always the same', () => {
    expect(read('tftp', 'TFTP, 32 clients (curl, blocks of 1468)', TFTP)).toEqual({
      value: 102,
      peer: { name: 'dnsmasq', value: 96.1 },
    });
    expect(read('tftp', 'TFTP, 32 clients (atftp, windows of 16)', TFTP)).toEqual({
      value: 464,
      peer: { name: 'atftpd', value: 255 },
    });
    expect(read('tftp', 'TFTP, CPU of the server (atftp, windows of 4)', TFTP)).toEqual({
      value: 2000,
      peer: { name: 'atftpd', value: 5000 },
    });
  });

  test('an older output has fewer: what it does not print is null', () => {
    expect(read('tftp', 'TFTP, 32 clients (atftp, windows of 4)', TFTP_OLD)?.value).toBe(264);
    expect(read('tftp', 'TFTP, CPU of the server (atftp, windows of 4)', TFTP_OLD)).toBeNull();
    const old = 'decide: nodes=10000 packets_per_s=310000 decisions_per_s=1200000\n';
    expect(readAll('decide', old)).toEqual({
      'boot decisions from a packet, 10,000 nodes': 310_000,
      'boot decisions from facts, 10,000 nodes': 1_200_000,
    });
    const now = `${old.trimEnd()} cpu_us_per_packet=3.200 cpu_us_per_decision=0.810\n`;
    expect(readAll('decide', now)).toMatchObject({ 'boot decision from facts, CPU': 0.81 });
  });

  test('apply: what is only in the table for people is read from it, in both forms', () => {
    const old = `first apply of 10000 nodes                    2.07 s
apply without a change                        0.46 s
edit of one node, effective (median of 5)     0.61 s
apply: nodes=10000 first_s=2.07 edit_s=0.61
`;
    expect(readAll('apply', old)).toEqual({
      'first apply of 10,000 nodes': 2.07,
      'apply without a change': 0.46,
      'edit of one node, effective': 0.61,
    });
    const now = `apply without a change                        0.45 s, 0.12 s of CPU in the appliance
apply: nodes=10000 first_s=2.00 edit_s=0.60 none_s=0.45 first_cpu_s=1.10 edit_cpu_s=0.14 none_cpu_s=0.12
`;
    expect(readAll('apply', now)).toEqual({
      'first apply of 10,000 nodes': 2,
      'apply without a change': 0.45,
      'edit of one node, effective': 0.6,
      'first apply, CPU of the appliance': 1.1,
      'edit of one node, CPU of the appliance': 0.14,
    });
  });

  test('HTTP: speed, CPU with that of the peer, and the highest memory', () => {
    const output = `16 clients, 250 MiB   MB/s   CPU ms per GB
coldiron              3300              90
nginx, sendfile       3600              80
memory of coldiron            MB
before the first request   102.1
after one                    110
after all                    146
at most                      250
http: ours=3300 peer=3600 (nginx) ratio=0.92 cpu_ms_per_gb=90.0 peer_cpu_ms_per_gb=80.0
`;
    expect(PRINTED.http?.map((figure) => figure.read(output))).toEqual([
      { value: 3300, peer: { name: 'nginx', value: 3600 } },
      { value: 90, peer: { name: 'nginx', value: 80 } },
      { value: 250, peer: null },
    ]);
  });

  test('storm, idle, render, bmc, onboarding and fuzz', () => {
    const storm = 'storm: machines=1000 lost=0 p50_ms=2.1 p99_ms=9.8 resent=3 cpu_ms_per_machine=4.21\n';
    expect(Object.values(readAll('storm', storm))).toEqual([0, 2.1, 9.8, 4.21]);
    const idle = 'idle: rss_mb=121 rss_10000_nodes_mb=187 limit_mb=200 cpu_ms_per_s=1.0 cpu_10000_nodes_ms_per_s=2.5\n';
    expect(Object.values(readAll('idle', idle))).toEqual([121, 187, 1, 2.5]);
    const render = 'render: nodes=10000 seconds=4.9 per_node_us=490 cpu_us_per_node=480 rss_mb=210\n';
    expect(Object.values(readAll('render', render))).toEqual([490, 480, 210]);
    const bmc = `power status of 500 BMCs, BMCs/s      suite 17   suite 3
coldiron, with strangers                  1900      2000
coldiron, suite remembered                2600      2700
with 2000 sessions open      144
bmc: ours=2600 peer=2153 (ipmipower) ratio=1.21 cpu_us_per_bmc=300
`;
    expect(Object.values(readAll('bmc', bmc))).toEqual([2600, 1900, 300, 144]);
    const onboarding = 'onboarding: ours=61.0 peer=41.5 (direct kernel boot) ratio=1.47\n';
    expect(PRINTED.onboarding?.[0]?.read(onboarding)?.peer).toEqual({ name: 'direct kernel boot', value: 41.5 });
    const fuzz = 'fuzz: inputs=1000 crashes=0 heap_growth_mib=0.1 seconds=12 seed=24301\n';
    expect(Object.values(readAll('fuzz', fuzz))).toEqual([0, 12]);
  });

  test('no output, a line of another benchmark and a value that is no number are no figures', () => {
    for (const [bench, figures] of Object.entries(PRINTED)) {
      for (const figure of figures) {
        expect(figure.read(''), `${bench}: ${figure.label}`).toBeNull();
        expect(figure.read('other: ours=1 peer=2 (x) ratio=0.5\n'), `${bench}: ${figure.label}`).toBeNull();
      }
    }
    expect(PRINTED.storm?.map((figure) => figure.read('storm: machines=1 lost=1 p50_ms=NaN p99_ms=NaN\n'))).toEqual([
      { value: 1, peer: null },
      null,
      null,
      null,
    ]);
    // A name that only ends with the key is another member.
    expect(readAll('idle', 'idle: peak_rss_mb=5\n')).toEqual({});
  });

  test('the closing line is the last of its name', () => {
    expect(closingLine('fuzz', 'fuzz: a=1\nother: a=2\nfuzz: a=3\n')).toBe('fuzz: a=3');
    expect(closingLine('fuzz', 'fuzzy: a=1\n')).toBeNull();
  });

  test('labels are unique: a table names each figure once', () => {
    const labels = Object.values(PRINTED).flatMap((figures) => figures.map(({ label }) => label));
    expect(new Set(labels).size).toBe(labels.length);
  });

  test('"all" leaves out what takes very long and what measures no speed', () => {
    expect(ALL).toEqual(['dhcp', 'tftp', 'http', 'bmc', 'storm', 'apply', 'decide', 'render', 'idle']);
  });
});
