// Which image an outcome starts, and the parameters of its kernel.

import type { CpuArchitecture } from '../domain/architecture.ts';
import type { Profile } from '../domain/catalogue.ts';
import { type Instant, SECOND } from '../domain/instant.ts';
import type { Mac } from '../domain/mac.ts';
import { macWithHyphens } from '../domain/mac.ts';
import { type BootServer, bootUrl } from './boot-paths.ts';
import type { Outcome } from './decide-boot.ts';

/** The files that the library must have for an outcome, by library name. */
export interface RequiredImage {
  readonly kernel: string;
  readonly initrd: string;
  /** The script that is built with the image and has its parameters; null: it needs none. */
  readonly netbootScript: string | null;
  readonly architecture: CpuArchitecture;
}

export interface BootImage {
  readonly kernel: string;
  readonly initrd: string;
  /** Parameters that only the image knows: the path of its init. */
  readonly parameters: readonly string[];
}

/** NixOS has its own installer per profile; the service OS installs everything else. */
export function imageFor(
  outcome: { readonly kind: 'service-os' | 'installer' },
  architecture: CpuArchitecture,
  profile: Pick<Profile, 'name' | 'kind'> | null,
): RequiredImage {
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

/** Loaders are below /boot/loader/, images directly below /boot/; nixos/ has the same name in the library and in the URL. */
export const imagePath = (name: string): string => `/boot/${name.replace(/^images\//, '')}`;

/** Built with the authority of this appliance inside: the service OS always, a NixOS installer where its flake says so. */
export const trustsAuthority = ({ kernel, parameters }: BootImage): boolean =>
  isServiceOs(kernel) || parameters.includes('coldiron.authority=1');

const isServiceOs = (kernel: string): boolean => kernel.startsWith('images/');

export interface OfferedSession {
  /** Names this script in a report of its failure. */
  readonly id: string;
  /** Where the started system fetches its order, once. Not a secret until the machine has proved its identity. */
  readonly url: string;
  /** The time of the appliance, for a machine whose clock is wrong: certificates have dates. */
  readonly madeAt: Instant;
}

interface KernelQuestion {
  readonly outcome: Outcome;
  readonly image: BootImage;
  readonly architecture: CpuArchitecture;
  readonly mac: Mac | null;
  readonly hostname: string | null;
  readonly server: BootServer;
  readonly session: OfferedSession | null;
}

export function kernelParameters(question: KernelQuestion): string[] {
  const { outcome, image, mac, server, hostname, session } = question;
  const own = isServiceOs(image.kernel);
  return [
    ...image.parameters,
    // Debian's initramfs needs it. In the NixOS kernel the same parameter searches for cards before any driver is loaded.
    ...(own ? ['ip=dhcp'] : []),
    ...(mac === null ? [] : [`BOOTIF=01-${macWithHyphens(mac)}`]),
    ...consoles(question.architecture),
    `coldiron.server=${bootUrl(server, '')}`,
    `coldiron.mode=${outcome.kind === 'service-os' ? outcome.mode : 'install'}`,
    ...(outcome.kind === 'installer' ? [`coldiron.profile=${outcome.profile}`] : []),
    ...(hostname === null ? [] : [`coldiron.node=${hostname}`]),
    ...(session === null
      ? []
      : [`coldiron.session=${session.url}`, `coldiron.time=${Math.floor(session.madeAt / SECOND)}`]),
  ];
}

/** The last one becomes /dev/console: the serial line, because a BMC shows that remotely. */
function consoles(architecture: CpuArchitecture): string[] {
  const serial = architecture === 'arm64' || architecture === 'arm32' ? 'ttyAMA0' : 'ttyS0';
  return ['console=tty0', `console=${serial},115200n8`];
}
