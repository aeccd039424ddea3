// Which kernels and initrds some machine can be sent to start, out of the tables of loaders and images, the profiles, and the
// loaders that are here.

import { imageFor, type RequiredImage } from '../boot/boot-images.ts';
import { type LoaderPreferences, loaderFor } from '../boot/loaders.ts';
import { CLIENT_ARCHITECTURES, CPU_ARCHITECTURES, type CpuArchitecture } from '../domain/architecture.ts';
import type { Profile } from '../domain/catalogue.ts';
import { SERVICE_OS_BUILDS } from './service-os/recipe.ts';

export interface AdvertisedImage {
  /** In the library. */
  readonly name: string;
  readonly kind: 'kernel' | 'initrd';
  /** Machines that may be sent to it: of one profile several, of which its kernel can be for one. */
  readonly cpus: readonly CpuArchitecture[];
  /** What it is part of: `service OS`, `installer of worker`. */
  readonly part: string;
  /** GRUB fetches it too, by TFTP. */
  readonly throughGrub: boolean;
}

/** A profile, as far as its image goes. */
export type InstalledProfile = Pick<Profile, 'name' | 'kind' | 'active' | 'architectures'>;

export function advertisedImages(
  profiles: Iterable<InstalledProfile>,
  available: NonNullable<LoaderPreferences['available']>,
): readonly AdvertisedImage[] {
  const starters = startersHere(available);
  const built = SERVICE_OS_BUILDS.map(({ cpu }) => cpu);
  const parts = (part: string, cpus: readonly CpuArchitecture[], wanted: RequiredImage | null): AdvertisedImage[] => {
    const throughGrub = cpus.some((cpu) => starters.get(cpu)?.has('grub'));
    if (wanted === null) return [];
    return (['kernel', 'initrd'] as const).map((kind) => ({ name: wanted[kind], kind, cpus, part, throughGrub }));
  };
  return [
    // Every state that starts our own code starts this one, except the installation of NixOS.
    ...CPU_ARCHITECTURES.filter((cpu) => starters.has(cpu) || built.includes(cpu)).flatMap((cpu) =>
      parts('service OS', [cpu], imageFor({ kind: 'service-os' }, cpu, null)),
    ),
    ...[...profiles]
      .filter(({ active, kind }) => active && kind === 'nixos')
      .flatMap((profile) => {
        const { name, architectures } = profile;
        const [first] = architectures;
        return first
          ? parts(`installer of ${name}`, architectures, imageFor({ kind: 'installer' }, first, profile))
          : [];
      }),
  ];
}

/** What the loaders that are here start on each kind of machine. */
function startersHere(
  available: NonNullable<LoaderPreferences['available']>,
): ReadonlyMap<CpuArchitecture, ReadonlySet<'ipxe' | 'grub'>> {
  const found = new Map<CpuArchitecture, Set<'ipxe' | 'grub'>>();
  for (const architecture of CLIENT_ARCHITECTURES.values()) {
    for (const efiLoader of ['ipxe', 'snponly'] as const) {
      for (const secureBoot of [false, true]) {
        const choice = loaderFor(architecture, { efiLoader, secureBoot, available });
        const { cpu } = architecture;
        if (choice.kind === 'loader' && cpu !== null) {
          found.set(cpu, (found.get(cpu) ?? new Set()).add(choice.starts));
        }
      }
    }
  }
  return found;
}
