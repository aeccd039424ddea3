// What is run with mutated inputs in this process: everything that reads bytes from a network before anything else has checked them.
// A target returns, or throws one of the errors that its caller expects; any other error is a crash.

import { factsFromDhcp, factsFromHttp, factsFromTftp } from '../../../appliance/boot/client-facts.ts';
import { decideProxy } from '../../../appliance/boot/decide-proxy.ts';
import { readLeaseRequest } from '../../../appliance/boot/leases/lease-request.ts';
import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import { describeDhcp, summarizeDhcp } from '../../../appliance/codecs/dhcp4/describe.ts';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import { DhcpDecodeError } from '../../../appliance/codecs/dhcp4/errors.ts';
import { messageType } from '../../../appliance/codecs/dhcp4/options.ts';
import { decodeTftp, TftpDecodeError } from '../../../appliance/codecs/tftp/decode.ts';
import { sanitizeTftpName } from '../../../appliance/codecs/tftp/name.ts';
import { negotiate } from '../../../appliance/codecs/tftp/negotiate.ts';
import { decodeCertificationRequest } from '../../../appliance/codecs/x509/certification-request.ts';
import { ColdironError } from '../../../appliance/domain/errors.ts';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { acceptRequest } from '../../../appliance/identity/certificate-request.ts';
import { readFacts, readOpening, readOutcome, readStep } from '../../../appliance/provisioning/sessions/reports.ts';
import { readBootReport } from '../../../appliance/servers/http-boot/boot-report.ts';
import { bootRoute } from '../../../appliance/servers/http-boot/boot-route.ts';
import { TftpTransfer } from '../../../appliance/servers/tftp/tftp-transfer.ts';
import { ipmiTarget } from './ipmi-target.ts';
import { mutateDer, mutateDhcpOptions, mutated, spliced } from './mutate-bytes.ts';
import { mutatedJson, mutateText } from './mutate-text.ts';
import type { Random } from './random.ts';
import {
  AGENTS,
  dhcpSamples,
  requestSamples,
  SESSION_BODIES,
  type SessionBodyName,
  TARGETS,
  tftpSamples,
} from './samples.ts';

export interface FuzzTarget {
  readonly name: string;
  /** Inputs of a hundred. */
  readonly share: number;
  /** Makes the input, runs it, and returns it: a crash is reported with it. `number`: counts the inputs of this target. */
  readonly attempt: (random: Random, number: number) => Attempted;
}

export interface Attempted {
  /** Made only when it is needed. */
  readonly input: () => string;
  /** Null: there was none. */
  readonly error: unknown;
  /** Not a crash. */
  readonly isExpected: boolean;
  /** The input was read, not refused. */
  readonly isAccepted: boolean;
}

/** Costly steps run for one input in this many. */
const RARELY = 25;
const ADDRESS = mustParse(parseIpv4('10.0.100.77'));
const LIMITS = { maxBlockSize: 1468, maxWindowSize: 16 };

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** `work` returns whether the input was accepted. */
export type Tried = typeof tried;

function tried(input: () => string, work: () => boolean, isExpected: (error: unknown) => boolean): Attempted {
  try {
    return { input, error: null, isExpected: true, isAccepted: work() };
  } catch (error) {
    return { input, error, isExpected: isExpected(error), isAccepted: false };
  }
}

const pick = (samples: readonly Uint8Array[], random: Random): Uint8Array =>
  samples[random.below(samples.length)] ?? new Uint8Array();

function dhcpTarget(): FuzzTarget {
  const samples = dhcpSamples();
  const run = (bytes: Uint8Array, number: number): boolean => {
    const message = decodeDhcp(bytes);
    const type = messageType(message);
    const facts = factsFromDhcp(message);
    if (type !== null) {
      const request = readLeaseRequest(message, type);
      if (request.ok) decideProxy(request.value, facts.program, { kind: 'nothing' } as never);
    }
    if (number % RARELY !== 0) return true;
    encodeDhcp(message, { maxBytes: 1472 });
    for (const text of [describeDhcp(message), summarizeDhcp(message)])
      if (!/^[\x20-\x7e\n]*$/.test(text)) throw new Error('a description is not plain text');
    return true;
  };
  return {
    name: 'DHCP',
    share: 25,
    attempt: (random, number) => {
      const sample = pick(samples, random);
      const bytes =
        random.below(8) === 0
          ? spliced(sample, pick(samples, random), random)
          : mutated(sample, random, mutateDhcpOptions);
      return tried(
        () => hex(bytes),
        () => run(bytes, number),
        (error) => error instanceof DhcpDecodeError,
      );
    },
  };
}

function tftpTarget(): FuzzTarget {
  const samples = tftpSamples();
  const file = new Uint8Array(5000).fill(7);
  const source = {
    size: file.length,
    whole: file,
    read: (at: number, length: number) => file.subarray(at, at + length),
  };
  const peer = { address: ADDRESS, port: 2000 };
  const request = samples[0] ?? new Uint8Array();
  const newTransfer = (): TftpTransfer => {
    const terms = negotiate(new Map([['windowsize', '4']]), LIMITS, file.length, 'octet');
    const transfer = new TftpTransfer({ peer, request, mode: 'octet', terms, source, rolloverTo: 0, firstReplies: 1 });
    transfer.start();
    return transfer;
  };
  let transfer = newTransfer();
  const run = (bytes: Uint8Array): boolean => {
    // A transfer gets every packet of its client, whatever it is.
    if (transfer.finished) transfer = newTransfer();
    transfer.onPacket(bytes, peer);
    const packet = decodeTftp(bytes);
    if (packet.op !== 'read') return true;
    const name = sanitizeTftpName(packet.fileName);
    if (name.ok) factsFromTftp({ address: ADDRESS, file: name.value });
    const { blockSize, windowSize } = negotiate(packet.options, LIMITS, 1 << 20, 'octet');
    if (blockSize > LIMITS.maxBlockSize || windowSize > LIMITS.maxWindowSize) throw new Error('beyond the limits');
    return name.ok;
  };
  return {
    name: 'TFTP',
    share: 20,
    attempt: (random) => {
      const sample = pick(samples, random);
      const bytes = random.below(8) === 0 ? spliced(sample, pick(samples, random), random) : mutated(sample, random);
      return tried(
        () => hex(bytes),
        () => run(bytes),
        (error) => error instanceof TftpDecodeError,
      );
    },
  };
}

function httpTarget(): FuzzTarget {
  const run = (target: string, userAgent: string): boolean => {
    const cut = target.indexOf('?');
    const path = cut < 0 ? target : target.slice(0, cut);
    const query = new URLSearchParams(cut < 0 ? '' : target.slice(cut + 1));
    const route = bootRoute(path);
    if (route.kind === 'asset' && /(?:^|\/)\.\.?(?:\/|$)|\\|\0/.test(route.name))
      throw new Error('a path leaves its folder');
    const field = (name: string): string | undefined => query.get(name) ?? undefined;
    factsFromHttp({
      path,
      address: ADDRESS,
      userAgent,
      mac: field('mac'),
      uuid: field('uuid'),
      serial: field('serial'),
      buildarch: field('buildarch'),
      platform: field('platform'),
      arch: field('arch'),
    });
    for (const text of Object.values(readBootReport(query).data))
      if (!/^[\x20-\x7e]*…?$/.test(String(text))) throw new Error('a report is not plain text');
    return route.kind !== 'unknown';
  };
  return {
    name: 'HTTP targets',
    share: 15,
    attempt: (random) => {
      const target = mutateText(random.oneOf(TARGETS), random);
      const agent = random.below(4) === 0 ? mutateText(random.oneOf(AGENTS), random) : random.oneOf(AGENTS);
      return tried(
        () => JSON.stringify([target, agent]),
        () => run(target, agent),
        () => false,
      );
    },
  };
}

const READERS: Readonly<Record<SessionBodyName, (value: unknown) => unknown>> = {
  opening: readOpening,
  step: readStep,
  outcome: readOutcome,
  facts: readFacts,
};

function sessionTarget(): FuzzTarget {
  return {
    name: 'session JSON',
    share: 10,
    attempt: (random) => {
      const [name, value] = random.oneOf(SESSION_BODIES);
      const text = mutatedJson(value, random);
      return tried(
        () => `${name} ${text}`,
        () => {
          // The server answers text that is no JSON with an error of its own.
          let body: unknown;
          try {
            body = JSON.parse(text);
          } catch {
            return false;
          }
          READERS[name](body);
          return true;
        },
        (error) => error instanceof ColdironError && error.code === 'invalid_request',
      );
    },
  };
}

function certificateTarget(): FuzzTarget {
  const samples = requestSamples();
  const identity = {
    id: '00000000-0000-4000-8000-000000000001',
    hostname: 'node01',
    fqdn: 'node01.example.com',
    addresses: [ADDRESS],
  } as never;
  const pem = (der: Uint8Array): string =>
    `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(der).toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE REQUEST-----\n`;
  return {
    name: 'CSR',
    share: 10,
    attempt: (random, number) => {
      const sample = pick(samples, random);
      const der =
        random.below(8) === 0 ? spliced(sample, pick(samples, random), random) : mutated(sample, random, mutateDer);
      return tried(
        () => hex(der),
        () => {
          // OpenSSL reads the key, which takes longer than all the rest.
          if (number % RARELY === 0) acceptRequest(pem(der), identity);
          return decodeCertificationRequest(der).ok;
        },
        () => false,
      );
    },
  };
}

export const fuzzTargets = (): FuzzTarget[] => [
  dhcpTarget(),
  tftpTarget(),
  ipmiTarget(tried),
  httpTarget(),
  sessionTarget(),
  certificateTarget(),
];
