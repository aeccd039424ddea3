import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { expect, it } from 'vitest';
import { Listening } from '../../appliance/servers/listening.ts';

it('a change that cannot be followed is in the log, and the next one is followed', async () => {
  const done: string[] = [];
  let failure: Error | null = new Error('no descriptors left');
  const log = { error: (_: object, words: string) => void done.push(words) } as unknown as FastifyBaseLogger;
  const part = (name: string) => ({
    states: () => [],
    places: () => [],
    reconcile: async () => {
      if (failure) throw failure;
      done.push(name);
    },
  });
  const bootChain = { followUp: async () => void done.push('boot chain') };
  const interfaces = { hasChanged: () => false };
  const listening = new Listening({ dhcp: part('dhcp'), tftp: part('tftp'), bootChain, interfaces, log });

  listening.onChange();
  await setTimeout(0);
  expect(done.splice(0)).toEqual([
    'what is listened on could not be brought in step with the inventory; it is tried again',
  ]);
  failure = null;
  listening.onChange();
  await setTimeout(0);
  expect(done).toEqual(['tftp', 'dhcp', 'boot chain']);
});
