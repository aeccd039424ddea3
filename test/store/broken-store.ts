import { ColdironError } from '../../appliance/domain/errors.ts';
import type { Store } from '../../appliance/store/store.ts';

const unavailable = (): Promise<never> =>
  Promise.reject(new ColdironError('store_unavailable', 'the disk is gone (a broken store, made for this test)'));

/** A store on a disk that is gone: every verb fails as the contract says. `working` are those that still work. */
export const brokenStore = (working: Partial<Store> = {}): Store =>
  new Proxy(working, {
    // Whoever awaits the store itself asks for `then`.
    get: (verbs, name) => (name === 'then' ? undefined : (Reflect.get(verbs, name) ?? unavailable)),
  }) as Store;
