// The media of network boots: a one-time secret for each machine without a TPM, through its BMC.

import type { BmcService } from '../bmc/access/bmc-service.ts';
import { SECOND } from '../domain/instant.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import { parsed } from '../domain/parsed.ts';
import { localAddressTowards } from '../net/local-address.ts';
import { repeat } from '../net/repeat.ts';
import { mediumOrigin } from '../provisioning/media/decide-medium.ts';
import { SessionMedia } from '../provisioning/media/session-media.ts';
import { requiredIdentity } from '../provisioning/sessions/required-identity.ts';
import { MediaListeners } from '../servers/http-boot/media-listeners.ts';
import type { Foundation } from './foundation.ts';
import type { SessionProofs } from './session-proofs.ts';

/** For media that expired, and BMCs that could not eject. */
const LOOK_EVERY = 5 * SECOND;

export async function openMedia(
  { store, fleet, clock, logger, stops }: Foundation,
  bmcs: BmcService,
  { seeds }: SessionProofs,
): Promise<SessionMedia> {
  const media = await SessionMedia.open({
    ...{ store, seeds },
    drives: bmcs.drives,
    required: requiredIdentity((name) => fleet.profile(name)),
    now: clock.now,
    log: logger,
  });
  stops.add(() => media.stop());
  return media;
}

/** `boot`: the open boot server; null: it is off. Media are made from now on, and ejected. */
export function serveMedia(
  { fleet, newId, logger, stops }: Foundation,
  media: SessionMedia,
  boot: { readonly address: string; readonly port: number } | null,
): void {
  const listeners = boot && new MediaListeners({ ...{ media, boot, newId }, log: logger });
  media.serveWith({
    openFor: async (bmc: Ipv4) => {
      const local = await localAddressTowards(bmc);
      const port = boot?.port ?? null;
      const origin = mediumOrigin({ ...{ bmc, local, port }, networkOf: (address) => fleet.networkOf(address) });
      if (!origin.ok) return origin;
      const opened = await listeners?.open(origin.value.address);
      if (opened?.ok === false) return opened;
      return parsed(`http://${origin.value.address}:${origin.value.port}`);
    },
    idle: async () => listeners?.close(),
  });
  stops.add(() => listeners?.close());
  stops.add(repeat(LOOK_EVERY, () => media.look(), logger));
  void media.look();
}
