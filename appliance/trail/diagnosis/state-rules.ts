// Rules about the state itself: what an operator decided, and nodes that should be enrolled or heard of.

import { instantText } from '../../domain/instant.ts';
import { enrolling, later, type Rule, seen } from './rule.ts';

export const STATE_RULES: readonly Rule[] = [
  {
    id: 'removed',
    fits: ({ lifecycle, script }) => {
      if (lifecycle.state !== 'removed') return null;
      const back = script && script.at >= lifecycle.since ? seen(script, 'it booted again and was refused') : null;
      return [lifecycle.note ?? 'no reason was written down', ...(back ?? [])];
    },
    reason: ({ hostname, lifecycle }) =>
      `${hostname} was removed at ${instantText(lifecycle.since)}, so it gets nothing but a refusal that says so`,
    nextStep: () =>
      'If it is to be used again, declare it anew (coldiron nodes add, or an inventory file): it is then a new node.',
  },
  {
    id: 'quarantined',
    fits: ({ lifecycle }) =>
      lifecycle.state === 'quarantined' ? [lifecycle.note ?? 'no reason was written down'] : null,
    reason: ({ hostname, lifecycle }) => `${hostname} is not trusted: ${lifecycle.note ?? 'nobody wrote down why'}`,
    nextStep: ({ hostname }) => `Compare chassis, MACs and serial, then: coldiron clear-quarantine ${hostname}`,
  },
  {
    id: 'node-silent',
    fits: ({ health, healthSilent }) =>
      health === 'silent' ? (seen(healthSilent, 'its heartbeats stopped') ?? ['its health is silent']) : null,
    reason: ({ hostname }) =>
      `${hostname} stopped sending heartbeats: it is off, cut off from the network, or its agent stopped`,
    nextStep: ({ hostname }) =>
      `Check its power (coldiron power ${hostname} status) and its screen (coldiron console ${hostname}). On the node: journalctl -u coldiron-node-agent`,
  },
  {
    id: 'enrolled-never',
    fits: (signs) =>
      enrolling(signs) && later(signs.systemAsks, signs.installed)
        ? seen(signs.systemAsks, 'the installed system asked for an address')
        : null,
    reason: ({ hostname }) => `${hostname} was installed and starts, but it has not enrolled`,
    nextStep: ({ hostname }) =>
      `Look at its agent (journalctl -u coldiron-node-agent) and whether it reaches the node API; a new token: coldiron token reissue ${hostname}`,
  },
  {
    id: 'boots-network-again',
    fits: (signs) =>
      enrolling(signs) && later(signs.script, signs.installed)
        ? seen(signs.script, 'it asked for its boot script after it was installed')
        : null,
    reason: ({ hostname }) =>
      `${hostname} was installed, but goes on booting from the network and is sent back to its disk`,
    nextStep: () =>
      "Put the disk before the network in its boot order, or check that its firmware kept the disk's boot entry.",
  },
  {
    id: 'no-first-boot',
    fits: (signs) => (enrolling(signs) && signs.installed ? seen(signs.installed, 'it was installed') : null),
    reason: ({ hostname }) => `${hostname} was installed, and nothing was seen of it since`,
    nextStep: ({ hostname }) => `Look at its screen (coldiron console ${hostname}): does it start from its disk?`,
  },
  {
    id: 'bundle-not-used',
    fits: (signs) =>
      enrolling(signs) ? (seen(signs.enrolling, 'its enrollment started') ?? ['its state waits for enrollment']) : null,
    reason: ({ hostname }) => `${hostname} has not enrolled: its bootstrap bundle was issued, and nobody has used it`,
    nextStep: ({ hostname }) =>
      `Run the bootstrap bundle on ${hostname}, and check that it reaches the node API. A new bundle: coldiron token reissue ${hostname}`,
  },
];
