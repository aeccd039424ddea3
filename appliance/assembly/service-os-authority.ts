// The service OS trusts this appliance: its authorities are in the initrds of the library, at the start, after each rotation and after
// each build of the service OS. Without a node API machines open their sessions over plain HTTP, and nothing is added.

import { join } from 'node:path';
import { placeAuthority } from '../assets/service-os/authority.ts';
import type { Foundation } from './foundation.ts';
import type { NodeService } from './identity.ts';

export interface ServiceOsAuthority {
  /** Brings the initrds up to date. A failure is logged: the next look at the library tries again. */
  readonly update: () => Promise<void>;
  /** After a change of the authorities, and after the initrds have been updated. */
  readonly onChange: (listener: () => Promise<void>) => void;
}

export async function openServiceOsAuthority(
  { config, logger }: Pick<Foundation, 'config' | 'logger'>,
  { enrollment, address }: Pick<NodeService, 'enrollment' | 'address'>,
): Promise<ServiceOsAuthority> {
  const folder = join(config.state, 'assets');
  let last: Promise<void> = Promise.resolve();
  const place = async (): Promise<void> => {
    try {
      const pem = address === null ? null : (await enrollment.authority.trust()).pem;
      for (const file of await placeAuthority(folder, pem))
        logger.info(
          { file },
          pem === null ? 'authorities removed from the service OS' : 'authorities added to the service OS',
        );
    } catch (error) {
      logger.error(
        { err: error },
        'the authorities in the service OS are not up to date: machines may refuse this appliance',
      );
    }
  };
  /** One after the other: two writers would disturb each other. */
  const update = (): Promise<void> => {
    last = last.then(place);
    return last;
  };
  await update();
  return {
    update,
    onChange: (listener) =>
      enrollment.followAuthorities(async () => {
        await update();
        await listener();
      }),
  };
}
