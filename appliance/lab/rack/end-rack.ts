// Takes a rack down in any state: up, half up, or left behind by a killed owner.

import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { ColdironError } from '../../domain/errors.ts';
import { folderOf, removeNamespace, sweepLeftovers } from './leftovers.ts';
import { endProcess, isAlive } from './process-records.ts';
import { orderRack } from './rack-control.ts';
import type { RackClaim, RackFolder } from './rack-folder.ts';

const DOWN_TIMEOUT_MS = 30_000;
const POLL_EVERY_MS = 20;

/** Returns whether there was anything to take down. Disks, settings and credentials stay for the next start. */
export async function endRack(folder: RackFolder): Promise<boolean> {
  const claim = await folder.claim();
  if (claim !== null && (await isAlive(claim.owner))) await endOwned(claim);
  const ended = await folder.records.endAll();
  // Also those of racks whose folder is gone: their name identifies the owner.
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
    await orderRack(claim.control, { do: 'down' }, DOWN_TIMEOUT_MS);
  } catch (error) {
    if (claim.kind === 'embedded') throw doesNotStop(claim, error as Error);
    await endProcess(claim.owner);
  }
  if (claim.kind === 'embedded') return;
  const deadline = performance.now() + DOWN_TIMEOUT_MS;
  while ((await isAlive(claim.owner)) && performance.now() < deadline) await pause(POLL_EVERY_MS);
  await endProcess(claim.owner);
}

/** It does other work too: it is not killed to take down a rack. */
const doesNotStop = ({ owner }: RackClaim, error: Error): ColdironError =>
  new ColdironError('conflict', `process ${owner.pid} runs this rack and failed to take it down: end that process`, [
    error.message,
  ]);
