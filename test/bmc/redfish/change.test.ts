// The If-Match values: what is tried, in which order, and what the service receives.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchLadder } from '../../../appliance/bmc/redfish/change.ts';
import { answer } from './mock/mock-answers.ts';
import { VENDORS } from './mock/vendors.ts';
import { rig } from './rig.ts';

const ifMatches = async (vendor: (typeof VENDORS)[keyof typeof VENDORS]): Promise<(string | null)[]> => {
  const { bmc, service } = await rig(vendor);
  await bmc.identify('on');
  expect(service.machine.light).toBe(true);
  return service.written.map(({ ifMatch }) => ifMatch);
};

describe('the If-Match values', () => {
  it('start with the tag as it was read, and end without one', () => {
    expect(matchLadder('"1"', 'send')).toEqual(['"1"', 'W/"1"', '*', null]);
    expect(matchLadder('W/"1"', 'send')).toEqual(['W/"1"', '"1"', '*', null]);
  });

  it('start without one when tags do not work or there is none', () => {
    expect(matchLadder('"1"', 'omit')).toEqual([null, '"1"', 'W/"1"', '*']);
    expect(matchLadder(null, 'send')).toEqual([null, '*']);
  });

  it('contain every form, and none twice', () => {
    const tags = fc.option(fc.string().map((text) => `"${text}"`));
    fc.assert(
      fc.property(tags, fc.constantFrom('send' as const, 'omit' as const), (tag, etag) => {
        const ladder = matchLadder(tag, etag);
        expect(new Set(ladder).size).toBe(ladder.length);
        expect(ladder).toEqual(expect.arrayContaining([null, '*', ...(tag === null ? [] : [tag])]));
      }),
    );
  });
});

describe('a change', () => {
  it('has no If-Match for a service without tags', async () => {
    expect(await ifMatches(VENDORS.supermicro)).toEqual([null]);
  });

  it('sends the tag if there is one', async () => {
    expect(await ifMatches(VENDORS.idrac)).toEqual(['"0"']);
  });

  it('sends the strong form when the service shows weak tags and compares strong ones', async () => {
    expect(await ifMatches(VENDORS.xcc)).toEqual(['W/"0"', '"0"']);
  });

  it('is sent without If-Match to OpenBMC', async () => {
    expect(await ifMatches(VENDORS.openbmc)).toEqual([null]);
  });

  it('is finally sent without If-Match when no tag ever matches', async () => {
    expect(await ifMatches({ ...VENDORS.idrac, etag: 'never-fits' })).toEqual(['W/"0"', '"0"', '*', null]);
  });

  it('sends "*" when a tag is required and none is shown', async () => {
    const { bmc, service } = await rig({ ...VENDORS.idrac, etag: 'required' });
    service.tagOf = () => null;
    await bmc.identify('on');
    expect(service.written.map(({ ifMatch }) => ifMatch)).toEqual([null, '*']);
  });

  it('reads again after a concurrent change', async () => {
    const { bmc, service } = await rig(VENDORS.idrac);
    const genuine = service.tagOf.bind(service);
    let reads = 0;
    service.tagOf = (path) => (path === service.paths.system && reads++ < 2 ? '"old"' : genuine(path));
    await bmc.identify('on');
    expect(service.written.map(({ ifMatch }) => ifMatch)).toEqual(['"old"', '"0"']);
  });

  it('is not retried when it is refused for another reason', async () => {
    const { bmc, service } = await rig(VENDORS.idrac);
    service.intercept = ({ method }) => (method === 'PATCH' ? answer(500) : null);
    await expect(bmc.identify('off')).resolves.toBe(undefined);
    await expect(bmc.identify('on')).rejects.toMatchObject({ failure: 'refused', retryable: true });
    expect(service.received.filter((one) => one.startsWith('PATCH'))).toHaveLength(1);
  });
});
