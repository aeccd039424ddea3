import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DAY } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { mustParse, parsed, unparsable } from '../../appliance/domain/parsed.ts';
import { probeApi } from '../../appliance/identity/api-probe.ts';
import {
  type BundleIssuer,
  type BundleIssuerDeps,
  createBundleIssuer,
} from '../../appliance/identity/bundle-issuer.ts';
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

describe('the bundle issuer', () => {
  const rig = useEnrollment();
  const open = async (changes: Partial<BundleIssuerDeps> = {}): Promise<BundleIssuer> => {
    const { store, authority, deps, file } = rig();
    const keys = await openKeyFolder(join(file('state'), 'task-signing'), null);
    return createBundleIssuer({
      store,
      commands: commandsOf(store, deps.now),
      authority,
      taskSigner: await openTaskSigner({ ...deps, keys }),
      templates: TEMPLATES,
      probe: async () => parsed(null),
      now: deps.now,
      settings: deps.settings,
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
  const issue = async (issuer: BundleIssuer, reissue: boolean, origin = ALICE) =>
    issuer.issue({ machine: await node(), delivery: 'manual', reissue, origin });
  const node = async () => {
    const { store, machine } = rig();
    const [known] = (await store.inventory()).machines;
    return known ?? machine(1);
  };

  it('issues a bundle that a node can enroll with', async () => {
    const { store, authority, enrollment, clock } = rig();
    const issuer = await open();
    const machine = await node();
    const { bundle, files } = await issue(issuer, false);
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

  it('issues a bundle once: a second request is refused with the recipient and the time of the first', async () => {
    const { clock } = rig();
    const issuer = await open();
    const { bundle } = await issue(issuer, false);
    const at = new Date(clock.at).toISOString();
    clock.at += 1000;
    await expect(issue(issuer, false, BOB)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(`the bundle of node1 was issued to token:alice at ${at}`),
    });
    expect(await issuer.tokenStatus(bundle)).toBe('good');
  });

  it('reissues: the first token is revoked, and the audit records it', async () => {
    const { store } = rig();
    const issuer = await open();
    const first = await issue(issuer, false);
    const second = await issue(issuer, true, BOB);
    expect(second.replaced?.id).toBe(first.bundle.id);
    expect(await issuer.tokenStatus(first.bundle)).toBe('revoked');
    expect(await issuer.tokenStatus(second.bundle)).toBe('good');
    expect((await store.auditEntries(0, 100)).at(-1)).toMatchObject({
      action: 'node.bundle_reissued',
      actor: 'token:bob',
      before: { token: first.bundle.id, handed_to: 'token:alice' },
      after: { token: second.bundle.id },
    });
  });

  it('issues a new bundle when the last one has expired', async () => {
    const { clock } = rig();
    const issuer = await open();
    const { bundle } = await issue(issuer, false);
    clock.at += DAY;
    expect(await issuer.tokenStatus(bundle)).toBe('expired');
    expect((await issue(issuer, false, BOB)).replaced?.id).toBe(bundle.id);
  });

  it('refuses an enrolled node, unless the request is a reissue', async () => {
    const { enroll } = rig();
    const issuer = await open();
    const { bundle } = await issue(issuer, false);
    await enroll(await node(), secretText(bundle.enrollmentToken));
    expect(await issuer.tokenStatus(bundle)).toBe('consumed');
    await expect(issue(issuer, false)).rejects.toMatchObject({
      code: 'conflict',
      message: 'node1 is already enrolled: reissue the bundle to enroll it again',
    });
    expect((await issue(issuer, true)).replaced?.kind).toBe('recovery');
  });

  it('refuses a removed node', async () => {
    const { store } = rig();
    const issuer = await open();
    const machine = await node();
    await writesTo(store).transition(transitionOf(machine, 'removed'));
    await expect(issuer.issue({ machine, delivery: 'manual', reissue: true, origin: ALICE })).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('issues nothing when the bundle is invalid, and lists all problems', async () => {
    const { store } = rig();
    const machine = await node();
    const issuer = await open({
      probe: async () => unparsable('connect ECONNREFUSED'),
      bundle: {
        apiUrlOf: () => parsed('https://api.internal:8444'),
        plainHttp: 'never',
        layout: { ...agentLayout('coldiron'), keyPath: '<KEY_PATH>' },
        agentText: AGENT_TEXT,
        package: null,
      },
    });
    await expect(issue(issuer, false)).rejects.toMatchObject({
      code: 'invalid_bundle',
      message: 'the bundle of node1 has problems',
      details: [
        'key_path: contains a placeholder: <KEY_PATH>',
        'api_url: https://api.internal:8444 is not reachable: connect ECONNREFUSED',
        'key_path: not an absolute path: <KEY_PATH>',
      ],
    });
    expect(await issuer.check(machine)).toHaveLength(3);
    expect(await store.enrollmentTokensOf(machine.id)).toEqual([]);
    expect(await auditActions(store)).not.toContain('node.bundle_handed_over');
  });

  it('keeps the last bundle valid when the next one cannot be rendered', async () => {
    const good = await open();
    const { bundle } = await issue(good, false);
    const broken = await open({
      templates: {
        render: () => {
          throw new Error('template');
        },
      },
    });
    await expect(issue(broken, true)).rejects.toThrow('template');
    expect(await good.tokenStatus(bundle)).toBe('good');
  });

  it('renders the script for first-boot payloads with the variables of the site', async () => {
    const machine = await node();
    const issuer = await open({
      bundle: {
        apiUrlOf: () => parsed('https://api.internal:8444'),
        plainHttp: 'never',
        layout: agentLayout('gpuaas'),
        agentText: AGENT_TEXT,
        package: null,
      },
    });
    const { files } = await issuer.issue({ machine, delivery: 'maas', reissue: false, origin: ALICE });
    expect(files.script.text).toMatch(/^#!\/bin\/sh\n/);
    expect(files.script.text).toContain('GPUAAS_ENROLLMENT_TOKEN=');
    expect(await rig().store.enrollmentTokensOf(machine.id)).toMatchObject([{ delivery: 'maas' }]);
  });

  it('contains both authorities during a rotation', async () => {
    const { rotation } = rig();
    const issuer = await open();
    await node();
    await rotation.stage(ALICE);
    await rotation.activate(ALICE);
    const { bundle } = await issue(issuer, false);
    expect(bundle.ca.pem.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    expect(bundle.ca.fingerprint).toBe((await rig().authority.trust()).shown);
  });
});

describe('the probe of the API', () => {
  const rig = useEnrollment();
  const names = [{ kind: 'ip', address: mustParse(parseIpv4('127.0.0.1')) }] as const;

  it('accepts only servers with a certificate of the authority', async () => {
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
      'optional',
    );
    // A node has no certificate before it enrolls: an endpoint that requires one is unusable for enrollment.
    await withNodeApi(credentials, async (port) => {
      expect(await probeApi()(`https://127.0.0.1:${port}/`, pem)).toMatchObject({ ok: false });
    });
  });
});
