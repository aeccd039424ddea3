// Whether an outcome that starts our code can be started: its kernel and initrd are on this appliance, and the started system
// can be given its order. An input of the decision, so that DHCP, TFTP, HTTP and `explain` give the same answer.
// HTTP and TFTP serve images from the same library: what is there can be started over both.

import type { Profile } from '../domain/catalogue.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import type { Machine } from '../domain/machine.ts';
import { type Parsed, parsed } from '../domain/parsed.ts';
import { type Because, because } from './because.ts';
import { type BootImage, imageFor, type WantedImage } from './boot-images.ts';
import type { ClientFacts } from './client-facts.ts';
import type { Outcome } from './decide-boot.ts';

export type StartingOutcome = Extract<Outcome, { kind: 'service-os' | 'installer' }>;

export const startsOurCode = (outcome: Outcome): outcome is StartingOutcome =>
  outcome.kind === 'service-os' || outcome.kind === 'installer';

/** Asked for every request of a machine that is to start something: lookups in memory, no I/O, no changes. */
export interface Startability {
  /** Kernel and initrd for this architecture. The reason names what is missing, in words that follow "is to start". */
  readonly image: (wanted: WantedImage) => Parsed<BootImage>;
  /** Why the started system cannot be given its order; null: it can. `server`: this appliance as the machine reaches it. */
  readonly orderProblem: (machine: Machine, outcome: StartingOutcome, server: Ipv4) => string | null;
}

/** For a question about a rack elsewhere: every image is there, and every order can be made. */
export const EVERYTHING_STARTS: Startability = {
  image: ({ kernel, initrd }) => parsed({ kernel, initrd, parameters: [] }),
  orderProblem: () => null,
};

interface StartQuestion {
  readonly outcome: StartingOutcome;
  readonly facts: ClientFacts;
  readonly machine: Machine | null;
  readonly profile: Profile | null;
  readonly server: Ipv4;
}

export type Start =
  | { readonly ok: true; readonly image: BootImage }
  /** What was armed stays armed: the machine asks again when it boots again. */
  | { readonly ok: false; readonly because: Because };

/** The image first: without it nothing starts that an order could be for. */
export function findStart(question: StartQuestion, startability: Startability): Start {
  const { outcome, facts, machine, profile, server } = question;
  const name = machine?.spec.hostname ?? facts.mac ?? 'this machine';
  const missing = (image: string): Start => ({
    ok: false,
    because: because('image-missing', { machine: name, image }),
  });
  const architecture = machine?.spec.architecture ?? facts.cpu;
  if (architecture === null) return missing('a service OS for an architecture that it does not tell');
  const image = startability.image(imageFor(outcome, architecture, profile));
  if (!image.ok) return missing(image.reason);
  // A machine that nobody has listed gets no session, so it needs no order.
  const why = machine === null ? null : startability.orderProblem(machine, outcome, server);
  if (why !== null) return { ok: false, because: because('order-impossible', { machine: name, why }) };
  return { ok: true, image: image.value };
}
