import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { expect, it } from 'vitest';
import { Listening } from '../../appliance/servers/listening.ts';

it('logs a change that cannot be applied, and applies the next one', async () => {
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
  expect(done.splice(0)).toEqual(['the DHCP and TFTP listeners could not be reconciled with the inventory; retrying']);
  failure = null;
  listening.onChange();
  await setTimeout(0);
  expect(done).toEqual(['tftp', 'dhcp', 'boot chain']);
});
