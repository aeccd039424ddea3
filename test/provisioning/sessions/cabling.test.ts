import { afterEach, describe, expect, it } from 'vitest';
import { sampleData } from '../../../appliance/domain/events/sample-event.ts';
import type { LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import { addMachines, mac, newEvent, specOf } from '../../store/samples.ts';
import { useScratchFolder } from '../../store/scratch-folder.ts';
import { writesTo } from '../../store/writes.ts';
import { CALL, SessionsRig } from './sessions-rig.ts';

const place = useScratchFolder();
let rig: SessionsRig;
afterEach(() => rig.store.close());

const DECLARED = { name: 'sw3', port: 'Ethernet1/12' };

async function inState(state: LifecycleState): Promise<SessionsRig> {
  const spec = specOf(1);
  const interfaces = spec.interfaces.map((nic, index) => (index === 0 ? { ...nic, switch: DECLARED } : nic));
  rig = await SessionsRig.open(place('coldiron.db'), state, { ...spec, interfaces });
  return rig;
}

const factsAt = (port: string | null) => ({
  disks: [{ name: 'sda', bytes: 1 }],
  nics: [
    {
      ...{ name: 'eno1', mac: mac(1), link: true },
      neighbour: port === null ? null : { chassis: null, system: 'SW3.dc1.example', port, port_description: 'node01' },
    },
  ],
});
const DONE = { sequence: 9, step: 'cabling', status: 'done' };
const eventsOf = async (kind: string) => (await rig.store.events({ limit: 100 })).filter((each) => each.kind === kind);

describe('a report of LLDP neighbours', () => {
  it('in the declared port contradicts nothing', async () => {
    const { sessions } = await inState('commissioning');
    await sessions.facts(await rig.session('commission'), factsAt('Eth1/12'), CALL);
    expect(await eventsOf('session.contradicted')).toEqual([]);
  });

  it('in another port is an event that says whose port it is, and the commissioning goes on', async () => {
    const { sessions, store } = await inState('commissioning');
    const other = specOf(2);
    const interfaces = other.interfaces.map((nic) => ({ ...nic, switch: { name: 'sw3', port: 'Ethernet1/13' } }));
    rig.others.push(...(await addMachines(store, { ...other, interfaces })));
    const key = await rig.session('commission');
    await sessions.facts(key, factsAt('Ethernet1/13'), CALL);
    expect((await eventsOf('session.contradicted')).map(({ data }) => data)).toEqual([
      {
        contradictions: [
          {
            field: 'interfaces.eno1.switch',
            declared: 'sw3 Ethernet1/12',
            found: 'SW3.dc1.example Ethernet1/13 (node01) (the port of node2 eno1)',
          },
        ],
      },
    ]);
    await sessions.outcome(key, { ok: true });
    expect(await rig.state()).toMatchObject({ state: 'ready' });
  });
});

describe('an installation whose profile requires the declared cabling', () => {
  const installing = async () => {
    const opened = await inState('deploying');
    rig.profile = { ...rig.profile, cabling: 'require' };
    return { ...opened, sessions: rig.sessions, key: await rig.session('install') };
  };

  it.each([
    ['another port', 'Ethernet1/13', /eno1 belongs at sw3 Ethernet1\/12: at SW3.dc1.example Ethernet1\/13/],
    ['no neighbour', null, /eno1 belongs at sw3 Ethernet1\/12: no LLDP neighbour was heard/],
  ])('fails before the disk is written: %s', async (_sentence, port, reason) => {
    const { sessions, key } = await installing();
    await sessions.facts(key, factsAt(port), CALL);
    const over = expect.objectContaining({ code: 'session_over', message: expect.stringMatching(reason) });
    await expect(sessions.step(key, DONE, CALL)).rejects.toThrow(over);
    expect(await rig.state()).toMatchObject({
      ...{ state: 'failed', failure: { step: 'deploy', reason: expect.stringMatching(reason) } },
    });
    await expect(sessions.step(key, { ...DONE, sequence: 10, step: 'choose-disk' }, CALL)).rejects.toThrow(
      expect.objectContaining({ code: 'session_over' }),
    );
  });

  it('goes on in the declared port', async () => {
    const { sessions, key } = await installing();
    await sessions.facts(key, factsAt('ethernet1/12'), CALL);
    await sessions.step(key, DONE, CALL);
    expect(await rig.state()).toMatchObject({ state: 'deploying' });
  });

  it('does not count what an earlier session heard', async () => {
    const { sessions, key, store, machine } = await installing();
    const event = newEvent('session.facts', { machine: machine.id, data: sampleData('session.facts') });
    await writesTo(store).putFacts(machine.id, { facts: factsAt('Ethernet1/12'), at: 1 }, event);
    await expect(sessions.step(key, DONE, CALL)).rejects.toThrow(/no LLDP neighbour was heard/);
  });

  it('only warns by default', async () => {
    const { sessions, key } = await installing();
    rig.profile = { ...rig.profile, cabling: 'warn' };
    await sessions.facts(key, factsAt('Ethernet1/13'), CALL);
    await sessions.step(key, DONE, CALL);
    expect(await eventsOf('session.contradicted')).toHaveLength(1);
    expect(await rig.state()).toMatchObject({ state: 'deploying' });
  });
});
