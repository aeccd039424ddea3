// Boots up to each stage, in the short notation of observed.ts.

import { SECOND } from '../../../appliance/domain/instant.ts';
import { type Observed, type Subject, sessionWith, T0 } from '../observed.ts';

/** What was observed, and the cause that must come first. */
export type Case = readonly [id: string, observed: readonly Observed[], subject?: Subject];

export const BEGUN: Observed = [0, 'lifecycle.deploying'];
export const FIRMWARE = { mac: '52:54:00:12:34:56', program: 'firmware-pxe', network: 'boot' };
export const DISCOVER: Observed = [5, 'dhcp.discover', FIRMWARE];
export const OFFER: Observed = [5, 'dhcp.offer', { address: '10.0.100.50' }];
export const REQUEST: Observed = [6, 'dhcp.request', { program: 'firmware-pxe' }];
export const ACK: Observed = [6, 'dhcp.ack', { address: '10.0.100.50' }];
export const LOADER: Observed = [7, 'tftp.completed', { file: 'snponly.efi' }];
export const IPXE: Observed = [10, 'dhcp.discover', { program: 'ipxe' }];
export const SCRIPT: Observed = [20, 'http.script', { outcome: 'installer', words: 'it is armed' }];
export const KERNEL: Observed = [30, 'http.served', { asset: 'images/service-os-x86_64/initrd', complete: true }];
export const UNTIL_KERNEL: readonly Observed[] = [BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER, IPXE, SCRIPT, KERNEL];
/** Under Secure Boot: shim, GRUB, its configuration, and the images over TFTP. */
export const SHIM: Observed = [7, 'tftp.completed', { file: 'shimx64.efi' }];
export const GRUB: Observed = [8, 'tftp.completed', { file: 'grubx64.efi' }];
export const LISTS: Observed = [10, 'tftp.not-found', { file: 'grub/x86_64-efi/command.lst', why: 'no such file' }];
export const COMMON: Observed = [11, 'tftp.completed', { file: 'grub/grub.cfg' }];
export const OWN = 'grub/machine/52:54:00:12:34:56_7a11ab1e-0000-4080-8000-525400123456.cfg';
export const CONFIG: readonly Observed[] = [
  [12, 'tftp.completed', { file: OWN }],
  [12, 'boot.decided', { file: OWN, outcome: 'service-os', because: 'commissioning', words: 'it is commissioned' }],
];
export const KERNEL_FILE = 'boot/service-os-x86_64/kernel';
export const INITRD_FILE = 'boot/service-os-x86_64/initrd';
export const UNTIL_GRUB: readonly Observed[] = [
  ...[BEGUN, DISCOVER, OFFER, REQUEST, ACK, SHIM],
  [7, 'tftp.not-found', { file: 'revocations_sbat.efi', why: 'no such file' }],
  GRUB,
];
export const UNTIL_CONFIG: readonly Observed[] = [...UNTIL_GRUB, LISTS, COMMON, ...CONFIG];
/** 150 seconds for the initrd: a slow link, and GRUB requests one block at a time. */
export const UNTIL_IMAGES: readonly Observed[] = [
  ...UNTIL_CONFIG,
  [13, 'tftp.begun', { file: KERNEL_FILE }],
  [20, 'tftp.completed', { file: KERNEL_FILE }],
  [21, 'tftp.begun', { file: INITRD_FILE }],
  [171, 'tftp.completed', { file: INITRD_FILE }],
];
export const opened = sessionWith({ openedAt: T0 + 60 * SECOND, heardAt: T0 + 70 * SECOND });
export const failing = (step: string, message: string): Observed => [
  90,
  'session.step',
  { step, status: 'failed', message },
];

export const LOOP: Observed = [30, 'dhcp.loop', { file: 'snponly.efi', times: 5 }];
export const ELSEWHERE: Observed = [5, 'dhcp.discover', { ...FIRMWARE, network: 'storage' }];
