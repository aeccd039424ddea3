import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openApi } from './api-fixture.ts';

let api: Fixture;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

const explain = async (node: string, query = '') =>
  (await api.call({ role: 'viewer', url: `/api/v1/nodes/${node}/explain${query}` })).json();
const stage = (answer: { stages: { stage: string }[] }, name: string) =>
  answer.stages.find((candidate) => candidate.stage === name);

describe('explain', () => {
  it('lists every boot stage of a registered node, and why it boots from its own disk', async () => {
    const answer = await explain('node01', '?arch=7');
    expect(answer).toMatchObject({
      subject: {
        mac: '52:54:00:12:34:51',
        hostname: 'node01',
        state: 'registered',
        network: 'provisioning',
        site: 'lab',
      },
      outcome: { kind: 'local-disk' },
      because: { id: 'registered', words: expect.stringMatching(/node01/), hint: expect.any(String) },
    });
    expect(answer.stages).toHaveLength(7);
    expect(stage(answer, 'firmware')).toMatchObject({ file: 'snponly.efi', reached: true });
    expect(stage(answer, 'ipxe')).toMatchObject({ url: 'http://10.0.100.10:8080/boot/ipxe/boot.ipxe' });
  });

  it('uses the interface on the boot network, unless another is named', async () => {
    expect((await explain('node01')).subject.mac).toBe('52:54:00:12:34:51');
    expect((await explain('52:54:00:22:34:51')).subject).toMatchObject({
      mac: '52:54:00:22:34:51',
      network: 'storage',
    });
  });

  it('answers for another architecture, another state and another network', async () => {
    expect(stage(await explain('node01', '?arch=0'), 'firmware')).toMatchObject({ file: 'undionly.kpxe' });
    expect(await explain('node01', '?as=commissioning')).toMatchObject({
      subject: { state: 'commissioning', supposed: true },
      outcome: { kind: 'service-os', mode: 'commission' },
    });
    expect((await explain('node01', '?via=10.0.150.1')).subject).toMatchObject({
      network: 'storage',
      via: '10.0.150.1',
    });
  });

  it('shows the answers for an armed and an unarmed node', async () => {
    expect(await explain('node01', '?as=deploying')).toMatchObject({
      outcome: { kind: 'installer', profile: 'worker', intent: 'assumed' },
      notes: expect.arrayContaining([
        'As if it were deploying; it is registered.',
        expect.stringMatching(/^As if a deployment of profile worker were armed/),
      ]),
    });
    expect((await explain('node01', '?as=deploying&armed=false')).outcome).toEqual({ kind: 'local-disk' });
  });

  it('explains an unknown machine', async () => {
    expect(await explain('525400fffffe')).toMatchObject({
      subject: { hostname: null, state: null, network: 'provisioning' },
      because: { id: 'unaccepted-refused' },
    });
  });

  it.each([
    ['nobody', '', { code: 'not_found', message: expect.stringMatching(/not a MAC address/) }],
    ['node01', '?arch=99', { code: 'invalid_request', message: expect.stringMatching(/^arch: .*IANA/) }],
    ['node01', '?arch=x', { code: 'invalid_request', message: expect.stringMatching(/^arch: must be/) }],
    ['node01', '?via=300.1.1.1', { code: 'invalid_request', message: expect.stringMatching(/^via: not an IPv4/) }],
    ['node01', '?armed=true', { code: 'invalid_request', message: expect.stringMatching(/^armed: only a node/) }],
    ['node01', '?as=happy', { code: 'invalid_request', message: expect.stringMatching(/^as: must be one of/) }],
  ])('about %s%s is refused with the reason', async (node, query, answer) => {
    expect(await explain(node, query)).toMatchObject(answer);
  });

  it('refuses a node without a MAC address', async () => {
    const payload = { name: 'node09', sku: 'gp1', profile: 'worker' };
    await api.call({ role: 'operator', method: 'POST', url: '/api/v1/nodes', payload });
    expect(await explain('node09')).toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/no MAC address/),
    });
  });

  it('requires the relay when an unknown machine could be on several networks', async () => {
    const document = { networks: [{ name: 'second', prefix: '10.0.160.0/24', server: '10.0.160.10' }] };
    const payload = { sources: [{ name: 'second', document }] };
    await api.call({ role: 'admin', method: 'POST', url: '/api/v1/inventory/apply', payload });
    expect(await explain('525400fffffe')).toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^via: /),
    });
    expect((await explain('525400fffffe', '?via=10.0.160.1')).subject.network).toBe('second');
  });
});
