// Every reason of a boot decision, in one table: a stable id, the text, and what to do about it.
// {name} marks a value that the decision fills in; the compiler checks that each decision fills in exactly these.

import type { LifecycleState } from '../domain/lifecycle.ts';
import { STATES } from '../domain/states.ts';

interface Reason {
  readonly words: string;
  /** What an operator can do; empty when there is nothing to do. */
  readonly hint: string;
}

const REASONS = {
  'network-unknown': {
    words: 'no declared network contains the address that this request came through',
    hint: 'Declare the network in the inventory, or correct the address of the relay.',
  },
  'network-without-server': {
    words: 'network {network} names no address of this appliance, so nothing boots from it',
    hint: 'Set `server` on network {network}.',
  },

  'unaccepted-ignored': {
    words: 'nobody has accepted this machine, and network {network} ignores such machines',
    hint: 'Accept it: coldiron nodes accept {machine}',
  },
  'unaccepted-refused': {
    words: 'nobody has accepted this machine, and network {network} refuses such machines',
    hint: 'Accept it: coldiron nodes accept {machine}',
  },
  'unaccepted-held': {
    words: 'nobody has accepted this machine, and network {network} lets such machines wait for it',
    hint: 'Accept it: coldiron nodes accept {machine}',
  },
  'unaccepted-local-disk': {
    words: 'nobody has accepted this machine, and network {network} sends such machines to their own disk',
    hint: 'Accept it: coldiron nodes accept {machine}',
  },
  'unaccepted-inspected': {
    words: 'nobody has accepted this machine, and network {network} has such machines inspected, which changes nothing',
    hint: 'Look at what it reports, then accept it: coldiron nodes accept {machine}',
  },

  'chassis-mismatch': {
    words: '{node} is declared as chassis {expected}, but this machine reports {seen}',
    hint: 'Was a card or a board moved? Check the machine, then correct its UUID and clear the quarantine of {node}.',
  },

  'deploy-armed': {
    words: '{actor} armed the installation of {profile} on {node}; it is carried out once',
    hint: 'To stop it, let {node} leave the state deploying before it boots.',
  },
  'erase-armed': {
    words: '{actor} armed the erasure of {node}; it is carried out once',
    hint: 'To stop it, let {node} leave the state releasing before it boots.',
  },
  'intent-missing': {
    words: '{node} is in state {state}, but nobody armed the {work}, so it boots from its own disk',
    hint: 'Arm it: coldiron {verb} {node}',
  },
  'intent-of-other-kind': {
    words: '{node} is in state {state}, but what is armed is not the {work}, so it boots from its own disk',
    hint: 'Arm the right one: coldiron {verb} {node}',
  },
  'intent-for-other-machine': {
    words: 'the {work} is armed for another machine than {node}, which boots from its own disk',
    hint: 'Arm it for this one: coldiron {verb} {node}',
  },
  'intent-revoked': {
    words: 'the armed {work} of {node} was revoked at {at}, so it boots from its own disk',
    hint: 'If it is still wanted, arm it again: coldiron {verb} {node}',
  },
  'intent-consumed': {
    words: 'the armed {work} of {node} was used up at {at}, so it boots from its own disk',
    hint: 'If it did not finish, read why (coldiron diagnose {node}), then arm it again: coldiron {verb} {node}',
  },
  'intent-expired': {
    words: 'the armed {work} of {node} expired at {at}, so it boots from its own disk',
    hint: 'If it is still wanted, arm it again: coldiron {verb} {node}',
  },
  'intent-not-yet': {
    words: 'the {work} of {node} is armed from {at}, which is in the future, so it boots from its own disk',
    hint: 'Check the clocks of the appliances.',
  },
  'intent-for-other-chassis': {
    words: 'the {work} of {node} is armed for another chassis than this one, so it boots from its own disk',
    hint: 'Compare MAC and UUID of {node} with the machine, then arm it again: coldiron {verb} {node}',
  },
  'chassis-untold': {
    words:
      'the {work} of {node} is bound to a chassis UUID and this request carries none, so it boots from its own disk',
    hint: 'iPXE sends the UUID with the script; if it cannot, set the UUID in the firmware of {node}.',
  },

  'image-missing': {
    words: '{machine} is to start {image}, which is not on this appliance; an armed intent is kept',
    hint: 'Add it to the library, then check: coldiron assets list',
  },

  'order-impossible': {
    words: 'the order for {machine} cannot be made: {why}; an armed intent is kept',
    hint: 'Remove the cause; the machine retries at its next boot.',
  },

  'profile-unknown': {
    words: 'the profile {profile} that is armed for {node} is not in the catalogue; the intent is kept',
    hint: 'Declare profile {profile}, or arm another one: coldiron deploy {node}',
  },
  'profile-inactive': {
    words: 'the profile {profile} that is armed for {node} is not active; the intent is kept',
    hint: 'Activate profile {profile}, or arm another one: coldiron deploy {node}',
  },
  'profile-architecture-mismatch': {
    words: 'the profile {profile} is made for {made}, and {node} is {architecture}; the intent is kept',
    hint: 'Arm a profile for {architecture}: coldiron deploy {node}',
  },
  'architecture-mismatch': {
    words: '{node} is declared as {expected}, but this client is {seen}',
    hint: 'Correct the architecture of {node} in the inventory, or find out which machine has its MAC address.',
  },

  'loader-for-architecture': {
    words: 'architecture {architecture}: {why}',
    hint: '',
  },
  'loader-under-secure-boot': {
    words: 'architecture {architecture} under Secure Boot: {why}',
    hint: '',
  },
  'no-loader-for-architecture': {
    words: 'no loader for architecture {architecture}: {why}',
    hint: 'Use the firmware boot mode that is named, or turn off network boot on the machine.',
  },
  'architecture-untold': {
    words: 'the request names no architecture that IANA lists (option 93, option 60), so no loader is certain to run',
    hint: 'Update the firmware of the network card.',
  },
  'raspberry-pi-rom': {
    words: 'a Raspberry Pi boot ROM reports x86 BIOS, and no x86 loader runs on it',
    hint: 'Boot the Pi from UEFI firmware on its SD card; it then reports architecture 11.',
  },
  'script-for-ipxe': {
    words: 'iPXE supports HTTP and the kernels of this firmware (option 175), so it gets the script at once',
    hint: '',
  },
  'script-for-ipxe-that-tells-nothing': {
    words:
      'iPXE does not report its features (no readable option 175); another iPXE would look the same, so it gets the script',
    hint: 'A relay or firewall may strip option 175.',
  },
  'ipxe-without-http': {
    words: 'this iPXE was built without HTTP (175.0x13 missing), so our own build replaces it',
    hint: '',
  },
  'ipxe-without-kernel-format': {
    words: 'this iPXE cannot start a kernel on {firmware} ({feature} missing), so our own build replaces it',
    hint: '',
  },
  'operating-system': {
    words: 'the client is an operating system: it needs a lease and no boot file',
    hint: '',
  },
  'other-boot-loader': {
    words: 'the client is another boot loader, which needs no loader from this appliance',
    hint: 'For U-Boot or ONIE: start UEFI firmware or iPXE from it.',
  },
  'asked-by-name': {
    words: 'the client names the file, and gets it if the manifest lists it',
    hint: '',
  },
} as const satisfies Record<string, Reason>;

type ReasonId = keyof typeof REASONS;

/** The states that have a boot reason of their own; its text is in the table of states. */
type BootOf<State extends LifecycleState> = (typeof STATES)[State]['boots'];
type ReasonedBoot = Extract<BootOf<LifecycleState>, Reason>;
type ReasonedState = {
  [State in LifecycleState]: BootOf<State> extends Reason ? State : never;
}[LifecycleState];

export type BecauseId = ReasonId | ReasonedState;

const stateReasons = Object.entries(STATES).flatMap(([state, { boots }]): [string, Reason][] =>
  'words' in boots ? [[state, boots]] : [],
);

export const BECAUSE = { ...REASONS, ...Object.fromEntries(stateReasons) } as Readonly<Record<BecauseId, Reason>>;

export interface Because {
  readonly id: BecauseId;
  readonly words: string;
  readonly hint: string;
}

type Placeholder<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholder<Rest>
  : never;
type PlaceholderOf<Id extends ReasonId> = Placeholder<(typeof REASONS)[Id]['words'] | (typeof REASONS)[Id]['hint']>;

type BecauseDetails<Id extends ReasonId> = Readonly<Record<PlaceholderOf<Id>, string>>;

/** Text and names alternate, text first. Split once: every DHCP packet renders two reasons. */
const split = (text: string): readonly string[] => text.split(/\{(\w+)\}/);
const SPLIT = Object.fromEntries(
  Object.entries(BECAUSE).map(([id, { words, hint }]) => [id, { words: split(words), hint: split(hint) }]),
) as Readonly<Record<BecauseId, { readonly words: readonly string[]; readonly hint: readonly string[] }>>;

export function because<Id extends ReasonId>(
  id: Id,
  ...details: [PlaceholderOf<Id>] extends [never] ? [] : [BecauseDetails<Id>]
): Because {
  const values: Readonly<Record<string, string>> = details[0] ?? {};
  return reason(id, (name) => values[name] ?? '');
}

export type StateDetail = Placeholder<ReasonedBoot['words' | 'hint']>;

export const hasOwnReason = (state: LifecycleState): state is ReasonedState => 'words' in STATES[state].boots;

/** Details that the reason does not name are not asked for. */
export const becauseOfState = (state: ReasonedState, detail: (name: StateDetail) => string): Because =>
  reason(state, detail);

/** The compiler has checked the names in the texts. */
function reason<Name extends string>(id: BecauseId, value: (name: Name) => string): Because {
  const { words, hint } = SPLIT[id];
  return { id, words: filled(words, value), hint: filled(hint, value) };
}

function filled<Name extends string>(pieces: readonly string[], value: (name: Name) => string): string {
  let text = pieces[0] ?? '';
  for (let at = 1; at < pieces.length; at += 2) text += value(pieces[at] as Name) + (pieces[at + 1] ?? '');
  return text;
}
