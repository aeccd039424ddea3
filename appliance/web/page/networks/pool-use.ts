// How full the pools of a network are. Pure.

import type { Answer } from '../../../contract/wire.ts';

type Network = Answer<'listNetworks'>['networks'][number];
type Lease = Answer<'listLeases'>['leases'][number];

export interface PoolUse {
  readonly size: number;
  readonly held: number;
  /** 0 to 100. */
  readonly percent: number;
  /** `attention` when few addresses are left, `bad` when there is none. */
  readonly tone: 'good' | 'attention' | 'bad' | 'neutral';
}

const number = (address: string): number => address.split('.').reduce((value, part) => value * 256 + Number(part), 0);

const LOW_PERCENT = 85;

/** Null: the network has no pool, so every address is reserved. */
export function poolUse({ name, pools }: Network, leases: readonly Lease[]): PoolUse | null {
  if (pools.length === 0) return null;
  const ranges = pools.map(({ from, to }) => ({ from: number(from), to: number(to) }));
  const size = ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const inPool = (address: number): boolean => ranges.some(({ from, to }) => from <= address && address <= to);
  const held = leases.filter((lease) => lease.network === name && lease.held && inPool(number(lease.address))).length;
  const percent = size === 0 ? 100 : Math.round((held / size) * 100);
  const tone = held >= size ? 'bad' : percent >= LOW_PERCENT ? 'attention' : held === 0 ? 'neutral' : 'good';
  return { size, held, percent, tone };
}
