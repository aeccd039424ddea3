// Whether an outcome that starts our code can be started: its kernel and initrd are on this appliance, and its order
// can be made. An input of the decision, so that DHCP, TFTP, HTTP and `explain` give the same result.
// HTTP and TFTP serve images from the same library: an image in it can be started over both.

import type { Profile } from '../domain/catalogue.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import type { Machine } from '../domain/machine.ts';
import { type Parsed, parsed } from '../domain/parsed.ts';
import { type Because, because } from './because.ts';
import { type BootImage, imageFor, type RequiredImage } from './boot-images.ts';
import type { ClientFacts } from './client-facts.ts';
import type { Outcome } from './decide-boot.ts';

export type StartingOutcome = Extract<Outcome, { kind: 'service-os' | 'installer' }>;

export const startsOurCode = (outcome: Outcome): outcome is StartingOutcome =>
  outcome.kind === 'service-os' || outcome.kind === 'installer';

/** Called for every request of a machine that is to start something: lookups in memory, no I/O, no changes. */
export interface Startability {
  /** Kernel and initrd for this architecture. The reason names what is missing, as an object of "is to start". */
  readonly image: (required: RequiredImage) => Parsed<BootImage>;
  /** Why no order can be made for the started system; null: it can. `server`: this appliance as the machine reaches it. */
  readonly orderProblem: (machine: Machine, outcome: StartingOutcome, server: Ipv4) => string | null;
}

/** For a query about a rack elsewhere: every image exists, and every order can be made. */
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
  /** The intent stays armed: the machine retries at its next boot. */
  | { readonly ok: false; readonly because: Because };

/** Checks the image first: without it no order is needed. */
export function findStart(question: StartQuestion, startability: Startability): Start {
  const { outcome, facts, machine, profile, server } = question;
  const name = machine?.spec.hostname ?? facts.mac ?? 'this machine';
  const missing = (image: string): Start => ({
    ok: false,
    because: because('image-missing', { machine: name, image }),
  });
  const architecture = machine?.spec.architecture ?? facts.cpu;
  if (architecture === null) return missing('a service OS for an unknown architecture');
  const image = startability.image(imageFor(outcome, architecture, profile));
  if (!image.ok) return missing(image.reason);
  // An unregistered machine gets no session, so it needs no order.
  const why = machine === null ? null : startability.orderProblem(machine, outcome, server);
  if (why !== null) return { ok: false, because: because('order-impossible', { machine: name, why }) };
  return { ok: true, image: image.value };
}
