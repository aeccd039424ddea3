// Valid inputs that are mutated: packets of real firmware, loaders and BMC tools, and what a service OS and a node send.

import { readFileSync } from 'node:fs';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import { readPcap } from '../../captures/read-pcap.ts';
import { dhcpPackets } from '../../codecs/dhcp4/captured-packets.ts';
import { ack, read } from '../../servers/tftp/sloppy-client.ts';
import type { JsonValue } from './mutate-text.ts';

const CAPTURES = new URL('../../captures/', import.meta.url);
const packetsIn = (file: string): Uint8Array[] =>
  (JSON.parse(readFileSync(new URL(file, CAPTURES), 'utf8')) as { readonly hex: string }[]).map(({ hex }) =>
    Uint8Array.from(Buffer.from(hex, 'hex')),
  );

export const dhcpSamples = (): Uint8Array[] => dhcpPackets().map((packet) => Uint8Array.from(packet));

export const tftpSamples = (): Uint8Array[] => [
  ...packetsIn('tftp/firmware-packets.json'),
  encodeTftp(read('snponly.efi')),
  encodeTftp(
    read('grub/grub.cfg-01-52-54-00-12-34-56', { blksize: '1468', tsize: '0', windowsize: '16', timeout: '5' }),
  ),
  encodeTftp(ack(1)),
  encodeTftp({ op: 'error', code: 8, message: 'User aborted the transfer' }),
];

export const ipmiSamples = (): Uint8Array[] =>
  readPcap(new URL('ipmi/ipmitool-suite-3-power-and-bootdev.pcap', CAPTURES)).map(({ payload }) =>
    Uint8Array.from(payload),
  );

export const requestSamples = (): Uint8Array[] => packetsIn('certification-requests.json');

const TICKET = 'A'.repeat(43);
export const TARGETS: readonly [string, ...string[]] = [
  '/boot/ipxe/boot.ipxe',
  '/boot/ipxe/52-54-00-12-34-56.ipxe?uuid=7a11ab1e-0000-4080-8000-525400123456&buildarch=x86_64&platform=efi',
  '/boot/ipxe/menu.ipxe',
  '/boot/loader/snponly.efi',
  '/boot/nixos/worker/bzImage',
  '/boot/service-os-x86_64/kernel',
  '/boot/report?mac=52:54:00:12:34:56&errno=4c0b6092&stage=kernel&platform=efi&version=1.21.1&message=failed',
  `/boot/session/${TICKET}`,
  '/boot/session/order',
  '/boot/session/facts',
  '/boot/session/steps',
  '/boot/session/files/user-data',
  '/health',
];

export const AGENTS: readonly [string, ...string[]] = [
  'iPXE/1.21.1+ (g8b2ab7fcb)',
  'UefiHttpBoot/1.0',
  'curl/7.88.1',
  'Mozilla/5.0 (compatible)',
];

const MAC = '52:54:00:12:34:56';
const UUID = '7a11ab1e-0000-4080-8000-525400123456';
export type SessionBodyName = 'opening' | 'step' | 'outcome' | 'facts';

export const SESSION_BODIES: readonly [
  readonly [SessionBodyName, JsonValue],
  ...(readonly [SessionBodyName, JsonValue])[],
] = [
  [
    'opening',
    {
      mac: MAC,
      uuid: UUID,
      serial: 'S-1',
      architecture: 'x86_64',
      firmware: 'uefi',
      secure_boot: false,
      nonce: 'a1'.repeat(32),
    },
  ],
  [
    'step',
    { sequence: 3, step: 'write-image', status: 'progress', percent: 41.5, message: 'on /dev/sda', log: 'a line\n' },
  ],
  ['outcome', { sequence: 9, ok: false, step: 'write-image', reason: 'the checksum differs' }],
  [
    'facts',
    {
      sequence: 1,
      system: { manufacturer: 'Acme', product: 'Box', serial: 'S-1', uuid: UUID },
      firmware: { kind: 'uefi', vendor: 'EDK II', version: '1', secure_boot: true, tpm: '2.0' },
      cpu: { model: 'x', architecture: 'x86_64', sockets: 2, cores: 32, threads: 64 },
      memory: { bytes: 274877906944 },
      disks: [
        {
          name: 'sda',
          by_id: ['wwn-0x5000c500a0b1c2d3'],
          serial: 'Z1',
          model: 'ST',
          bytes: 4000787030016,
          rotational: true,
        },
        { name: 'nvme0n1', bytes: 960197124096, health: 'ok', read_only: false, removable: false },
      ],
      nics: [
        {
          name: 'eno1',
          mac: MAC,
          driver: 'mlx5',
          link: true,
          speed_mbps: 25000,
          neighbour: { system: 'sw1', port: '7' },
        },
      ],
      bmc: { address: '10.0.0.9', mac: MAC, vendor: 'Acme' },
      ssh_host_keys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK/LUsQB7CmUIUGtWe/8QHJruwiyR/7Z7aUAFCdKZS5c'],
    },
  ],
];
