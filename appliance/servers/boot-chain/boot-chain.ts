// Checks on the real servers that everything advertised is served: at the start, whenever boot files, networks or profiles
// change, and on request. A check consumes nothing and is not recorded for any machine.

import { networkInterfaces } from 'node:os';
import type { FastifyBaseLogger } from 'fastify';
import { advertisedImages } from '../../assets/advertised-images.ts';
import { type BootContract, checkBootContract } from '../../assets/boot-contract.ts';
import type { AssetLibrary } from '../../assets/library.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { checkFetch } from './check-fetch.ts';
import { advertisedEndpoints, endpointsAt, type ListenAddress } from './endpoints.ts';
import { type BootEndpoint, type BootEndpoints, type ExpectedFetch, expectedFetches } from './expected-fetches.ts';
import type { OwnRequests } from './own-requests.ts';
import { Unreachable } from './unreachable.ts';

interface BootChainDeps {
  readonly library: Pick<AssetLibrary, 'find' | 'list'>;
  readonly fleet: Pick<Fleet, 'networks' | 'networkOf' | 'profiles'>;
  /** The current listen addresses; null: HTTP is off. */
  readonly listening: () => { readonly http: ListenAddress | null; readonly tftp: readonly ListenAddress[] };
  readonly own: OwnRequests;
  readonly log: Pick<FastifyBaseLogger, 'error' | 'info'>;
  /** How long to wait for a server. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5000;

export class BootChain {
  readonly #deps: BootChainDeps;
  /** The last check that was started or queued. */
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<BootContract> | null = null;
  #followUps: Promise<void> = Promise.resolve();
  /** Our own addresses during a check over TFTP: a packet to one of them has the same source address. */
  #checksFrom: ReadonlySet<string> = new Set();
  #reported: string | null = null;
  #hadProblems = false;
  #stopped = false;

  constructor(deps: BootChainDeps) {
    this.#deps = deps;
  }

  /** Fetches everything again. Callers that arrive while a check runs share the next one. */
  check(): Promise<BootContract> {
    this.#next ??= this.#last.then(() => {
      this.#next = null;
      return this.#check();
    });
    this.#last = this.#next.catch(() => undefined);
    return this.#next;
  }

  /** Checks and logs if its inputs changed since the last time. Call it after every possible change. */
  followUp(): Promise<void> {
    this.#followUps = this.#followUps.then(async () => {
      const state = this.#state();
      if (this.#stopped || state === this.#reported) return;
      this.#reported = state;
      await this.#report().catch((error: unknown) =>
        this.#deps.log.error({ err: error }, 'the check of the boot chain failed'),
      );
    });
    return this.#followUps;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#followUps;
  }

  /** Whether the client is this appliance, for protocols without headers. */
  readonly isSelf = (address: string): boolean =>
    this.#checksFrom.has(address) || this.#deps.listening().tftp.some((place) => place.address === address);

  /** Headers for a request to this URL: the key is only sent to our own servers. */
  headersFor(url: string): Readonly<Record<string, string>> {
    const { hostname, port } = new URL(url);
    const isOurs = this.#endpoints().http.some(
      (endpoint) => endpoint.address === hostname && String(endpoint.port) === (port || '80'),
    );
    return isOurs ? this.#deps.own.headers : {};
  }

  async #report(): Promise<void> {
    const { log } = this.#deps;
    const { problems } = await this.check();
    if (problems.length > 0) log.error({ problems }, 'some advertised boot files are not served');
    else if (this.#hadProblems) log.info('all advertised boot files are served again');
    this.#hadProblems = problems.length > 0;
  }

  async #check(): Promise<BootContract> {
    const { library, fleet } = this.#deps;
    const find = (name: string) => library.find(name);
    const contract = checkBootContract(find, fleet.profiles());
    const images = advertisedImages(fleet.profiles(), (name) => find(name) !== null);
    const endpoints = this.#endpoints();
    this.#checksFrom = new Set(endpoints.tftp.map(({ address }) => address));
    try {
      const served = await this.#fetchAll(expectedFetches(library.list(), images, endpoints));
      return { ...contract, problems: [...contract.problems, ...served] };
    } finally {
      this.#checksFrom = new Set();
    }
  }

  /** One at a time: a check must not slow down machines that boot meanwhile. */
  async #fetchAll(fetches: readonly ExpectedFetch[]): Promise<string[]> {
    const { own, timeoutMs = TIMEOUT_MS } = this.#deps;
    const problems: string[] = [];
    const unreachable = new Set<BootEndpoint>();
    for (const each of fetches) {
      if (unreachable.has(each.at)) continue;
      const problem = await checkFetch(each, { headers: own.headers, timeoutMs }).catch((error: Error) => {
        if (error instanceof Unreachable) unreachable.add(each.at);
        return error.message;
      });
      if (problem !== null) problems.push(`${inWords(each)}: ${problem}`);
    }
    return problems;
  }

  #endpoints(): BootEndpoints {
    const { fleet, listening } = this.#deps;
    const { http, tftp } = listening();
    const context = { fleet, ownAddresses: ownAddresses() };
    return {
      http: http === null ? [] : advertisedEndpoints(http, context),
      tftp: tftp.flatMap((place) => endpointsAt(place, context)),
    };
  }

  /** All inputs of a check. */
  #state(): string {
    const { library, fleet } = this.#deps;
    return JSON.stringify([
      library.list().map(({ name, sha256 }) => [name, sha256]),
      this.#endpoints(),
      [...fleet.profiles()].map(({ name, kind, active, architectures }) => [name, kind, active, architectures]),
    ]);
  }
}

/** Over HTTP, files are the same at every address, texts are not; over TFTP each address has its own server. */
function inWords({ via, at, path, expect }: ExpectedFetch): string {
  if (via === 'tftp') return `${expect.kind === 'text' ? path : expect.asset.name} over TFTP from ${at.address}`;
  return expect.kind === 'text' ? `${path} over HTTP from ${at.address}` : `${expect.asset.name} over HTTP`;
}

const ownAddresses = (): ReadonlySet<string> =>
  new Set(Object.values(networkInterfaces()).flatMap((cards) => (cards ?? []).map(({ address }) => address)));
