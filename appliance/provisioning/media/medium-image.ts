// The medium of a session: a CD image with its one-time secret, as the service OS looks for it (boot-assets/service-os/media.sh).

import { isoVolume } from '../../codecs/iso9660/volume.ts';
import type { Instant } from '../../domain/instant.ts';
import { mustParse } from '../../domain/parsed.ts';

/** `secret`: 32 bytes; on the medium they are 64 hexadecimal digits. */
export function secretMedium(secret: Uint8Array, madeAt: Instant): Uint8Array {
  const content = Buffer.from(`${Buffer.from(secret).toString('hex')}\n`);
  return mustParse(isoVolume({ label: 'COLDIRON', files: [{ name: 'SECRET', content }], madeAt }));
}
