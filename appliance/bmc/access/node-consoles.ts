// The consoles of nodes: one shared session for each BMC, for viewers and for the capture.

import type { Machine } from '../../domain/machine.ts';
import type { BmcConsole } from '../bmc.ts';
import type { BmcClock } from '../clock.ts';
import type { ConsoleSeat } from '../console/console-seat.ts';
import { type ConsoleSession, type Follower, SharedConsole, type ViewerRequest } from '../console/shared-console.ts';
import { type BmcOpener, protocolsOf } from './bmc-opener.ts';

export interface NodeConsolesDeps {
  readonly opener: Pick<BmcOpener, 'eligibility' | 'mustBeOpen' | 'open'>;
  readonly clock: BmcClock;
}

export class NodeConsoles {
  readonly #deps: NodeConsolesDeps;
  /** By machine and address: a machine that is given another BMC gets another console. */
  readonly #shared = new Map<string, SharedConsole>();

  constructor(deps: NodeConsolesDeps) {
    this.#deps = deps;
  }

  /** Where the capture can read; null: no BMC, not in use, recorded only, or without a console. */
  addressOf(machine: Machine): string | null {
    const eligibility = this.#deps.opener.eligibility(machine);
    if (eligibility.kind !== 'open' || eligibility.mode !== 'real') return null;
    return protocolsOf(eligibility.endpoint).includes('ipmi') ? eligibility.endpoint.address : null;
  }

  view(machine: Machine, request: ViewerRequest): Promise<BmcConsole> {
    return this.#of(machine).view(request);
  }

  follow(machine: Machine, follower: Follower): ConsoleSeat {
    return this.#of(machine).follow(follower);
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#shared.values(), (console) => console.stop('the appliance is stopping')));
  }

  #of(machine: Machine): SharedConsole {
    const { endpoint } = this.#deps.opener.mustBeOpen(machine);
    const key = `${machine.id} ${endpoint.address}`;
    const known = this.#shared.get(key);
    if (known) return known;
    const shared = new SharedConsole({
      clock: this.#deps.clock,
      open: ({ steal }) => this.#open(machine, steal),
      onIdle: () => {
        if (this.#shared.get(key) === shared) this.#shared.delete(key);
      },
    });
    this.#shared.set(key, shared);
    return shared;
  }

  async #open(machine: Machine, steal: boolean): Promise<ConsoleSession> {
    const bmc = await this.#deps.opener.open(machine, () => undefined);
    try {
      const console = await bmc.openConsole({ steal });
      const close = async (): Promise<void> => {
        await console.close();
        await bmc.close();
      };
      return { console, close };
    } catch (error) {
      await bmc.close();
      throw error;
    }
  }
}
