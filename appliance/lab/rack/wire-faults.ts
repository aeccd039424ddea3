// Faults of a cable or a switch, made by the kernel: nftables drops, tc delays. Each function returns an undo function.

import { ColdironError } from '../../domain/errors.ts';
import { bmcAddress } from './addresses.ts';
import type { RackNetwork } from './network.ts';

export type Undo = () => Promise<void>;

export interface StartedFault {
  readonly undo: Undo;
  /** What this kernel cannot do, and what happens instead; empty: everything works. */
  readonly note: string;
}

/** `tap`: one port of the bridge, or `tap*` for all. */
export function loseFrames(network: RackNetwork, tap: string, percent: number): Promise<Undo> {
  return rules(network, 'bridge', `loss_${identifier(tap)}`, {
    prerouting: `iifname "${tap}" ${randomly(percent)}drop`,
    postrouting: `oifname "${tap}" ${randomly(percent)}drop`,
  });
}

export function blockFrames(network: RackNetwork, tap: string): Promise<Undo> {
  return rules(network, 'bridge', `block_${identifier(tap)}`, {
    prerouting: `iifname "${tap}" drop`,
    postrouting: `oifname "${tap}" drop`,
  });
}

export function loseBmcPackets(network: RackNetwork, number: number, percent: number): Promise<Undo> {
  const address = bmcAddress(number);
  return rules(network, 'inet', `loss_bmc${number}`, {
    output: `ip daddr ${address} ${randomly(percent)}drop; ip saddr ${address} ${randomly(percent)}drop`,
  });
}

/** nftables rejects a comparison that is always true. */
const randomly = (percent: number): string => (percent === 100 ? '' : `numgen random mod 100 < ${percent} `);

/**
 * A token bucket towards the machine, the direction of the bulk data. On a kernel without one, a policer drops instead of
 * delaying; the opposite direction always has a policer.
 */
export async function slowDown(network: RackNetwork, taps: readonly string[], kilobits: number): Promise<StartedFault> {
  const undos: Undo[] = [];
  let note = '';
  const undo = async (): Promise<void> => {
    for (let next = undos.pop(); next; next = undos.pop()) await next();
  };
  try {
    for (const tap of taps) {
      const bucket = await tokenBucket(network, tap, kilobits);
      if (bucket) undos.push(bucket);
      else note = 'this kernel has no token bucket (tbf): excess packets are dropped instead of delayed';
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
  // A burst below one frame would pass nothing.
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
  return rules(network, 'bridge', `slow_${identifier(tap)}`, chains);
}

type Way = 'prerouting' | 'postrouting';

/** One table per fault, so that it is added and removed as a whole. */
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
    throw new ColdironError('service_unavailable', 'nftables cannot drop packets on this kernel', [
      (error as Error).message,
    ]);
  }
  return async () => void (await network.run('nft', 'delete', 'table', family, name));
}

/** nftables names consist of letters, digits and underscores. */
const identifier = (tap: string): string => tap.replace('*', '_all');
