// Which image an outcome starts, and what its kernel is told.

import type { CpuArchitecture } from '../domain/architecture.ts';
import type { Profile } from '../domain/catalogue.ts';
import type { Mac } from '../domain/mac.ts';
import { macWithHyphens } from '../domain/mac.ts';
import { type BootServer, bootUrl } from './boot-paths.ts';
import type { Outcome } from './decide-boot.ts';

/** What has to be in the library for an outcome to be handed out, by library name. */
export interface WantedImage {
  readonly kernel: string;
  readonly initrd: string;
  /** The script that came with the image and knows its parameters; null: it needs none. */
  readonly netbootScript: string | null;
  readonly architecture: CpuArchitecture;
}

export interface BootImage {
  readonly kernel: string;
  readonly initrd: string;
  /** What only the image itself knows: where its init is. */
  readonly parameters: readonly string[];
}

/** NixOS brings an installer of its own per profile; everything else is installed by the service OS. */
export function imageFor(
  outcome: { readonly kind: 'service-os' | 'installer' },
  architecture: CpuArchitecture,
  profile: Pick<Profile, 'name' | 'kind'> | null,
): WantedImage {
  if (outcome.kind === 'installer' && profile?.kind === 'nixos') {
    const folder = `nixos/${profile.name}`;
    return {
      kernel: `${folder}/bzImage`,
      initrd: `${folder}/initrd`,
      netbootScript: `${folder}/netboot.ipxe`,
      architecture,
    };
  }
  const folder = `images/service-os-${architecture}`;
  return { kernel: `${folder}/kernel`, initrd: `${folder}/initrd`, netbootScript: null, architecture };
}

/** Loaders lie below /boot/loader/, images directly below /boot/, and nixos/ is called the same on both sides. */
export const imagePath = (name: string): string => `/boot/${name.replace(/^images\//, '')}`;

interface KernelQuestion {
  readonly outcome: Outcome;
  readonly image: BootImage;
  readonly architecture: CpuArchitecture;
  readonly mac: Mac | null;
  readonly hostname: string | null;
  readonly server: BootServer;
  /** Where the started system fetches its work, once; it is no secret until the machine has proved who it is. */
  readonly sessionUrl: string | null;
}

export function kernelParameters(question: KernelQuestion): string[] {
  const { outcome, image, mac, server, hostname, sessionUrl } = question;
  const own = image.kernel.startsWith('images/');
  return [
    ...image.parameters,
    // Debian's initramfs needs it; in NixOS' kernel the same word starts a search for cards before any driver is loaded.
    ...(own ? ['ip=dhcp'] : []),
    ...(mac === null ? [] : [`BOOTIF=01-${macWithHyphens(mac)}`]),
    ...consoles(question.architecture),
    `coldiron.server=${bootUrl(server, '')}`,
    `coldiron.mode=${outcome.kind === 'service-os' ? outcome.mode : 'install'}`,
    ...(outcome.kind === 'installer' ? [`coldiron.profile=${outcome.profile}`] : []),
    ...(hostname === null ? [] : [`coldiron.node=${hostname}`]),
    ...(sessionUrl === null ? [] : [`coldiron.session=${sessionUrl}`]),
  ];
}

/** The last one is /dev/console: the serial line, because that is what a BMC shows from afar. */
function consoles(architecture: CpuArchitecture): string[] {
  const serial = architecture === 'arm64' || architecture === 'arm32' ? 'ttyAMA0' : 'ttyS0';
  return ['console=tty0', `console=${serial},115200n8`];
}
