// Rules about the lifecycle state itself: decisions of operators, and nodes that do not enroll or send no heartbeats.

import { instantText } from '../../domain/instant.ts';
import { enrolling, later, type Rule, seen } from './rule.ts';

export const STATE_RULES: readonly Rule[] = [
  {
    id: 'removed',
    matches: ({ lifecycle, script }) => {
      if (lifecycle.state !== 'removed') return null;
      const back = script && script.at >= lifecycle.since ? seen(script, 'it booted again and was rejected') : null;
      return [lifecycle.note ?? 'no reason was recorded', ...(back ?? [])];
    },
    reason: ({ hostname, lifecycle }) =>
      `${hostname} was removed at ${instantText(lifecycle.since)}, so its boot requests are refused`,
    nextStep: () => 'To use it again, declare it as a new node (coldiron nodes add, or an inventory file).',
  },
  {
    id: 'quarantined',
    matches: ({ lifecycle }) =>
      lifecycle.state === 'quarantined' ? [lifecycle.note ?? 'no reason was recorded'] : null,
    reason: ({ hostname, lifecycle }) => `${hostname} is not trusted: ${lifecycle.note ?? 'no reason was recorded'}`,
    nextStep: ({ hostname }) =>
      `Compare its chassis, MACs and serial number with the inventory, then run: coldiron clear-quarantine ${hostname}`,
  },
  {
    id: 'node-silent',
    matches: ({ health, healthSilent }) =>
      health === 'silent' ? (seen(healthSilent, 'its heartbeats stopped') ?? ['its health is silent']) : null,
    reason: ({ hostname }) =>
      `${hostname} stopped sending heartbeats: it is off, it lost its network connection, or its agent stopped`,
    nextStep: ({ hostname }) =>
      `Check its power (coldiron power ${hostname} status) and its screen (coldiron console ${hostname}). On the node: journalctl -u coldiron-node-agent`,
  },
  {
    id: 'enrolled-never',
    matches: (signs) =>
      enrolling(signs) && later(signs.osDiscover, signs.installed)
        ? seen(signs.osDiscover, 'the installed system requested an address')
        : null,
    reason: ({ hostname }) => `${hostname} was installed and starts, but it has not enrolled`,
    nextStep: ({ hostname }) =>
      `Check its agent (journalctl -u coldiron-node-agent) and that it reaches the node API. To issue a new token: coldiron token reissue ${hostname}`,
  },
  {
    id: 'boots-network-again',
    matches: (signs) =>
      enrolling(signs) && later(signs.script, signs.installed)
        ? seen(signs.script, 'it requested its boot script after it was installed')
        : null,
    reason: ({ hostname }) =>
      `${hostname} was installed, but still boots from the network first and is sent to its disk`,
    nextStep: () =>
      "Put the disk before the network in its boot order, or check that its firmware kept the disk's boot entry.",
  },
  {
    id: 'no-first-boot',
    matches: (signs) => (enrolling(signs) && signs.installed ? seen(signs.installed, 'it was installed') : null),
    reason: ({ hostname }) => `${hostname} was installed, but has sent no packet since`,
    nextStep: ({ hostname }) =>
      `Look at its screen (coldiron console ${hostname}) and check that it boots from its disk.`,
  },
  {
    id: 'bundle-not-used',
    matches: (signs) =>
      enrolling(signs) ? (seen(signs.enrolling, 'its enrollment started') ?? ['its state waits for enrollment']) : null,
    reason: ({ hostname }) => `${hostname} has not enrolled: its bootstrap bundle was issued but not used`,
    nextStep: ({ hostname }) =>
      `Run the bootstrap bundle on ${hostname}, and check that it reaches the node API. To issue a new bundle: coldiron token reissue ${hostname}`,
  },
];
