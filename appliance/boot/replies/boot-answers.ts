// How each kind of boot client must be given its boot file, and which firmware requires that. Every row was seen
// to work with the real client and to fail without it.

import type { ClientFacts } from '../client-facts.ts';
import type { NextStage } from '../next-stage.ts';

/** With a lease, beside another server's lease (proxyDHCP), or on the boot server's own port. */
export type AnswerSetting = 'lease' | 'proxy' | 'boot-server';

export interface BootAnswer {
  /** Option 60 of the reply. */
  readonly vendorClass: 'PXEClient' | 'HTTPClient' | null;
  /** Option 43 = 06 01 08 ff: use the file of this reply, do not look for other servers. */
  readonly withoutDiscovery: boolean;
  /** Option 175.0xb0: there is no proxyDHCP server, so do not wait for one. */
  readonly withoutProxyWait: boolean;
  readonly madeNecessaryBy: string;
}

const ANSWERS = {
  'pxe-with-lease': {
    vendorClass: 'PXEClient',
    withoutDiscovery: true,
    withoutProxyWait: false,
    madeNecessaryBy:
      'EDK2 asks port 4011 for a boot server when option 60 comes without 43, and fails (PXE-E16) without a reply',
  },
  'plain-pxe-with-lease': {
    vendorClass: null,
    withoutDiscovery: false,
    withoutProxyWait: false,
    madeNecessaryBy: 'ROMs that fail on options 60 and 43 (plain_pxe on the node); a boot file alone is plain BOOTP',
  },
  'pxe-beside-other-server': {
    vendorClass: 'PXEClient',
    withoutDiscovery: true,
    withoutProxyWait: false,
    madeNecessaryBy:
      'BIOS ROMs accept a file from a proxy offer only with discovery control; without it they show a menu',
  },
  'efi-pxe-beside-other-server': {
    vendorClass: 'PXEClient',
    withoutDiscovery: false,
    withoutProxyWait: false,
    madeNecessaryBy: 'some UEFI ROMs misread option 43 in a proxy offer; with 60 alone all of them use port 4011',
  },
  'boot-server': {
    vendorClass: 'PXEClient',
    withoutDiscovery: false,
    withoutProxyWait: false,
    madeNecessaryBy: 'EDK2 and iPXE accept a reply from port 4011 only with option 60 in it',
  },
  'http-boot': {
    vendorClass: 'HTTPClient',
    withoutDiscovery: false,
    withoutProxyWait: false,
    madeNecessaryBy: 'EDK2 HTTP boot ignores every offer without option 60 HTTPClient, and never sends a REQUEST',
  },
  'ipxe-with-lease': {
    vendorClass: null,
    withoutDiscovery: false,
    withoutProxyWait: true,
    madeNecessaryBy: 'iPXE waits three seconds for a proxyDHCP server unless the reply says that there is none',
  },
  'ipxe-beside-other-server': {
    vendorClass: 'PXEClient',
    withoutDiscovery: true,
    withoutProxyWait: false,
    madeNecessaryBy: 'iPXE accepts an offer without an address as a proxy offer only with option 60 PXEClient',
  },
} as const satisfies Record<string, BootAnswer>;

/** null: this client gets no boot file. */
export function bootAnswer(
  facts: ClientFacts,
  stage: NextStage,
  setting: AnswerSetting,
  plainPxe = false,
): BootAnswer | null {
  if (stage.kind === 'nothing' || stage.kind === 'requested-file') return null;
  if (facts.program === 'firmware-http') return ANSWERS['http-boot'];
  if (setting === 'boot-server') return ANSWERS['boot-server'];
  if (setting === 'lease') {
    if (facts.program === 'ipxe') return ANSWERS['ipxe-with-lease'];
    return plainPxe ? ANSWERS['plain-pxe-with-lease'] : ANSWERS['pxe-with-lease'];
  }
  if (facts.program === 'ipxe') return ANSWERS['ipxe-beside-other-server'];
  return facts.firmware === 'efi' ? ANSWERS['efi-pxe-beside-other-server'] : ANSWERS['pxe-beside-other-server'];
}
