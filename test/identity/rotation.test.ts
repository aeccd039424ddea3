import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { DAY } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { identifyPeer } from '../../appliance/identity/node-peer.ts';
import { createRotation } from '../../appliance/identity/rotation.ts';
import { derOf } from '../../appliance/identity/sign-certificate.ts';
import { secretText } from '../../appliance/render/bundle/bundle.ts';
import { needPackages } from '../interop/packages.ts';
import { ALICE, auditActions, identityOf, useEnrollment } from './enrollment-rig.ts';
import { type ClientMaterial, curl, opensslClient, withNodeApi } from './mutual-tls.ts';
import { newKeyPem, newRequest, openssl, opensslOutput, withFile } from './openssl.ts';

const LOOPBACK = { kind: 'ip', address: mustParse(parseIpv4('127.0.0.1')) } as const;
const blocks = (pem: string): string[] => pem.match(/-----BEGIN[\s\S]*?-----END CERTIFICATE-----\n/g) ?? [];
const selfSigned = (keyPem: string): string =>
  withFile(keyPem, (key) => opensslOutput(['req', '-x509', '-new', '-key', key, '-subj', '/CN=node1']));
const leaf = (pem: string): string => blocks(pem)[0] ?? '';

beforeAll(() => needPackages(['openssl', 'curl']));

describe('the node API', () => {
  const rig = useEnrollment();

  it('identifies a node by its certificate, with curl and with OpenSSL', async () => {
    const { machine, token, enroll, authority } = rig();
    const node = await machine(1);
    const enrolled = await enroll(node, await token(node));
    await withNodeApi(await authority.serverCredentials([LOOPBACK], ALICE), async (port) => {
      expect(await curl(port, enrolled)).toEqual({ status: 0, output: `hello ${node.id}\n` });
      expect((await opensslClient(port, enrolled)).output).toContain(`hello ${node.id}\n`);
    });
  });

  it('refuses a node without a certificate, and one with a self-signed certificate', async () => {
    const { authority } = rig();
    const { pem: trustPem } = await authority.trust();
    const keyPem = newKeyPem('P-256');
    const certificatePem = selfSigned(keyPem);
    await withNodeApi(await authority.serverCredentials([LOOPBACK], ALICE), async (port) => {
      for (const client of [{ trustPem }, { trustPem, certificatePem, keyPem }]) {
        for (const peer of [curl, opensslClient]) {
          const { status, output } = await peer(port, client);
          expect(status, output).not.toBe(0);
          expect(output).not.toContain('hello ');
        }
      }
    });
  });

  it('is refused by a node that does not trust its authority', async () => {
    const { authority, machine, token, enroll } = rig();
    const node = await machine(1);
    const enrolled = await enroll(node, await token(node));
    const stranger = { ...enrolled, trustPem: selfSigned(newKeyPem('P-256')) };
    await withNodeApi(await authority.serverCredentials([LOOPBACK], ALICE), async (port) => {
      expect(await curl(port, stranger)).toMatchObject({ status: 60 });
      expect((await opensslClient(port, stranger)).output).toMatch(/verify error/);
    });
  });

  it('has its certificates recorded without a machine', async () => {
    const { authority, store } = rig();
    await authority.serverCredentials([LOOPBACK], ALICE);
    const { chainPem } = await authority.serverCredentials([LOOPBACK, { kind: 'dns', name: 'api.internal' }], ALICE);
    expect(new X509Certificate(chainPem).subjectAltName).toBe('IP Address:127.0.0.1, DNS:api.internal');
    expect(await store.certificatesOf(null)).toMatchObject([{ kind: 'server' }, { kind: 'server' }]);
    expect(await store.heldCertificates({ now: Date.now() })).toHaveLength(1);
  });
});

describe('a rotation', () => {
  const rig = useEnrollment();

  /** Whether the node and the API accept each other at this step of the rotation. */
  const reaches = async (client: ClientMaterial): Promise<boolean> => {
    const { authority } = rig();
    const credentials = await authority.serverCredentials([LOOPBACK], ALICE);
    return withNodeApi(credentials, async (port) => {
      const outcomes = [await curl(port, client), await opensslClient(port, client)];
      return outcomes.every(({ output }) => output.includes('hello '));
    });
  };

  it('keeps every node connected at each step: one that renews, and one that does not know the new authority', async () => {
    const { machine, token, enroll, enrollment, rotation, store, clock, authority } = rig();
    const [diligent, sleeper] = [await machine(1), await machine(2)];
    const before = await enroll(diligent, await token(diligent));
    const asleep = await enroll(sleeper, await token(sleeper));
    expect(await reaches(before)).toBe(true);

    const staged = await rotation.stage(ALICE);
    expect(blocks((await authority.trust()).pem)).toHaveLength(2);
    expect(await reaches(before)).toBe(true);
    expect(await reaches(asleep)).toBe(true);

    const active = await rotation.activate(ALICE);
    expect(active.id).toBe(staged.id);
    expect(await reaches(before)).toBe(true);
    expect(await reaches(asleep)).toBe(true);
    const third = await machine(3);
    const newcomer = await enroll(third, await token(third));
    expect(await reaches(newcomer)).toBe(true);

    // The first node renews while it trusts only the old authority, and gets the new one.
    const keyPem = newKeyPem('ed25519');
    const renewed = { keyPem, ...(await enrollment.renew(diligent.id, newRequest(keyPem, '/'), null)) };
    expect(await reaches(renewed)).toBe(true);
    expect(await reaches({ ...renewed, trustPem: before.trustPem })).toBe(true);
    const shown = await identifyPeer(store, derOf(leaf(renewed.certificatePem)), clock.at);
    expect(shown).toMatchObject({ ok: true, machine: diligent.id });

    const { stale, overAt } = await rotation.status();
    expect(stale.map(({ machine: holder }) => holder)).toEqual([sleeper.id]);
    expect(overAt).toBe(asleep.notAfter);
    await expect(rotation.finish(ALICE)).rejects.toMatchObject({
      code: 'conflict',
      details: [expect.stringContaining(`of ${sleeper.id}`)],
    });
    expect(await reaches(asleep)).toBe(true);
  });

  it('finishes when the last certificate of the old authority has expired, and then trusts only the new one', async () => {
    const { machine, token, enroll, rotation, store, clock, authority } = rig();
    const node = await machine(1);
    const enrolled = await enroll(node, await token(node));
    await rotation.stage(ALICE);
    await rotation.activate(ALICE);
    clock.at = enrolled.notAfter;
    const retired = await rotation.finish(ALICE);
    expect(retired?.state).toBe('retired');
    expect(blocks((await authority.trust()).pem)).toHaveLength(1);
    expect(await rotation.finish(ALICE)).toBeNull();
    expect(await auditActions(store)).toEqual([
      'authority.created',
      'node.bundle_handed_over',
      'node.enrolled',
      'authority.staged',
      'authority.activated',
      'authority.retired',
    ]);
  });

  it('lets a node that was off during the whole rotation recover with its recovery token', async () => {
    const { machine, token, enroll, rotation, clock, enrollment } = rig();
    const node = await machine(1);
    const asleep = await enroll(node, await token(node));
    await rotation.stage(ALICE);
    await rotation.activate(ALICE);
    await rotation.finish(ALICE, true);
    // It still accepts the server, whose authority it does not know.
    const { authority } = rig();
    const credentials = await authority.serverCredentials([LOOPBACK], ALICE);
    const verified = verify(credentials.chainPem, asleep.trustPem);
    expect(verified).toContain('OK');
    clock.at += DAY;
    const back = await enrollment.enroll({
      nodeId: node.id,
      token: asleep.recoveryToken,
      certificateRequest: newRequest(newKeyPem('ed25519'), '/'),
      correlationId: null,
    });
    expect(back.kind).toBe('recovered');
    expect(secretText(back.recoveryToken)).not.toBe(asleep.recoveryToken);
  });

  it('with despiteHolders retires an authority whose certificates are in use: its key may be compromised', async () => {
    const { machine, token, enroll, rotation, store, clock } = rig();
    const node = await machine(1);
    const enrolled = await enroll(node, await token(node));
    await rotation.stage(ALICE);
    await rotation.activate(ALICE);
    await rotation.finish(ALICE, true);
    expect(await reaches(enrolled)).toBe(false);
    expect(await identifyPeer(store, derOf(leaf(enrolled.certificatePem)), clock.at)).toMatchObject({
      ok: false,
      reason: 'authority-retired',
    });
    expect((await store.auditEntries(0, 100)).at(-2)).toMatchObject({
      action: 'authority.retired',
      after: { despite_holders: true },
    });
  });

  it('also counts service certificates: a newly rendered node has certificates of the new authority', async () => {
    const { machine, authority, rotation } = rig();
    const identity = identityOf(await machine(1));
    await authority.serviceFiles(identity, ALICE);
    await rotation.stage(ALICE);
    await rotation.activate(ALICE);
    expect((await rotation.status()).stale).toMatchObject([{ kind: 'service' }]);
    const [certificate, , trust] = await authority.serviceFiles(identity, ALICE);
    expect(blocks(trust?.text ?? '')).toHaveLength(2);
    // Peers that trust only the old authority also accept it.
    expect(verify(certificate?.text ?? '', blocks(trust?.text ?? '')[1] ?? '')).toContain('OK');
    expect((await rotation.finish(ALICE))?.state).toBe('retired');
  });

  it('allows one rotation at a time, and needs a staged authority with a readable key', async () => {
    const { rotation, deps } = rig();
    await expect(rotation.activate(ALICE)).rejects.toThrow(/no authority is staged/);
    await rotation.stage(ALICE);
    await expect(rotation.stage(ALICE)).rejects.toMatchObject({ code: 'conflict' });
    const keyless = createRotation({
      ...deps,
      keys: { ...deps.keys, read: () => Promise.reject(new Error('no key')) },
    });
    await expect(keyless.activate(ALICE)).rejects.toThrow('no key');
    expect((await rotation.activate(ALICE)).state).toBe('active');
  });
});

/** OpenSSL's verdict on the first certificate, with the following ones as intermediates and this trust. */
const verify = (chainPem: string, trustPem: string): string =>
  withFile(trustPem, (trust) =>
    withFile(
      chainPem,
      (chain) => openssl(['verify', '-x509_strict', '-CAfile', trust, '-untrusted', chain], leaf(chainPem)).output,
    ),
  );
