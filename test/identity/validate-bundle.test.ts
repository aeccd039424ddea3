import { beforeEach, describe, expect, it } from 'vitest';
import { DAY } from '../../appliance/domain/instant.ts';
import { parsed, unparsable } from '../../appliance/domain/parsed.ts';
import { Secret } from '../../appliance/domain/secret.ts';
import { type BundleChecks, validateBundle } from '../../appliance/identity/validate-bundle.ts';
import type { BootstrapBundle } from '../../appliance/render/bundle/bundle.ts';
import { AGENT_TEXT, sampleBundle, TOKEN_TEXT } from '../render/bundle/sample-bundle.ts';
import { ALICE, identityOf, useEnrollment } from './enrollment-rig.ts';

describe('bundle validation', () => {
  const rig = useEnrollment();
  let good: BootstrapBundle;
  let checks: BundleChecks;
  beforeEach(async () => {
    const { authority, clock } = rig();
    const { pem, shown } = await authority.trust();
    const trusted = { pem, fingerprint: shown };
    good = sampleBundle({ ca: trusted, nodeCertificateCa: trusted, tokenExpiresAt: clock.at + DAY });
    checks = {
      now: clock.at,
      probe: async () => parsed(null),
      tokenStatus: async () => 'good',
      plainHttp: 'never',
      agentText: AGENT_TEXT,
    };
  });
  const problems = (changes: Partial<BootstrapBundle>, other: Partial<BundleChecks> = {}) =>
    validateBundle({ ...good, ...changes }, { ...checks, ...other });

  it('accepts a valid bundle', async () => {
    expect(await problems({})).toEqual([]);
  });

  it.each([
    ['<API_URL>', ['api_url: contains a placeholder: <API_URL>', 'api_url: not a URL: <API_URL>']],
    ['https://api.example.invalid', ['api_url: contains a placeholder: https://api.example.invalid']],
    ['https://CHANGEME:8444', ['api_url: contains a placeholder: https://CHANGEME:8444']],
    ['https://REPLACE.internal', ['api_url: contains a placeholder: https://REPLACE.internal']],
    ['http://api.internal', ['api_url: must be https, or the token is sent unencrypted: http://api.internal']],
    ['http://10.0.100.1:8081', [expect.stringContaining('must be https')]],
    ['ftp://api.internal', ['api_url: neither https nor http: ftp://api.internal']],
    ['https://user:pw@api.internal', ['api_url: contains a user name or a password']],
    ['https://user@api.internal', ['api_url: contains a user name or a password']],
    ['https://:pw@api.internal', ['api_url: contains a user name or a password']],
    ['https://api.internal/?a=b', [expect.stringContaining('has a query or a fragment')]],
    ['https://node01.example.com:8444', []],
  ])('checks the URL: %s', async (apiUrl, expected) => {
    expect(await problems({ apiUrl })).toEqual(expected);
  });

  it.each([
    ['http://10.0.100.1:8081', true],
    ['http://127.0.0.1:8081', true],
    ['http://192.168.1.5', true],
    ['http://8.8.8.8', false],
    ['http://api.internal', false],
  ])('with plainHttp local, accepts http to %s: %s', async (apiUrl, allowed) => {
    expect((await problems({ apiUrl }, { plainHttp: 'local' })).length === 0).toBe(allowed);
  });

  it('probes the URL with the authorities of the bundle', async () => {
    const received: string[] = [];
    const probe: BundleChecks['probe'] = async (url, pem) => {
      received.push(url, pem);
      return unparsable('no route to host');
    };
    expect(await problems({}, { probe })).toEqual([
      'api_url: https://api.internal:8444 is not reachable: no route to host',
    ]);
    expect(received).toEqual([good.apiUrl, good.ca.pem]);
  });

  it('parses the authorities', async () => {
    const { authority, machine } = rig();
    const [leaf] = await authority.serviceFiles(identityOf(await machine(1)), ALICE);
    const withPem = (pem: string) => problems({ ca: { ...good.ca, pem } });
    expect(await withPem('<CA_PEM>')).toEqual(['ca.pem: has no CERTIFICATE in PEM']);
    expect(await withPem('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')).toEqual([
      'ca.pem: certificate 1 cannot be read',
      expect.stringMatching(/^ca\.fingerprint: matches none/),
    ]);
    expect(await withPem(leaf?.text ?? '')).toEqual([
      'ca.pem: certificate 1 is not a CA certificate',
      expect.stringMatching(/^ca\.fingerprint: matches none/),
    ]);
    expect(await problems({ nodeCertificateCa: { ...good.ca, fingerprint: 'AB:CD' } })).toEqual([
      `node_cert_ca.fingerprint: matches none of its certificates (${good.ca.fingerprint})`,
    ]);
  });

  it('checks the validity period of the authorities', async () => {
    const late = { now: checks.now + 3651 * DAY };
    expect(await problems({ tokenExpiresAt: late.now + 1 }, late)).toEqual([
      expect.stringMatching(/^ca\.pem: certificate 1 expired on /),
      expect.stringMatching(/^node_cert_ca\.pem: certificate 1 expired on /),
    ]);
    expect(await problems({}, { now: checks.now - 2 * DAY })).toContainEqual(
      expect.stringMatching(/^ca\.pem: certificate 1 is not valid before /),
    );
  });

  it.each(['unknown', 'wrong-node', 'consumed', 'revoked', 'expired', 'removed'] as const)(
    'checks the token: %s',
    async (status) => {
      expect(await problems({}, { tokenStatus: async () => status })).toEqual([`enrollment_token: is ${status}`]);
    },
  );

  it('checks the token for the node of the bundle', async () => {
    const received: unknown[] = [];
    const tokenStatus: BundleChecks['tokenStatus'] = async (token, node) => {
      received.push(token, node);
      return 'good';
    };
    await problems({}, { tokenStatus });
    expect(received).toEqual([good.enrollmentToken, good.nodeId]);
    expect(await problems({ tokenExpiresAt: checks.now })).toEqual([
      expect.stringMatching(/^enrollment_token: expired on /),
    ]);
  });

  it('parses the task-signing keys', async () => {
    const [active] = good.taskSigningKeys;
    if (!active) throw new Error('the sample has a key');
    expect(await problems({ taskSigningKeys: [] })).toEqual([
      'task_signing_pubkeys: 0 keys are active; exactly one must be',
    ]);
    expect(await problems({ taskSigningKeys: [active, active] })).toEqual([
      'task_signing_pubkeys: 2 keys are active; exactly one must be',
    ]);
    expect(await problems({ taskSigningKeys: [{ ...active, publicKey: '<KEYS>' }] })).toEqual([
      `task_signing_pubkeys: ${active.id} is not an Ed25519 public key`,
    ]);
  });

  it('checks the paths', async () => {
    const withLayout = (changes: Partial<BootstrapBundle['layout']>) =>
      problems({ layout: { ...good.layout, ...changes } });
    expect(await withLayout({ keyPath: 'key.pem' })).toEqual(['key_path: not an absolute path: key.pem']);
    expect(await withLayout({ installRoot: '/opt/../etc' })).toEqual([
      'package.install_root: not an absolute path: /opt/../etc',
    ]);
    expect(await withLayout({ certificatePath: '/etc/a b' })).toEqual(['cert_path: not an absolute path: /etc/a b']);
    expect(await withLayout({ keyPath: good.layout.certificatePath })).toEqual([
      'key_path: is the same path as cert_path',
    ]);
    expect(await withLayout({ systemdUnitName: 'agent' })).toEqual([
      'package.systemd_unit_name: not a systemd service name: agent',
    ]);
    expect(await withLayout({ prefix: 'gpuaas' })).toEqual([
      'prefix: must be capital letters and digits, then an underscore: gpuaas',
    ]);
  });

  it('checks the package', async () => {
    const withPackage = (changes: Partial<BootstrapBundle['package']>, agentText = AGENT_TEXT) =>
      problems({ package: { ...good.package, ...changes } }, { agentText });
    expect(await withPackage({ digest: 'sha256:<DIGEST>' })).toEqual([
      'package.digest: contains a placeholder: sha256:<DIGEST>',
      'package.digest: must be sha256: and 64 hexadecimal digits: sha256:<DIGEST>',
    ]);
    expect(await withPackage({}, 'another agent')).toEqual(['package.digest: does not match the agent in the bundle']);
    expect(await withPackage({ pull: { mode: 'anonymous' } }, 'another agent')).toEqual([]);
    expect(await withPackage({ pull: { mode: 'anonymous' } }, ' \n')).toEqual(['package: the agent is empty']);
    expect(await withPackage({ ociRef: 'not a ref' })).toEqual(['package.oci_ref: not an OCI reference: not a ref']);
    const credential = { mode: 'credential', username: '', password: new Secret(''), expiresAt: checks.now } as const;
    expect(await withPackage({ pull: credential })).toEqual([
      'package.pull_credential: has expired',
      'package.pull_credential: is empty',
    ]);
  });

  it('reports all problems at once, and never the token', async () => {
    const found = await validateBundle(
      sampleBundle({ apiUrl: '', taskSigningKeys: [], layout: { ...good.layout, keyPath: '' } }),
      { ...checks, tokenStatus: async () => 'unknown', agentText: 'x' },
    );
    const fields = new Set(found.map((problem) => problem.split(':')[0]));
    expect(fields).toEqual(
      new Set([
        'api_url',
        'ca.pem',
        'ca.fingerprint',
        'node_cert_ca.pem',
        'node_cert_ca.fingerprint',
        'task_signing_pubkeys',
        'enrollment_token',
        'key_path',
        'package.digest',
      ]),
    );
    expect(found.join('\n')).not.toContain(TOKEN_TEXT);
  });
});
