// What a cable or a switch does wrong, with the kernel's own means: nftables drops, tc delays. Each returns what ends it.

import { ColdironError } from '../../domain/errors.ts';
import { bmcAddress } from './addresses.ts';
import type { RackNetwork } from './network.ts';

export type Undo = () => Promise<void>;

export interface Begun {
  readonly undo: Undo;
  /** What this kernel cannot do, and what happens instead; empty: nothing is missing. */
  readonly note: string;
}

/** `tap`: one port of the bridge, or `tap*` for all. */
export function loseFrames(network: RackNetwork, tap: string, percent: number): Promise<Undo> {
  return rules(network, 'bridge', `loss_${word(tap)}`, {
    prerouting: `iifname "${tap}" ${some(percent)}drop`,
    postrouting: `oifname "${tap}" ${some(percent)}drop`,
  });
}

export function blockFrames(network: RackNetwork, tap: string): Promise<Undo> {
  return rules(network, 'bridge', `block_${word(tap)}`, {
    prerouting: `iifname "${tap}" drop`,
    postrouting: `oifname "${tap}" drop`,
  });
}

export function loseBmcPackets(network: RackNetwork, number: number, percent: number): Promise<Undo> {
  const address = bmcAddress(number);
  return rules(network, 'inet', `loss_bmc${number}`, {
    output: `ip daddr ${address} ${some(percent)}drop; ip saddr ${address} ${some(percent)}drop`,
  });
}

/** nftables refuses a comparison that always holds. */
const some = (percent: number): string => (percent === 100 ? '' : `numgen random mod 100 < ${percent} `);

/**
 * A token bucket on the way to the machine, where the bytes are. A kernel without one gets a policer, which drops instead of
 * delaying; on the way back there is a policer in any case.
 */
export async function slowDown(network: RackNetwork, taps: readonly string[], kilobits: number): Promise<Begun> {
  const undos: Undo[] = [];
  let note = '';
  const undo = async (): Promise<void> => {
    for (let next = undos.pop(); next; next = undos.pop()) await next();
  };
  try {
    for (const tap of taps) {
      const bucket = await tokenBucket(network, tap, kilobits);
      if (bucket) undos.push(bucket);
      else note = 'this kernel has no token bucket (tbf): what is too fast is dropped instead of delayed';
      undos.push(await police(network, tap, kilobits, bucket ? ['prerouting'] : ['prerouting', 'postrouting']));
    }
  } catch (error) {
    await undo();
    throw error;
  }
  return { undo, note };
}

const UNKNOWN_QDISC = /qdisc kind is unknown|No such file|not supported/i;

async function tokenBucket(network: RackNetwork, tap: string, kilobits: number): Promise<Undo | null> {
  // A burst below one frame would let nothing through.
  const bucket = ['rate', `${kilobits}kbit`, 'burst', '16kb', 'latency', '500ms'];
  try {
    await network.run('tc', 'qdisc', 'replace', 'dev', tap, 'root', 'tbf', ...bucket);
  } catch (error) {
    if (error instanceof ColdironError && UNKNOWN_QDISC.test(error.message)) return null;
    throw error;
  }
  return async () => void (await network.run('tc', 'qdisc', 'delete', 'dev', tap, 'root'));
}

function police(network: RackNetwork, tap: string, kilobits: number, ways: readonly Way[]): Promise<Undo> {
  const rate = `limit rate over ${Math.ceil(kilobits / 8)} kbytes/second burst 16 kbytes drop`;
  const side = { prerouting: 'iifname', postrouting: 'oifname' } as const;
  const chains = Object.fromEntries(ways.map((way) => [way, `${side[way]} "${tap}" ${rate}`]));
  return rules(network, 'bridge', `slow_${word(tap)}`, chains);
}

type Way = 'prerouting' | 'postrouting';

/** A table of its own for each, so that it is put in and taken out as a whole. */
async function rules(
  network: RackNetwork,
  family: 'bridge' | 'inet',
  name: string,
  chains: Readonly<Record<string, string>>,
): Promise<Undo> {
  const texts = Object.entries(chains).map(
    ([hook, rule]) => `chain ${hook} { type filter hook ${hook} priority 0; policy accept; ${rule}; };`,
  );
  const add = `table ${family} ${name} { ${texts.join(' ')} }`;
  try {
    await network.run('nft', add);
  } catch (error) {
    throw new ColdironError('service_unavailable', 'this kernel cannot lose packets on purpose', [
      (error as Error).message,
    ]);
  }
  return async () => void (await network.run('nft', 'delete', 'table', family, name));
}

/** nftables' names have letters, digits and underscores. */
const word = (tap: string): string => tap.replace('*', '_all');
