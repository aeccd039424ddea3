import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ColdironError } from '../../appliance/domain/errors.ts';
import type { LifecycleState } from '../../appliance/domain/lifecycle.ts';
import { quarantineOn } from '../../appliance/machines/quarantine.ts';
import { machineIn, OTHER_UUID, UUID } from '../boot/boot-fixtures.ts';

const MISMATCH = { kind: 'chassis-mismatch', expected: UUID, seen: OTHER_UUID } as const;

function watcher(refuse?: Error) {
  const requests: unknown[] = [];
  const messages: string[] = [];
  const log = {
    warn: (_: object, words: string) => void messages.push(words),
    error: (_: object, words: string) => void messages.push(words),
  };
  const request = async (...args: unknown[]) => {
    requests.push(args);
    if (refuse) throw refuse;
    return machineIn('quarantined');
  };
  return { requests, messages, onFinding: quarantineOn({ request }, log) };
}

describe('another chassis with a known MAC', () => {
  it('quarantines the machine, once, with both UUIDs in the note', async () => {
    const { requests, messages, onFinding } = watcher();
    for (let times = 0; times < 3; times++) onFinding(machineIn('active'), MISMATCH);
    await setImmediate();
    expect(requests).toEqual([
      [
        machineIn('active').id,
        'quarantine',
        {
          actor: 'appliance',
          correlationId: null,
          note: `another chassis boots with its MAC address: ${OTHER_UUID} instead of ${UUID}`,
        },
      ],
    ]);
    expect(messages).toEqual(['quarantined']);
  });

  it.each(['quarantined', 'removed'] as const satisfies LifecycleState[])(
    'changes nothing for one that is %s',
    (state) => {
      const { requests, onFinding } = watcher();
      onFinding(machineIn(state), MISMATCH);
      expect(requests).toEqual([]);
    },
  );

  it('is not an architecture mismatch', () => {
    const { requests, onFinding } = watcher();
    onFinding(machineIn('active'), { kind: 'architecture-mismatch', expected: 'x86_64', seen: 'arm64' });
    expect(requests).toEqual([]);
  });

  it('is not logged when another caller was first, and is an error when the store is unavailable', async () => {
    const lostRace = watcher(new ColdironError('conflict', 'it is quarantined'));
    lostRace.onFinding(machineIn('active'), MISMATCH);
    const broken = watcher(new ColdironError('store_unavailable', 'the disk is gone'));
    broken.onFinding(machineIn('active'), MISMATCH);
    await setImmediate();
    expect(lostRace.messages).toEqual([]);
    expect(broken.messages).toEqual(['a machine could not be quarantined; its boot is refused anyway']);
  });
});
