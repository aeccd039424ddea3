import { describe, expect, it } from 'vitest';
import type { ClientFacts } from '../../../appliance/boot/client-facts.ts';
import { decideBoot } from '../../../appliance/boot/decide-boot.ts';
import type { NextStage } from '../../../appliance/boot/next-stage.ts';
import {
  type DhcpReply,
  dhcpReply,
  type ReplyContext,
  replyLimit,
} from '../../../appliance/boot/replies/dhcp-reply.ts';
import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import type { DhcpMessage } from '../../../appliance/codecs/dhcp4/message.ts';
import { readText, writeU16 } from '../../../appliance/codecs/dhcp4/option-values.ts';
import { messageType, OPTION } from '../../../appliance/codecs/dhcp4/options.ts';
import { plainMessage } from '../../codecs/dhcp4/dhcp-messages.ts';
import { factsOf, machineIn, NOW, SERVER } from '../boot-fixtures.ts';
import { ip, NETWORK } from '../leases/lease-fixtures.ts';

const network = {
  ...NETWORK,
  unknown: 'inspect' as const,
  dns: [ip('10.0.100.1'), ip('8.8.8.8')],
  domain: 'prov.example.com' as never,
};
const lease = { kind: 'offer', address: ip('10.0.100.100'), seconds: 600 } as const;
const request: DhcpMessage = { ...plainMessage, op: 'request', hops: 3, secs: 9, file: '', yiaddr: ip('0.0.0.0') };

function rendered(reply: DhcpReply, facts: ClientFacts, changes: Partial<ReplyContext> = {}): DhcpMessage {
  const { nextStage: stage } = decideBoot({ facts, machine: null, network, profile: null, now: NOW });
  const context = { request, facts, machine: null, network, server: SERVER, serverIdentifier: SERVER.address, stage };
  return dhcpReply(reply, { ...context, ...changes });
}
const text = (message: DhcpMessage, code: number): string | null => {
  const value = message.options.get(code);
  return value === undefined ? null : readText(value);
};
const bytes = (message: DhcpMessage, code: number): string | null => {
  const value = message.options.get(code);
  return value === undefined ? null : Buffer.from(value).toString('hex');
};

const firmware = factsOf(7);
const bios = factsOf(0);
const http = factsOf(16);
const ipxe = factsOf(7, {
  program: 'ipxe',
  ipxe: { version: '1.21.1', http: true, https: false, efi: true, bzimage: false, menu: true },
});
const os = factsOf(7, { program: 'os' });
const SCRIPT = 'http://10.0.100.10:8080/boot/ipxe/boot.ipxe';

interface BootOptions {
  readonly class: string | null;
  readonly pxe: string | null;
  readonly file: string;
  readonly option67: string | null;
  readonly ipxe: string | null;
}

describe('the boot options of each client', () => {
  it.each<[string, DhcpReply, ClientFacts, BootOptions]>([
    [
      'UEFI firmware: the loader, and no search for servers',
      lease,
      firmware,
      { class: 'PXEClient', pxe: '060108ff', file: 'ipxe.efi', option67: 'ipxe.efi', ipxe: null },
    ],
    [
      'BIOS firmware: its own loader',
      lease,
      bios,
      { class: 'PXEClient', pxe: '060108ff', file: 'undionly.kpxe', option67: 'undionly.kpxe', ipxe: null },
    ],
    [
      'HTTP firmware: a URL, and HTTPClient back',
      lease,
      http,
      {
        class: 'HTTPClient',
        pxe: null,
        file: 'http://10.0.100.10:8080/boot/loader/ipxe.efi',
        option67: 'http://10.0.100.10:8080/boot/loader/ipxe.efi',
        ipxe: null,
      },
    ],
    [
      'iPXE: the script, and no wait for a proxy',
      lease,
      ipxe,
      { class: null, pxe: null, file: SCRIPT, option67: SCRIPT, ipxe: 'b00101ff' },
    ],
    ['an operating system: nothing', lease, os, { class: null, pxe: null, file: '', option67: null, ipxe: null }],
    [
      'BIOS firmware beside another server: with discovery control',
      { kind: 'proxy-offer' },
      bios,
      { class: 'PXEClient', pxe: '060108ff', file: 'undionly.kpxe', option67: 'undionly.kpxe', ipxe: null },
    ],
    [
      'UEFI firmware beside another server: without option 43',
      { kind: 'proxy-offer' },
      firmware,
      { class: 'PXEClient', pxe: null, file: 'ipxe.efi', option67: 'ipxe.efi', ipxe: null },
    ],
    [
      'iPXE beside another server: as a PXE client',
      { kind: 'proxy-offer' },
      ipxe,
      { class: 'PXEClient', pxe: '060108ff', file: SCRIPT, option67: SCRIPT, ipxe: null },
    ],
    [
      'a client of the boot server: the file',
      { kind: 'boot-server' },
      firmware,
      { class: 'PXEClient', pxe: null, file: 'ipxe.efi', option67: 'ipxe.efi', ipxe: null },
    ],
  ])('%s', (_, reply, facts, expected) => {
    const message = rendered(reply, facts);
    expect({
      class: text(message, OPTION.vendorClass),
      pxe: bytes(message, OPTION.vendorSpecific),
      file: message.file,
      option67: text(message, OPTION.bootFileName),
      ipxe: bytes(message, OPTION.ipxe),
    }).toEqual(expected);
    expect(message.siaddr).toBe(expected.file === '' ? '0.0.0.0' : SERVER.address);
    expect(text(message, OPTION.tftpServerName)).toBe(expected.file === '' ? null : SERVER.address);
  });

  it('a ROM that fails on PXE options: the file and nothing else, with a lease from us', () => {
    const machine = machineIn('ready', { spec: { plainPxe: true } });
    const plain = rendered(lease, firmware, { machine });
    expect(bytes(plain, OPTION.vendorClass) ?? bytes(plain, OPTION.vendorSpecific)).toBeNull();
    expect([plain.file, text(plain, OPTION.bootFileName)]).toEqual(['ipxe.efi', 'ipxe.efi']);
    expect(text(rendered({ kind: 'proxy-offer' }, firmware, { machine }), OPTION.vendorClass)).toBe('PXEClient');
  });

  it('a client that chose from a menu: the same choice echoed by the boot server', () => {
    const chosen = Uint8Array.of(71, 4, 0x80, 1, 0, 0, 255);
    const chosenRequest = { ...request, options: new Map([[OPTION.vendorSpecific, chosen]]) };
    expect(bytes(rendered({ kind: 'boot-server' }, bios, { request: chosenRequest }), OPTION.vendorSpecific)).toBe(
      '470480010000ff',
    );
    expect(bytes(rendered(lease, bios, { request: chosenRequest }), OPTION.vendorSpecific)).toBe('060108ff');
  });

  it('names are terminated, and 67 comes last except for the relay option', () => {
    const relayed = { ...request, options: new Map([[OPTION.relayAgentInformation, Uint8Array.of(1, 1, 7)]]) };
    const { bytes: wire } = encodeDhcp(rendered(lease, firmware, { request: relayed }), { maxBytes: 1472 });
    const codes = [...decodeDhcp(wire).options.keys()];
    expect(codes.slice(0, 2)).toEqual([OPTION.messageType, OPTION.serverIdentifier]);
    expect(codes.slice(-2)).toEqual([OPTION.bootFileName, OPTION.relayAgentInformation]);
    expect(rendered(lease, firmware).options.get(OPTION.bootFileName)?.at(-1)).toBe(0);
    expect(rendered(lease, firmware).options.get(OPTION.tftpServerName)?.at(-1)).toBe(0);
  });

  it('a URL too long for the header is only in the option', () => {
    const stage = { kind: 'loader', file: `${'x'.repeat(120)}.efi`, transport: 'http', starts: 'ipxe' } as NextStage;
    const message = rendered(lease, http, { stage });
    expect(message.file).toBe('');
    expect(text(message, OPTION.bootFileName)?.length).toBeGreaterThan(127);
  });
});

describe('the settings of a lease', () => {
  const machine = machineIn('ready');
  const message = rendered({ ...lease, kind: 'ack' }, os, { machine });

  it('are address, times, mask, gateway, DNS, names', () => {
    expect(message.yiaddr).toBe('10.0.100.100');
    expect([OPTION.leaseTime, OPTION.renewalTime, OPTION.rebindingTime].map((code) => bytes(message, code))).toEqual([
      '00000258',
      '0000012c',
      '0000020d',
    ]);
    expect(bytes(message, OPTION.subnetMask)).toBe('ffffff00');
    expect(bytes(message, OPTION.router)).toBe('0a006401');
    expect(bytes(message, OPTION.domainNameServer)).toBe('0a00640108080808');
    expect(bytes(message, OPTION.broadcastAddress)).toBe('0a0064ff');
    expect(text(message, OPTION.hostName)).toBe('node01');
    expect(text(message, OPTION.domainName)).toBe('prov.example.com');
  });

  it('have no time and no address in the reply to INFORM', () => {
    const informed = rendered({ kind: 'inform' }, os);
    expect(informed.yiaddr).toBe('0.0.0.0');
    expect(
      [OPTION.leaseTime, OPTION.renewalTime, OPTION.rebindingTime].some((code) => informed.options.has(code)),
    ).toBe(false);
    expect(bytes(informed, OPTION.subnetMask)).toBe('ffffff00');
  });

  it('are not in a proxy offer', () => {
    const offer = rendered({ kind: 'proxy-offer' }, firmware);
    const absent = [OPTION.leaseTime, OPTION.subnetMask, OPTION.router, OPTION.domainNameServer];
    expect(offer.yiaddr).toBe('0.0.0.0');
    expect(absent.filter((code) => offer.options.has(code))).toEqual([]);
  });
});

describe('the fields of a reply', () => {
  const options = new Map([
    [OPTION.clientIdentifier, Uint8Array.of(1, 2, 3)],
    [OPTION.chassisUuid, new Uint8Array(17)],
    [OPTION.subnetSelection, Uint8Array.of(10, 0, 100, 0)],
    [OPTION.relayAgentInformation, Uint8Array.of(1, 1, 7)],
  ]);
  const relayed = { ...request, options, giaddr: ip('10.0.200.1'), ciaddr: ip('10.0.100.100'), broadcast: false };

  it('copy transaction, hardware address, relay, and client identifier', () => {
    const message = rendered({ ...lease, kind: 'ack' }, firmware, { request: relayed });
    expect(message).toMatchObject({
      op: 'reply',
      xid: relayed.xid,
      chaddr: relayed.chaddr,
      giaddr: relayed.giaddr,
      secs: 0,
      hops: 0,
    });
    for (const [code, value] of options) expect(message.options.get(code)).toEqual(value);
  });

  it('copy ciaddr in an ACK only', () => {
    expect(rendered({ ...lease, kind: 'ack' }, os, { request: relayed }).ciaddr).toBe('10.0.100.100');
    expect(rendered(lease, os, { request: relayed }).ciaddr).toBe('0.0.0.0');
    expect(rendered({ kind: 'nak', words: 'no' }, os, { request: relayed }).ciaddr).toBe('0.0.0.0');
  });

  it('of a NAK: type, server, reason, the broadcast flag for the relay, and no boot file', () => {
    const message = rendered({ kind: 'nak', words: 'not here' }, firmware, { request: relayed });
    expect(messageType(message)).toBe('nak');
    expect(text(message, OPTION.errorMessage)).toBe('not here');
    expect(message).toMatchObject({ broadcast: true, yiaddr: '0.0.0.0', siaddr: '0.0.0.0', file: '' });
    const kept = [OPTION.messageType, OPTION.serverIdentifier, OPTION.errorMessage, OPTION.clientIdentifier];
    expect([...message.options.keys()]).toEqual([...kept, OPTION.subnetSelection, OPTION.relayAgentInformation]);
  });

  it('is the server identifier override of the relay', () => {
    const message = rendered(lease, os, { serverIdentifier: ip('10.0.200.1') });
    expect(bytes(message, OPTION.serverIdentifier)).toBe('0a00c801');
  });
});

describe('the largest reply', () => {
  it.each([
    ['is 548 bytes for a client that says nothing', null, 548],
    ['is the limit of the client, without the headers', 1472, 1444],
    ['is 1472 bytes for EDK2, whose REQUEST announces 65280', 65280, 1472],
    ['is never below what every client accepts', 300, 548],
  ])('%s', (_, announced, expected) => {
    const options = new Map(announced === null ? [] : [[OPTION.maxMessageSize, writeU16(announced)]]);
    expect(replyLimit({ ...request, options })).toBe(expected);
  });
});
