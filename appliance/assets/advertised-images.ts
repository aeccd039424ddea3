// Lists the kernels and initrds that some machine can be booted with. Derived from the loader and image tables, the profiles, and
// the loaders in the library.

import { imageFor, type RequiredImage } from '../boot/boot-images.ts';
import { type LoaderPreferences, loaderFor } from '../boot/loaders.ts';
import { CLIENT_ARCHITECTURES, CPU_ARCHITECTURES, type CpuArchitecture } from '../domain/architecture.ts';
import type { Profile } from '../domain/catalogue.ts';
import { SERVICE_OS_BUILDS } from './service-os/recipe.ts';

export interface AdvertisedImage {
  /** Name in the library. */
  readonly name: string;
  readonly kind: 'kernel' | 'initrd';
  /** CPU architectures that may be sent this image. A profile may have several, but its kernel fits only one. */
  readonly cpus: readonly CpuArchitecture[];
  /** The component it belongs to: `service OS`, `installer of worker`. */
  readonly part: string;
  /** GRUB also fetches it, over TFTP. */
  readonly throughGrub: boolean;
}

/** The fields of a profile that determine its image. */
export type InstalledProfile = Pick<Profile, 'name' | 'kind' | 'active' | 'architectures'>;

export function advertisedImages(
  profiles: Iterable<InstalledProfile>,
  available: NonNullable<LoaderPreferences['available']>,
): readonly AdvertisedImage[] {
  const starters = availableStarters(available);
  const built = SERVICE_OS_BUILDS.map(({ cpu }) => cpu);
  const filesOf = (part: string, cpus: readonly CpuArchitecture[], image: RequiredImage | null): AdvertisedImage[] => {
    const throughGrub = cpus.some((cpu) => starters.get(cpu)?.has('grub'));
    if (image === null) return [];
    return (['kernel', 'initrd'] as const).map((kind) => ({ name: image[kind], kind, cpus, part, throughGrub }));
  };
  return [
    // Every state that boots our own code uses the service OS, except the NixOS installation.
    ...CPU_ARCHITECTURES.filter((cpu) => starters.has(cpu) || built.includes(cpu)).flatMap((cpu) =>
      filesOf('service OS', [cpu], imageFor({ kind: 'service-os' }, cpu, null)),
    ),
    ...[...profiles]
      .filter(({ active, kind }) => active && kind === 'nixos')
      .flatMap((profile) => {
        const { name, architectures } = profile;
        const [first] = architectures;
        return first
          ? filesOf(`installer of ${name}`, architectures, imageFor({ kind: 'installer' }, first, profile))
          : [];
      }),
  ];
}

/** The boot programs that the available loaders start, by CPU architecture. */
function availableStarters(
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
