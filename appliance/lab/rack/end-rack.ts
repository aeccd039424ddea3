// Takes a rack down, whatever state it is in: up, half up, or left behind by an owner that was killed.

import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { ColdironError } from '../../domain/errors.ts';
import { folderOf, removeNamespace, sweepLeftovers } from './leftovers.ts';
import { endProcess, isAlive } from './process-records.ts';
import { orderRack } from './rack-control.ts';
import type { RackClaim, RackFolder } from './rack-folder.ts';

const DOWN_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** True when there was something to take down. Disks, settings and credentials stay for the next time. */
export async function endRack(folder: RackFolder): Promise<boolean> {
  const claim = await folder.claim();
  if (claim !== null && (await isAlive(claim.owner))) await endOwned(claim);
  const ended = await folder.records.endAll();
  // Also of racks whose folder is gone: their names say whose they were.
  await sweepLeftovers();
  if (claim !== null) {
    await removeNamespace(claim.namespace);
    await rm(folderOf(claim.namespace), { recursive: true, force: true });
  }
  await folder.dropClaim();
  return claim !== null || ended.length > 0;
}

async function endOwned(claim: RackClaim): Promise<void> {
  try {
    await orderRack(claim.control, { do: 'down' }, DOWN_WITHIN_MS);
  } catch (error) {
    if (claim.kind === 'embedded') throw doesNotStop(claim, error as Error);
    await endProcess(claim.owner);
  }
  if (claim.kind === 'embedded') return;
  const deadline = performance.now() + DOWN_WITHIN_MS;
  while ((await isAlive(claim.owner)) && performance.now() < deadline) await pause(LOOK_EVERY_MS);
  await endProcess(claim.owner);
}

/** It has other work: nobody kills it for the sake of a rack. */
const doesNotStop = ({ owner }: RackClaim, error: Error): ColdironError =>
  new ColdironError('conflict', `process ${owner.pid} runs this rack and does not take it down: end that process`, [
    error.message,
  ]);
