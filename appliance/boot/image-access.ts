// Which kernels, initrds and images a machine may fetch by TFTP. Only a machine under Secure Boot needs any: the signed
// GRUB speaks nothing else; everybody else has iPXE and HTTP.

import type { Machine } from '../domain/machine.ts';
import type { SiteNetwork } from '../domain/network.ts';
import type { Outcome } from './decide-boot.ts';

export const needsImages = (outcome: Outcome): boolean => outcome.kind === 'service-os' || outcome.kind === 'installer';

export const bootsThroughGrub = (machine: Machine | null, network: SiteNetwork | null): boolean =>
  machine?.spec.secureBoot ?? network?.secureBoot ?? false;

/** `asset`: the library's name for it. */
export function mayFetchImage(asset: string, outcome: Outcome): boolean {
  if (outcome.kind === 'installer' && asset.startsWith(`nixos/${outcome.profile}/`)) return true;
  // The service OS is an image, and it is what writes cloud images to disk.
  return needsImages(outcome) && asset.startsWith('images/');
}
