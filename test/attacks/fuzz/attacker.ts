// Sends mutated inputs to the real sockets of an appliance, from the network namespace that it is started in.
//
//   attacker.ts WHAT COUNT SEED ADDRESS PORT [DEVICE]      WHAT: dhcp, tftp, http, tls
//
// It is paced by the appliance: after each batch it waits for the answer to a valid request, which is processed after the batch. Prints one
// line of JSON at the end.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { openDeviceSocket } from '../../../appliance/net/udp/device-socket.ts';
import { mac } from '../../boot/leases/lease-fixtures.ts';
import { readRaw } from '../../servers/dhcp/raw-packet.ts';
import { FIRMWARE, packet } from '../../servers/dhcp/rig.ts';
import { mutateBytes, mutateDhcpOptions, mutated } from './mutate-bytes.ts';
import { mutatedJson, mutateText } from './mutate-text.ts';
import { Random } from './random.ts';
import { AGENTS, dhcpSamples, requestSamples, SESSION_BODIES, TARGETS, tftpSamples } from './samples.ts';

const [what = '', countText = '', seedText = '', address = '', portText = '', device = ''] = process.argv.slice(2);
const [count, seed, port] = [Number(countText), Number(seedText), Number(portText)];
const random = new Random();

/** Fewer than a socket buffers. */
const BATCH = 50;
const ASK_AGAIN_MS = 500;
const CONNECTIONS = 12;
/** For a connection on which the appliance waits for more: it closes it itself after seconds, which the test does not wait for. */
const MOST_SILENCE_MS = 250;

async function inBatches(
  send: (bytes: Uint8Array) => void,
  make: (input: number) => Uint8Array,
  drained: () => Promise<void>,
) {
  for (let input = 0; input < count; ) {
    for (const end = Math.min(count, input + BATCH); input < end; input += 1) {
      random.start(seed, input);
      send(make(input));
    }
    await drained();
  }
}

const pick = (samples: readonly Uint8Array[]): Uint8Array => samples[random.below(samples.length)] ?? new Uint8Array();

/** Resolves when the answer has arrived; asks again, because a datagram may be lost. */
async function answered(ask: () => void, answer: Promise<void>): Promise<void> {
  ask();
  const again = setInterval(ask, ASK_AGAIN_MS);
  await answer.finally(() => clearInterval(again));
}

async function attackDhcp(): Promise<void> {
  const samples = dhcpSamples();
  const own = mac(7);
  let waiting: { readonly xid: number; readonly done: () => void } | null = null;
  const socket = await openDeviceSocket({
    interface: device,
    port: 68,
    onMessage: (bytes) => {
      if (bytes[0] !== 2) return;
      const { xid } = readRaw(bytes);
      if (xid === waiting?.xid) waiting.done();
    },
    onError: () => undefined,
  });
  const to = { address: '255.255.255.255' as Ipv4, port };
  let xid = 1;
  await inBatches(
    (bytes) => socket.send(bytes, to),
    () => mutated(pick(samples), random, mutateDhcpOptions),
    async () => {
      xid += 1;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting = { xid, done: resolve };
      const discover = encodeDhcp(packet('discover', own, { xid, options: FIRMWARE }), { maxBytes: 1472 }).bytes;
      await answered(() => socket.send(discover, to), promise);
    },
  );
  await socket.close();
}

async function attackTftp(): Promise<void> {
  const samples = tftpSamples();
  const [socket, asking] = [createSocket('udp4'), createSocket('udp4')];
  for (const each of [socket, asking]) {
    each.bind();
    await once(each, 'listening');
  }
  const missing = Buffer.from('\0\u0001no such file\0octet\0tsize\x000\0', 'latin1');
  await inBatches(
    (bytes) => socket.send(bytes, port, address),
    () => mutated(pick(samples), random),
    () =>
      answered(
        () => asking.send(missing, port, address),
        once(asking, 'message').then(() => undefined),
      ),
  );
  socket.close();
  asking.close();
}

/** The bytes of a request, damaged in its target, its headers, its body, or anywhere. */
function httpRequest(): Uint8Array {
  const [, body] = random.oneOf(SESSION_BODIES);
  const hasBody = random.below(3) === 0;
  const text = hasBody ? mutatedJson(body, random) : '';
  const target = random.below(3) === 0 ? random.oneOf(TARGETS) : mutateText(random.oneOf(TARGETS), random);
  const method = hasBody ? random.oneOf(['POST', 'PUT']) : random.oneOf(['GET', 'HEAD', 'GET', 'DELETE', 'BREW']);
  const headers = [
    `Host: ${address}`,
    `User-Agent: ${random.below(4) === 0 ? mutateText(random.oneOf(AGENTS), random) : random.oneOf(AGENTS)}`,
    'Connection: close',
    ...(hasBody ? ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`] : []),
    ...(random.below(6) === 0 ? [`Authorization: Bearer ${mutateText('A'.repeat(43), random)}`] : []),
    ...(random.below(6) === 0 ? [`Range: bytes=${random.below(99)}-${random.below(99)}`] : []),
  ];
  const bytes = Buffer.from(`${method} ${target} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${text}`, 'utf8');
  // Not a Buffer: its slices share their memory.
  return random.below(4) === 0 ? mutateBytes(Uint8Array.from(bytes), random) : bytes;
}

/** What a node sends: a TLS handshake, or a request inside of one. */
function nodeRequest(): Uint8Array {
  const body = JSON.stringify({
    node_id: mutateText('00000000-0000-4000-8000-000000000001', random),
    token: mutateText(`cet_${'A'.repeat(48)}`, random),
    certificate_request: Buffer.from(mutated(pick(requestSamples()), random)).toString('base64'),
  });
  const path = mutateText(
    random.oneOf(['/node/v1/enroll', '/node/v1/ca', '/node/v1/heartbeat', '/node/v1/renew']),
    random,
  );
  const type = random.oneOf(['application/json', 'application/x-www-form-urlencoded', 'text/plain']);
  const head = `POST ${path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\nContent-Type: ${type}\r\n`;
  return Buffer.from(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

/** One connection: sends, reads what comes, and closes. */
async function exchange(socket: Socket, bytes: Uint8Array): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined);
  socket.resume();
  socket.setTimeout(MOST_SILENCE_MS, () => socket.destroy());
  socket.end(bytes);
  await closed;
}

async function attackTcp(open: (input: number) => Socket, make: (input: number) => Uint8Array): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let input = next; input < count; input = next) {
      next += 1;
      random.start(seed, input);
      const bytes = make(input);
      await exchange(open(input), bytes);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}

/** A ClientHello of TLS 1.2 without extensions, which every other input mutates. */
const CLIENT_HELLO = Uint8Array.from(
  Buffer.from(`16030100310100002d0303${'5a'.repeat(32)}000006c02fc030009c0100`, 'hex'),
);
const isRaw = (input: number): boolean => input % 4 !== 0;

switch (what) {
  case 'dhcp':
    await attackDhcp();
    break;
  case 'tftp':
    await attackTftp();
    break;
  case 'http':
    await attackTcp(() => connect(port, address), httpRequest);
    break;
  case 'tls':
    // Handshakes cost the appliance most: one in four is completed.
    await attackTcp(
      (input) =>
        isRaw(input) ? connect(port, address) : connectTls({ host: address, port, rejectUnauthorized: false }),
      (input) => (isRaw(input) ? mutated(CLIENT_HELLO, random) : nodeRequest()),
    );
    break;
  default:
    throw new Error('dhcp, tftp, http or tls');
}
process.stdout.write(`${JSON.stringify({ what, inputs: count, seconds: Math.round(process.uptime()) })}\n`);
