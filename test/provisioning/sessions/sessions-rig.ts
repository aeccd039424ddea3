// Sessions over a real store, with a clock that the test moves, and one machine in a given state.

import { randomUUID } from 'node:crypto';
import type { StartingOutcome } from '../../../appliance/boot/startability.ts';
import { PROFILE_DEFAULTS, type Profile, type Sku } from '../../../appliance/domain/catalogue.ts';
import type { Json } from '../../../appliance/domain/event.ts';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import type { IntentId } from '../../../appliance/domain/intent.ts';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import type { LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { parseObjectName } from '../../../appliance/domain/names.ts';
import { mustParse, parsed } from '../../../appliance/domain/parsed.ts';
import { parseSessionSecret, type SessionMode, type SessionSecret } from '../../../appliance/domain/session.ts';
import { Sessions } from '../../../appliance/provisioning/sessions/sessions.ts';
import { ticketMaker } from '../../../appliance/provisioning/sessions/tickets.ts';
import { openSqliteStore } from '../../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { commandsOf } from '../../machines/commands-of.ts';
import { addMachines, lifecycleIn, mac, NOW, specOf, transitionOf } from '../../store/samples.ts';
import { writesTo } from '../../store/writes.ts';
import { sessionProofs } from './session-proofs.ts';

export const CALL = { address: null, correlationId: 'call-1' };

export class SessionsRig {
  readonly store: Store;
  readonly machine: Machine;
  readonly sessions: Sessions;
  readonly rendered: string[] = [];
  readonly time: { now: number };
  /** The other machines of the site. */
  readonly others: Machine[] = [];
  /** Of installations. */
  profile: Profile = ASSERTED_PROFILE;
  sku: Sku | null = null;

  private constructor(store: Store, machine: Machine, time: { now: number }) {
    this.store = store;
    this.machine = machine;
    this.time = time;
    const now = (): number => this.time.now;
    this.sessions = new Sessions({
      store,
      commands: commandsOf(store, now),
      now,
      seenAt: () => ({ address: null, mac: null, neighbour: null, wouldBeKnown: false }),
      ...sessionProofs(now),
      fleet: { machines: () => this.others.values(), sku: () => this.sku },
      profile: () => this.profile,
      files: {
        file: async (_machine, name) => {
          this.rendered.push(name);
          return name === 'nothing' ? null : { path: name, text: `the ${name}`, mode: 0o600, secret: true };
        },
      },
    });
  }

  static async open(file: string, state: LifecycleState, spec = specOf(1)): Promise<SessionsRig> {
    const store = await openSqliteStore({ file });
    const lifecycle = lifecycleIn(state, { deadline: NOW + 60 * MINUTE });
    const [added] = await addMachines(store, spec);
    if (!added) throw new Error('the machine was not written');
    const machine = await writesTo(store).transition(transitionOf(added, state, { lifecycle }));
    return new SessionsRig(store, machine, { now: NOW + 1000 });
  }

  /** From the real ticket maker, so that its lifetime is the product's. */
  async ticket(mode: SessionMode, order: Json = { mode }): Promise<SessionSecret> {
    const make = ticketMaker(
      { order: () => parsed(order) },
      {
        now: () => this.time.now,
        newId: randomUUID,
        nodePort: () => null,
      },
    );
    const { url, ticket } = mustParse(make(this.machine, startOf(mode), { address: SERVER, bootPort: 8080 }, false));
    await writesTo(this.store).putTicket(ticket);
    return mustParse(parseSessionSecret(url.slice(url.lastIndexOf('/') + 1)));
  }

  async session(mode: SessionMode, order: Json = { mode }): Promise<SessionSecret> {
    return keyIn(await this.sessions.open(await this.ticket(mode, order), { mac: mac(1) }, CALL));
  }

  async state(): Promise<Machine['lifecycle'] | undefined> {
    return (await this.store.machine(this.machine.id))?.lifecycle;
  }
}

/** Machines of this rig were never commissioned. */
const ASSERTED_PROFILE: Profile = {
  ...PROFILE_DEFAULTS,
  name: mustParse(parseObjectName('worker')),
  kind: 'cloud-image',
  description: '',
  active: true,
  architectures: ['x86_64'],
  skus: [],
  role: null,
  deployMinutes: 60,
  identity: 'asserted',
};

const SERVER = mustParse(parseIpv4('10.0.0.1'));
const INTENT = 'i-1' as IntentId;

function startOf(mode: SessionMode): StartingOutcome {
  if (mode === 'install') return { kind: 'installer', profile: mustParse(parseObjectName('worker')), intent: INTENT };
  return mode === 'erase' ? { kind: 'service-os', mode, intent: INTENT } : { kind: 'service-os', mode };
}

export function keyIn(answer: unknown): SessionSecret {
  const { session } = answer as { session: string };
  return mustParse(parseSessionSecret(session));
}
