// Cases between the address and a complete initrd.

import type { ApplianceProblem } from '../../../appliance/domain/appliance-problem.ts';
import { sessionWith, T0 } from '../observed.ts';
import {
  ACK,
  BEGUN,
  type Case,
  COMMON,
  DISCOVER,
  FIRMWARE,
  INITRD_FILE,
  IPXE,
  LISTS,
  LOADER,
  LOOP,
  OFFER,
  REQUEST,
  SHIM,
  UNTIL_CONFIG,
  UNTIL_GRUB,
  UNTIL_IMAGES,
  UNTIL_KERNEL,
} from './boots.ts';

const own = { subject: 'x', since: T0, nextStep: 'Free space, then run: coldiron check' };
const DAMAGED: ApplianceProblem = {
  ...{ ...own, id: 'boot-file-damaged', subject: 'images/service-os-x86_64/initrd', words: 'the initrd is truncated' },
  ...{ what: 'service OS', architectures: ['x86_64'] },
};

export const LOADER_CASES: readonly Case[] = [
  ['loader-not-fetched', [BEGUN, DISCOVER, OFFER, REQUEST, ACK]],
  ['loader-rejected', [BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER]],
  // BIOS has no Secure Boot.
  ['loader-not-running', [BEGUN, [5, 'dhcp.discover', { ...FIRMWARE, architecture: 0 }], OFFER, REQUEST, ACK, LOADER]],
  ['script-not-fetched', [BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER, IPXE]],
  ['kernel-not-fetched', UNTIL_KERNEL.slice(0, -1), { session: sessionWith({}) }],
  [
    'sent-elsewhere',
    [BEGUN, DISCOVER, ACK, LOADER, IPXE, [20, 'http.script', { outcome: 'local-disk', words: 'it was revoked' }]],
  ],
  ['boot-failed', [...UNTIL_KERNEL.slice(0, -1), [25, 'boot.failed', { stage: 'installer', errno: '4c116035' }]]],
  ['boot-loop', [BEGUN, DISCOVER, OFFER, REQUEST, ACK, LOADER, LOOP], { minutes: 0.6 }],
  ['boot-loop', [DISCOVER, LOOP], { state: 'ready' }],
  [
    'loader-not-fetched',
    [BEGUN, DISCOVER, OFFER, REQUEST, ACK, [7, 'tftp.error', { file: 'shimx64.efi', reason: 'x' }]],
  ],
  [
    'loader-not-fetched',
    [BEGUN, DISCOVER, ACK, SHIM, [8, 'tftp.not-found', { file: 'grubx64.efi', why: 'no such file' }]],
  ],
  ['loader-rejected', UNTIL_GRUB],
  ['script-not-fetched', [...UNTIL_GRUB, LISTS, COMMON]],
  ['script-not-fetched', [BEGUN, DISCOVER, ACK, LOADER, IPXE, [12, 'http.entry', { path: '/boot/ipxe/boot.ipxe' }]]],
  ['sent-elsewhere', [...UNTIL_GRUB, COMMON, [12, 'boot.decided', { outcome: 'local-disk', words: 'it was revoked' }]]],
  ['kernel-not-fetched', UNTIL_CONFIG, { session: sessionWith({}) }],
  [
    'image-broken-off',
    [...UNTIL_IMAGES.slice(0, -1), [60, 'tftp.timeout', { file: INITRD_FILE, reason: 'nothing after block 7' }]],
    { session: sessionWith({}) },
  ],
  [
    'image-broken-off',
    [...UNTIL_KERNEL.slice(0, -1), [30, 'http.served', { asset: 'images/x/initrd', bytes: 5, of: 9, complete: false }]],
    { session: sessionWith({}) },
  ],
  [
    'loader-not-fetched',
    [
      ...[BEGUN, DISCOVER, OFFER, REQUEST, ACK],
      [
        40,
        'tftp.timeout',
        { file: 'undionly.kpxe', blocks: 0, blockSize: 1432, reason: 'no reply to the OACK, sent 5 times' },
      ],
    ],
  ],
  [
    'loader-not-fetched',
    [
      ...[BEGUN, DISCOVER, OFFER, REQUEST, ACK],
      [
        30,
        'tftp.stalled',
        { file: 'undionly.kpxe', blocks: 0, blockSize: 1432, reason: 'no reply to the OACK, sent 3 times' },
      ],
    ],
  ],
  [
    'large-packets-lost',
    [
      ...[BEGUN, DISCOVER, OFFER, REQUEST, ACK],
      [26, 'tftp.begun', { file: 'undionly.kpxe' }],
      [
        30,
        'tftp.stalled',
        { file: 'undionly.kpxe', blocks: 0, blockSize: 1432, reason: 'the first block was never acknowledged' },
      ],
    ],
    { minutes: 1 },
  ],
  [
    'large-packets-lost',
    [
      BEGUN,
      DISCOVER,
      OFFER,
      REQUEST,
      ACK,
      [7, 'tftp.timeout', { file: 'snponly.efi', blocks: 0, blockSize: 1468 }],
      [30, 'http.served', { asset: 'loader/snponly.efi', bytes: 78_585, of: 173_792, complete: false }],
    ],
    { minutes: 1.5 },
  ],
  ['boot-file-damaged', UNTIL_KERNEL, { minutes: 1, session: sessionWith({}), facts: { appliance: [DAMAGED] } }],
];
