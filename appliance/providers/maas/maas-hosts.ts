// Finds a running host in MAAS by its host name or its address, for a registration that asks for onboarding through MAAS.

import { ColdironError } from '../../domain/errors.ts';
import { parseIpv4 } from '../../domain/ipv4.ts';
import type { MaasApi } from './maas-api.ts';
import { MaasRejected, MaasUnavailable } from './maas-error.ts';
import type { MaasMachine } from './maas-machine.ts';

export interface FoundHost {
  readonly hostname: string;
  readonly bmcAddress: string;
}

export class MaasHosts {
  readonly #api: Pick<MaasApi, 'machines' | 'allMachines' | 'bmcAddress'>;

  constructor(api: Pick<MaasApi, 'machines' | 'allMachines' | 'bmcAddress'>) {
    this.#api = api;
  }

  /** Rejects with `service_unavailable`, whatever is wrong: nothing is created then. */
  async find(host: string, hostname: string | null): Promise<FoundHost> {
    try {
      return await this.#found(host, hostname);
    } catch (error) {
      if (!(error instanceof MaasUnavailable || error instanceof MaasRejected)) throw error;
      throw unavailable(error instanceof MaasRejected ? `MAAS refuses: ${error.message}` : error.message);
    }
  }

  async #found(host: string, hostname: string | null): Promise<FoundHost> {
    const isAddress = parseIpv4(host).ok;
    const name = hostname ?? (isAddress ? null : (host.split('.')[0] ?? host));
    const found: readonly MaasMachine[] =
      name === null
        ? (await this.#api.allMachines()).filter(({ addresses }) => addresses.includes(host))
        : await this.#api.machines('hostname', [name]);
    const [only, ...others] = found;
    if (only === undefined) throw unavailable(`MAAS has no machine ${name ?? `with the address ${host}`}`);
    if (others.length > 0) {
      const names = found.map((one) => `${one.hostname} (${one.systemId})`).join(', ');
      throw unavailable(`MAAS has more than one machine ${name ?? `with the address ${host}`}: ${names}`);
    }
    const bmcAddress = await this.#api.bmcAddress(only.systemId);
    if (bmcAddress === null)
      throw unavailable(`MAAS does not know the BMC address of ${only.hostname} (${only.systemId})`);
    return { hostname: only.hostname, bmcAddress };
  }
}

const unavailable = (reason: string): ColdironError =>
  new ColdironError('service_unavailable', reason, [], 'The same request with onboarding_mode manual works.');
