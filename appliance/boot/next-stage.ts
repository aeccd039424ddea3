// What this client gets now: the next step of its boot, chosen by the requesting program and its features.
// The outcome of the boot is not decided here.

import type { Machine } from '../domain/machine.ts';
import type { SiteNetwork } from '../domain/network.ts';
import { type Because, because } from './because.ts';
import { ENTRY_SCRIPT_PATH } from './boot-paths.ts';
import type { ClientFacts } from './client-facts.ts';
import { type LoaderPreferences, loaderFor } from './loaders.ts';

export type NextStage =
  | { readonly kind: 'nothing'; readonly because: Because }
  | {
      readonly kind: 'loader';
      readonly file: string;
      readonly transport: 'tftp' | 'http';
      readonly starts: 'ipxe' | 'grub';
      readonly because: Because;
    }
  | { readonly kind: 'script'; readonly path: typeof ENTRY_SCRIPT_PATH; readonly because: Because }
  | { readonly kind: 'requested-file'; readonly file: string; readonly because: Because };

/** Which loaders this appliance has, as in LoaderPreferences. */
type Available = LoaderPreferences['available'];

export function nextStage(
  facts: ClientFacts,
  machine: Machine | null,
  network: SiteNetwork,
  available: Available,
): NextStage {
  if (facts.file !== null && (facts.via === 'tftp' || facts.via === 'http')) {
    return { kind: 'requested-file', file: facts.file, because: because('asked-by-name') };
  }
  switch (facts.program) {
    case 'os':
      return nothing(because('operating-system'));
    case 'loader':
      return nothing(because('other-boot-loader'));
    case 'ipxe':
      return forIpxe(facts, machine, network, available);
    case 'firmware-pxe':
      return loader(facts, machine, network, available, 'tftp');
    case 'firmware-http':
      return loader(facts, machine, network, available, 'http');
  }
}

const nothing = (reason: Because): NextStage => ({ kind: 'nothing', because: reason });

function forIpxe(facts: ClientFacts, machine: Machine | null, network: SiteNetwork, available: Available): NextStage {
  const script = (reason: Because): NextStage => ({ kind: 'script', path: ENTRY_SCRIPT_PATH, because: reason });
  const lack = facts.ipxe === null ? null : ipxeLack(facts);
  if (lack === null) {
    return script(because(facts.ipxe === null ? 'script-for-ipxe-that-tells-nothing' : 'script-for-ipxe'));
  }
  const replacement = loader(facts, machine, network, available, 'tftp');
  return replacement.kind === 'loader' ? { ...replacement, because: lack } : replacement;
}

/** EFI builds start kernels as EFI programs (0x24), BIOS builds as bzImage (0x18): without it a script is useless. */
function ipxeLack({ ipxe, firmware }: ClientFacts): Because | null {
  if (!ipxe?.http) return because('ipxe-without-http');
  if (firmware === 'efi' && !ipxe.efi) {
    return because('ipxe-without-kernel-format', { firmware: 'UEFI', feature: '175.0x24' });
  }
  if (firmware === 'bios' && !ipxe.bzimage) {
    return because('ipxe-without-kernel-format', { firmware: 'BIOS', feature: '175.0x18' });
  }
  return null;
}

function loader(
  facts: ClientFacts,
  machine: Machine | null,
  network: SiteNetwork,
  available: Available,
  transport: 'tftp' | 'http',
): NextStage {
  if (facts.raspberryPiRom) return nothing(because('raspberry-pi-rom'));
  if (facts.architecture === null) return nothing(because('architecture-untold'));
  const architecture = `${facts.architecture.code} (${facts.architecture.name})`;
  const secureBoot = machine?.spec.secureBoot ?? network.secureBoot;
  const choice = loaderFor(facts.architecture, { efiLoader: network.efiLoader, secureBoot, available });
  if (choice.kind === 'none') return nothing(because('no-loader-for-architecture', { architecture, why: choice.why }));
  const reason = secureBoot && choice.starts === 'grub' ? 'loader-under-secure-boot' : 'loader-for-architecture';
  return {
    kind: 'loader',
    file: choice.file,
    transport,
    starts: choice.starts,
    because: because(reason, { architecture, why: choice.why }),
  };
}
