import { beforeEach, describe, expect, it } from 'vitest';
import type { BoundHardware } from '../../appliance/domain/hardware-identity.ts';
import { DAY, MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import type { PowerReading } from '../../appliance/domain/power-evidence.ts';
import { TwinWatch } from '../../appliance/identity/twin-watch.ts';
import { VirtualClock } from '../bmc/virtual-clock.ts';
import { aLife, aMachine } from '../machines/machines.ts';

const online = (number: number): Machine => ({ ...aMachine({ number, lifecycle: aLife('active') }), health: 'online' });

let clock: VirtualClock;
let fleet: Machine[];
let twins: string[];
let warnings: string[];
/** What the BMC of each machine reads; an error: it does not answer. */
let bmc: { power: PowerReading | Error; reads: number; obeyed: boolean };
let watch: TwinWatch;
const node = (): Machine => {
  const [first] = fleet;
  if (!first) throw new Error('there is a node');
  return first;
};

beforeEach(() => {
  clock = new VirtualClock();
  fleet = [online(1)];
  twins = [];
  warnings = [];
  bmc = { power: 'on', reads: 0, obeyed: true };
  watch = new TwinWatch({
    now: () => clock.now(),
    setTimer: (delay, run) => ({ cancel: clock.wakeAt(clock.now() + delay, run) }),
    heartbeatEvery: 30 * SECOND,
    silentAfter: 5 * MINUTE,
    machines: () => fleet,
    power: {
      observe: () => undefined,
      mayRead: () => true,
      hasObeyed: async () => bmc.obeyed,
      read: async (machine) => {
        bmc.reads += 1;
        if (bmc.power instanceof Error) throw bmc.power;
        await watch.reading(machine, bmc.power);
      },
    },
    onTwin: async (_machine, reason) => void twins.push(reason),
    log: { warn: (_fields, message) => void warnings.push(message) },
  });
});

const heartbeat = async (bootId: string | null): Promise<void> => {
  watch.heard(node());
  await watch.reported(node(), bootId, 'c-1');
};
/** Time passes, with a heartbeat every half minute. */
const reports = async (minutes: number, bootId: string | null = 'a boot'): Promise<void> => {
  for (let sent = 0; sent < minutes * 2; sent += 1) {
    await clock.advance(30 * SECOND);
    await heartbeat(bootId);
    await watch.check();
  }
};
const cut = (): void => {
  bmc.power = 'off';
  watch.cut(node());
};

describe('a boot id', () => {
  it('that is reported after its machine booted from the network reveals a second machine', async () => {
    await heartbeat('first boot');
    await heartbeat('first boot');
    expect(twins).toEqual([]);
    watch.booted(node().id);
    await heartbeat('first boot');
    expect(twins).toEqual([expect.stringContaining('its machine booted from the network')]);
  });

  it('of the next system is that of the machine that booted', async () => {
    await heartbeat('first boot');
    watch.booted(node().id);
    watch.booted(node().id);
    await heartbeat('second boot');
    await heartbeat('second boot');
    expect(twins).toEqual([]);
  });

  it('that is missing tells nothing about a boot', async () => {
    await heartbeat(null);
    watch.booted(node().id);
    await heartbeat(null);
    expect(twins).toEqual([]);
  });

  it('that returns after another one reveals two systems, unless it was only late', async () => {
    await heartbeat('first boot');
    await heartbeat('second boot');
    await clock.advance(9 * SECOND);
    await heartbeat('first boot');
    expect(twins).toEqual([]);
    await clock.advance(SECOND);
    await heartbeat('first boot');
    expect(twins).toEqual([expect.stringContaining('by turns')]);
  });

  it('is told once: whoever clears the quarantine trusts what reports', async () => {
    await heartbeat('first boot');
    watch.booted(node().id);
    await heartbeat('first boot');
    fleet = [{ ...node(), lifecycle: aLife('quarantined') }];
    await heartbeat('first boot');
    fleet = [{ ...node(), lifecycle: aLife('active') }];
    await heartbeat('first boot');
    expect(twins).toHaveLength(1);
  });

  it('of a machine that the appliance switched off is not reported any more, except by a second machine', async () => {
    await heartbeat('first boot');
    cut();
    await clock.advance(9 * SECOND);
    await heartbeat('first boot');
    watch.started(node());
    bmc.power = 'on';
    expect(twins).toEqual([]);
    await clock.advance(SECOND);
    await heartbeat('first boot');
    expect(twins).toEqual([expect.stringMatching(/^the appliance switched its machine off at .* goes on reporting/)]);
  });

  it('of an earlier process counts, too; only a limited number is kept', async () => {
    watch.remember(node().id, clock.now(), 'boot 0');
    for (let boot = 1; boot <= 9; boot += 1) await heartbeat(`boot ${boot}`);
    await clock.advance(MINUTE);
    await heartbeat('boot 0');
    expect(twins).toEqual([]);
    await heartbeat('boot 3');
    expect(twins).toHaveLength(1);
  });
});

describe('a machine that the appliance switches off and on', () => {
  const heldFor = async (most = Number.POSITIVE_INFINITY): Promise<number> => {
    const before = clock.now();
    await clock.until(watch.heldOff(node(), most));
    return (clock.now() - before) / SECOND;
  };

  it('stays off until its node would have reported', async () => {
    await reports(2);
    cut();
    expect(await heldFor()).toBe(40);
    watch.started(node());
    expect(twins).toEqual([]);
  });

  it('stays off longer when its node reports less often, and not longer than its caller can wait', async () => {
    await heartbeat(null);
    await clock.advance(4 * MINUTE);
    await heartbeat(null);
    // Many requests at once do not hide the pause.
    for (let request = 0; request < 100; request += 1) watch.heard(node());
    cut();
    expect(await heldFor(70 * SECOND)).toBe(70);
    expect(await heldFor()).toBe(4 * 60 + 10 - 70);
  });

  it('is read as soon as a report comes, with whatever boot id, and the node is quarantined', async () => {
    await reports(1);
    cut();
    const held = watch.heldOff(node(), Number.POSITIVE_INFINITY);
    clock.wakeAt(clock.now() + 12 * SECOND, () => watch.heard(node()));
    const before = clock.now();
    await clock.until(held);
    expect(clock.now() - before).toBe(12 * SECOND);
    expect(watch.expects(node())).toBe(true);
    await watch.reading(node(), 'off');
    expect(twins).toEqual([expect.stringContaining('the BMC still read off')]);
  });

  it('starts at once without a node that reports, with a TPM, when the caller gives up and when the appliance stops', async () => {
    cut();
    expect(await heldFor()).toBe(0);
    await reports(1);
    watch.started(node());
    await clock.advance(3 * MINUTE);
    cut();
    expect(await heldFor()).toBe(0);
    const tpm: BoundHardware['tpm'] = { eks: [], issuer: null, pcrs: null, trust: 'declared' };
    const bound: BoundHardware = { uuid: null, serial: null, macs: [], tpm, boundAt: 0 };
    await heartbeat(null);
    cut();
    const proved = { ...node(), hardware: { bound, refused: null } };
    const before = clock.now();
    await clock.until(watch.heldOff(proved, Number.POSITIVE_INFINITY));
    const given = new AbortController();
    const held = watch.heldOff(node(), Number.POSITIVE_INFINITY, given.signal);
    given.abort();
    await clock.until(held);
    const last = watch.heldOff(node(), Number.POSITIVE_INFINITY);
    watch.stop();
    await clock.until(last);
    expect(clock.now()).toBe(before);
    expect(clock.pending).toBe(0);
  });
});

describe('a machine that is off while its node reports', () => {
  it('is noticed when it was switched off through the appliance', async () => {
    await reports(1);
    cut();
    await reports(1, 'another boot id');
    expect(twins).toEqual([expect.stringContaining('the appliance switched its machine off')]);
  });

  it('is noticed in a session, too', async () => {
    cut();
    await clock.advance(11 * SECOND);
    watch.heardSession(node());
    await expect.poll(() => twins).toHaveLength(1);
  });

  it('is noticed by the readings in the background', async () => {
    await reports(1);
    bmc.power = 'off';
    await reports(30);
    expect(twins).toEqual([expect.stringContaining('its BMC has read off since')]);
    expect(bmc.reads).toBeLessThan(10);
  });

  it('is only logged when its BMC was never seen to start it: the address may be wrong', async () => {
    bmc = { power: 'off', reads: 0, obeyed: false };
    await reports(60);
    expect(twins).toEqual([]);
    expect(warnings).toEqual(['the BMC of a node contradicts its reports']);
    expect(bmc.reads).toBeLessThan(6);
  });
});

describe('the readings in the background', () => {
  it('are every 20 minutes, of online nodes without a TPM', async () => {
    await reports(60);
    expect(bmc.reads).toBe(3);
    fleet = [{ ...node(), health: 'silent' }];
    await clock.advance(61 * MINUTE);
    await watch.check();
    expect(bmc.reads).toBe(3);
  });

  it('become rare when the BMC does not answer, or rejects the password', async () => {
    bmc.power = new Error('wrong password');
    await reports(DAY / MINUTE);
    expect(bmc.reads).toBeLessThan(8);
    expect(twins).toEqual([]);
  });

  it('are few at a time', async () => {
    fleet = Array.from({ length: 20 }, (_, index) => online(index));
    await watch.check();
    expect(bmc.reads).toBe(4);
    await watch.check();
    expect(bmc.reads).toBe(8);
  });
});
