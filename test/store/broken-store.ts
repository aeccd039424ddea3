import { ColdironError } from '../../appliance/domain/errors.ts';
import type { Store } from '../../appliance/store/store.ts';

const unavailable = (): Promise<never> =>
  Promise.reject(new ColdironError('store_unavailable', 'the disk is gone (a broken store for this test)'));

/** A store without a disk: every method fails as the contract says, except those in `working`. */
export const brokenStore = (working: Partial<Store> = {}): Store =>
  new Proxy(working, {
    // Awaiting the store itself reads `then`.
    get: (verbs, name) => (name === 'then' ? undefined : (Reflect.get(verbs, name) ?? unavailable)),
  }) as Store;
