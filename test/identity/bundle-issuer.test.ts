import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DAY } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { mustParse, parsed, unparsable } from '../../appliance/domain/parsed.ts';
import { probeApi } from '../../appliance/identity/api-probe.ts';
import { type BundleIssuer, type BundleIssuerDeps, createBundleDesk } from '../../appliance/identity/bundle-issuer.ts';
import { openKeyFolder } from '../../appliance/identity/key-folder.ts';
import { openTaskSigner } from '../../appliance/identity/task-signing.ts';
import { agentLayout, secretText } from '../../appliance/render/bundle/bundle.ts';
import { commandsOf } from '../machines/commands-of.ts';
import { AGENT_TEXT, bundleTemplates } from '../render/bundle/sample-bundle.ts';
import { transitionOf } from '../store/samples.ts';
import { writesTo } from '../store/writes.ts';
import { ALICE, auditActions, useEnrollment } from './enrollment-rig.ts';
import { withNodeApi } from './mutual-tls.ts';
import { newKeyPem, newRequest } from './openssl.ts';

const BOB = { actor: 'token:bob', correlationId: 'c-2' };
const TEMPLATES = bundleTemplates();

describe('the bundle desk', () => {
  const rig = useEnrollment();
  const open = async (changes: Partial<BundleIssuerDeps> = {}): Promise<BundleIssuer> => {
    const { store, authority, dependencies, file } = rig();
    const keys = await openKeyFolder(join(file('state'), 'task-signing'), null);
    return createBundleDesk({
      store,
      commands: commandsOf(store, dependencies.now),
      authority,
      taskSigner: await openTaskSigner({ ...dependencies, keys }),
      templates: TEMPLATES,
      probe: async () => parsed(null),
      now: dependencies.now,
      settings: dependencies.settings,
      bundle: {
        apiUrlOf: () => parsed('https://api.internal:8444'),
        plainHttp: 'never',
        layout: agentLayout('coldiron'),
        agentText: AGENT_TEXT,
        package: null,
      },
      ...changes,
    });
  };
  const handOver = async (desk: BundleIssuer, reissue: boolean, onBehalf = ALICE) =>
    desk.handOver({ machine: await node(), delivery: 'manual', reissue, onBehalf });
  const node = async () => {
    const { store, machine } = rig();
    const [known] = (await store.inventory()).machines;
    return known ?? machine(1);
  };

  it('hands over a bundle that a node can enroll with', async () => {
    const { store, authority, enrollment, clock } = rig();
    const desk = await open();
    const machine = await node();
    const { bundle, files } = await handOver(desk, false);
    const trust = await authority.trust();
    expect(bundle).toMatchObject({
      nodeId: machine.id,
      tokenExpiresAt: clock.at + DAY,
      ca: { pem: trust.pem, fingerprint: trust.shown },
      package: { pull: { mode: 'embedded' } },
    });
    const document = JSON.parse(files.json.text);
    const enrolled = await enrollment.enroll({
      nodeId: document.node_id,
      token: document.enrollment_token,
      certificateRequest: newRequest(newKeyPem('ed25519'), '/'),
      correlationId: null,
    });
    expect(enrolled.kind).toBe('enrolled');
    expect((await store.auditEntries(0, 100)).find(({ action }) => action === 'node.bundle_handed_over')).toMatchObject(
      {
        actor: 'token:alice',
        target: 'node:node1',
        correlationId: 'c-1',
        after: { token: bundle.id, kind: 'enrollment', delivery: 'manual', handed_to: 'token:alice' },
      },
    );
    expect(JSON.stringify(await store.auditEntries(0, 100))).not.toContain(document.enrollment_token.slice(16));
  });

  it('hands it over once: who asks again is told who has it, and since when', async () => {
    const { clock } = rig();
    const desk = await open();
    const { bundle } = await handOver(desk, false);
    const at = new Date(clock.at).toISOString();
    clock.at += 1000;
    await expect(handOver(desk, false, BOB)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(`the bundle of node1 was handed to token:alice on ${at}`),
    });
    expect(await desk.standing(bundle)).toBe('good');
  });

  it('reissues: the first one is worth nothing from then on, and the audit says so', async () => {
    const { store } = rig();
    const desk = await open();
    const first = await handOver(desk, false);
    const second = await handOver(desk, true, BOB);
    expect(second.replaced?.id).toBe(first.bundle.id);
    expect(await desk.standing(first.bundle)).toBe('revoked');
    expect(await desk.standing(second.bundle)).toBe('good');
    expect((await store.auditEntries(0, 100)).at(-1)).toMatchObject({
      action: 'node.bundle_reissued',
      actor: 'token:bob',
      before: { token: first.bundle.id, handed_to: 'token:alice' },
      after: { token: second.bundle.id },
    });
  });

  it('hands over a new one when the last has expired', async () => {
    const { clock } = rig();
    const desk = await open();
    const { bundle } = await handOver(desk, false);
    clock.at += DAY;
    expect(await desk.standing(bundle)).toBe('expired');
    expect((await handOver(desk, false, BOB)).replaced?.id).toBe(bundle.id);
  });

  it('hands nothing to a node that is enrolled, unless it is to enroll again', async () => {
    const { enroll } = rig();
    const desk = await open();
    const { bundle } = await handOver(desk, false);
    await enroll(await node(), secretText(bundle.enrollmentToken));
    expect(await desk.standing(bundle)).toBe('consumed');
    await expect(handOver(desk, false)).rejects.toMatchObject({
      code: 'conflict',
      message: 'node1 is enrolled: reissue the bundle if it is to enroll again',
    });
    expect((await handOver(desk, true)).replaced?.kind).toBe('recovery');
  });

  it('hands nothing to a removed node', async () => {
    const { store } = rig();
    const desk = await open();
    const machine = await node();
    await writesTo(store).transition(transitionOf(machine, 'removed'));
    await expect(desk.handOver({ machine, delivery: 'manual', reissue: true, onBehalf: ALICE })).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('issues nothing when the bundle has a problem, and lists all of them', async () => {
    const { store } = rig();
    const machine = await node();
    const desk = await open({
      probe: async () => unparsable('connect ECONNREFUSED'),
      bundle: {
        apiUrlOf: () => parsed('https://api.internal:8444'),
        plainHttp: 'never',
        layout: { ...agentLayout('coldiron'), keyPath: '<KEY_PATH>' },
        agentText: AGENT_TEXT,
        package: null,
      },
    });
    await expect(handOver(desk, false)).rejects.toMatchObject({
      code: 'invalid_bundle',
      message: 'the bundle of node1 has problems',
      details: [
        'key_path: a placeholder was left in it: <KEY_PATH>',
        'api_url: nobody answers at https://api.internal:8444: connect ECONNREFUSED',
        'key_path: not an absolute path: <KEY_PATH>',
      ],
    });
    expect(await desk.check(machine)).toHaveLength(3);
    expect(await store.enrollmentTokensOf(machine.id)).toEqual([]);
    expect(await auditActions(store)).not.toContain('node.bundle_handed_over');
  });

  it('leaves the last bundle as good as it was when the next cannot be rendered', async () => {
    const good = await open();
    const { bundle } = await handOver(good, false);
    const broken = await open({
      templates: {
        render: () => {
          throw new Error('template');
        },
      },
    });
    await expect(handOver(broken, true)).rejects.toThrow('template');
    expect(await good.standing(bundle)).toBe('good');
  });

  it('gives first-boot payloads the script, under the variables of the site', async () => {
    const machine = await node();
    const desk = await open({
      bundle: {
        apiUrlOf: () => parsed('https://api.internal:8444'),
        plainHttp: 'never',
        layout: agentLayout('gpuaas'),
        agentText: AGENT_TEXT,
        package: null,
      },
    });
    const { files } = await desk.handOver({ machine, delivery: 'maas', reissue: false, onBehalf: ALICE });
    expect(files.script.text).toMatch(/^#!\/bin\/sh\n/);
    expect(files.script.text).toContain('GPUAAS_ENROLLMENT_TOKEN=');
    expect(await rig().store.enrollmentTokensOf(machine.id)).toMatchObject([{ delivery: 'maas' }]);
  });

  it('names both authorities while they change places', async () => {
    const { rotation } = rig();
    const desk = await open();
    await node();
    await rotation.stage(ALICE);
    await rotation.activate(ALICE);
    const { bundle } = await handOver(desk, false);
    expect(bundle.ca.pem.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    expect(bundle.ca.fingerprint).toBe((await rig().authority.trust()).shown);
  });
});

describe('the probe of the API', () => {
  const rig = useEnrollment();
  const names = [{ kind: 'ip', address: mustParse(parseIpv4('127.0.0.1')) }] as const;

  it('is satisfied by whoever shows a certificate of the authority, and by nobody else', async () => {
    const { authority, rotation } = rig();
    const { pem } = await authority.trust();
    const plain = createServer((_, response) => response.writeHead(404).end());
    plain.listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const { port: plainPort } = plain.address() as AddressInfo;
    try {
      expect(await probeApi()(`http://127.0.0.1:${plainPort}/`, pem)).toEqual({ ok: true, value: null });
      expect(await probeApi()(`https://127.0.0.1:${plainPort}/`, pem)).toMatchObject({ ok: false });
    } finally {
      plain.close();
    }
    expect(await probeApi()(`http://127.0.0.1:${plainPort}/`, pem)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('ECONNREFUSED'),
    });
    const credentials = await authority.serverCredentials(names, ALICE);
    const { certificate: stranger } = await rotation.stage(ALICE);
    await withNodeApi(
      credentials,
      async (port) => {
        const url = `https://127.0.0.1:${port}/`;
        expect(await probeApi()(url, pem)).toEqual({ ok: true, value: null });
        expect(await probeApi()(url, stranger)).toMatchObject({ ok: false });
        expect(await probeApi()(url.replace('127.0.0.1', 'localhost'), pem)).toMatchObject({
          ok: false,
          reason: expect.stringContaining("does not match certificate's altnames"),
        });
      },
      'asked',
    );
    // A node that is to enroll has no certificate: an endpoint that wants one from everybody is no place to enroll at.
    await withNodeApi(credentials, async (port) => {
      expect(await probeApi()(`https://127.0.0.1:${port}/`, pem)).toMatchObject({ ok: false });
    });
  });
});
