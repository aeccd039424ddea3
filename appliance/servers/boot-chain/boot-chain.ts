// Advertised = served, proven on the real servers: at the start, whenever boot files, networks or profiles change, and when
// somebody asks. Nothing is used up by it, and nothing of it is in any machine's story.

import { networkInterfaces } from 'node:os';
import type { FastifyBaseLogger } from 'fastify';
import { advertisedImages } from '../../assets/advertised-images.ts';
import { type BootContract, checkBootContract } from '../../assets/boot-contract.ts';
import type { AssetLibrary } from '../../assets/library.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import { checkFetch, NobodyThere } from './check-fetch.ts';
import { advertisedDoors, doorsAt, type Place } from './endpoints.ts';
import { type BootEndpoint, type BootEndpoints, type ExpectedFetch, expectedFetches } from './expected-fetches.ts';
import type { OwnRequests } from './own-requests.ts';

interface BootChainDeps {
  readonly library: Pick<AssetLibrary, 'find' | 'list'>;
  readonly fleet: Pick<Fleet, 'networks' | 'networkOf' | 'profiles'>;
  /** Where the servers listen now; null: HTTP is off. */
  readonly listening: () => { readonly http: Place | null; readonly tftp: readonly Place[] };
  readonly own: OwnRequests;
  readonly log: Pick<FastifyBaseLogger, 'error' | 'info'>;
  /** How long a server may say nothing. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 5000;

export class BootChain {
  readonly #parts: BootChainDeps;
  /** The last check that was begun or will be. */
  #last: Promise<unknown> = Promise.resolve();
  #next: Promise<BootContract> | null = null;
  #following: Promise<void> = Promise.resolve();
  /** Our own addresses while we ask over TFTP: what is sent to one of them comes from the same one. */
  #asksFrom: ReadonlySet<string> = new Set();
  #reported: string | null = null;
  #hadProblems = false;
  #stopped = false;

  constructor(parts: BootChainDeps) {
    this.#parts = parts;
  }

  /** Everything is fetched after the call. Whoever asks while one check runs waits for the next, and all of them share it. */
  check(): Promise<BootContract> {
    this.#next ??= this.#last.then(() => {
      this.#next = null;
      return this.#check();
    });
    this.#last = this.#next.catch(() => undefined);
    return this.#next;
  }

  /** Checks if something has changed since the last time, and reports. To be called after whatever may have. */
  followUp(): Promise<void> {
    this.#following = this.#following.then(async () => {
      const state = this.#state();
      if (this.#stopped || state === this.#reported) return;
      this.#reported = state;
      await this.#report().catch((error: unknown) =>
        this.#parts.log.error({ err: error }, 'the boot chain could not be checked'),
      );
    });
    return this.#following;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#following;
  }

  /** Whether it is this appliance that asks, where there are no headers. */
  readonly isSelf = (address: string): boolean =>
    this.#asksFrom.has(address) || this.#parts.listening().tftp.some((place) => place.address === address);

  /** For a request to this URL: our own are marked, those to others are not. */
  headersFor(url: string): Readonly<Record<string, string>> {
    const { hostname, port } = new URL(url);
    const isOurs = this.#doors().http.some((door) => door.address === hostname && String(door.port) === (port || '80'));
    return isOurs ? this.#parts.own.headers : {};
  }

  async #report(): Promise<void> {
    const { log } = this.#parts;
    const { problems } = await this.check();
    if (problems.length > 0) log.error({ problems }, 'machines are sent to boot files that they do not get');
    else if (this.#hadProblems) log.info('machines get all boot files again that they are sent to');
    this.#hadProblems = problems.length > 0;
  }

  async #check(): Promise<BootContract> {
    const { library, fleet } = this.#parts;
    const find = (name: string) => library.find(name);
    const contract = checkBootContract(find, fleet.profiles());
    const images = advertisedImages(fleet.profiles(), (name) => find(name) !== null);
    const doors = this.#doors();
    this.#asksFrom = new Set(doors.tftp.map(({ address }) => address));
    try {
      const served = await this.#fetchAll(expectedFetches(library.list(), images, doors));
      return { ...contract, problems: [...contract.problems, ...served] };
    } finally {
      this.#asksFrom = new Set();
    }
  }

  /** One after the other: a check must not be felt by machines that boot meanwhile. */
  async #fetchAll(fetches: readonly ExpectedFetch[]): Promise<string[]> {
    const { own, patienceMs = PATIENCE_MS } = this.#parts;
    const problems: string[] = [];
    const silent = new Set<BootEndpoint>();
    for (const each of fetches) {
      if (silent.has(each.at)) continue;
      const problem = await checkFetch(each, { headers: own.headers, patienceMs }).catch((error: Error) => {
        if (error instanceof NobodyThere) silent.add(each.at);
        return error.message;
      });
      if (problem !== null) problems.push(`${inWords(each)}: ${problem}`);
    }
    return problems;
  }

  #doors(): BootEndpoints {
    const { fleet, listening } = this.#parts;
    const { http, tftp } = listening();
    const around = { fleet, ownAddresses: ownAddresses() };
    return {
      http: http === null ? [] : advertisedDoors(http, around),
      tftp: tftp.flatMap((place) => doorsAt(place, around)),
    };
  }

  /** Everything that a check depends on. */
  #state(): string {
    const { library, fleet } = this.#parts;
    return JSON.stringify([
      library.list().map(({ name, sha256 }) => [name, sha256]),
      this.#doors(),
      [...fleet.profiles()].map(({ name, kind, active, architectures }) => [name, kind, active, architectures]),
    ]);
  }
}

/** Files are the same at every address of the boot server, texts are not; each address has a TFTP server of its own. */
function inWords({ via, at, path, expect }: ExpectedFetch): string {
  if (via === 'tftp') return `${expect.kind === 'text' ? path : expect.asset.name} over TFTP from ${at.address}`;
  return expect.kind === 'text' ? `${path} over HTTP from ${at.address}` : `${expect.asset.name} over HTTP`;
}

const ownAddresses = (): ReadonlySet<string> =>
  new Set(Object.values(networkInterfaces()).flatMap((cards) => (cards ?? []).map(({ address }) => address)));
