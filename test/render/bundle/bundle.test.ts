import { describe, expect, it } from 'vitest';
import { Secret } from '../../../appliance/domain/secret.ts';
import { agentLayout, bundleDocument, taskSigningKeysText } from '../../../appliance/render/bundle/bundle.ts';
import { bundleEnvironment } from '../../../appliance/render/bundle/bundle-env.ts';
import { renderBundle } from '../../../appliance/render/bundle/install-script.ts';
import { AGENT_TEXT, bundleTemplates, sampleBundle, TOKEN_TEXT } from './sample-bundle.ts';

describe('a bootstrap bundle', () => {
  it('has everything in JSON that the runbook requires', () => {
    const bundle = sampleBundle();
    expect(bundleDocument(bundle)).toEqual({
      version: 1,
      bundle_id: '0123456789ab',
      node_id: '11111111-2222-3333-4444-555555555555',
      hostname: 'node01',
      enrollment_token: TOKEN_TEXT,
      enrollment_token_expires_at: '2026-01-02T00:00:00.000Z',
      api_url: 'https://api.internal:8444',
      task_signing_pubkeys: bundle.taskSigningKeys.map(({ state, id, publicKey }) => ({
        state,
        id,
        public_key: publicKey,
      })),
      ca: bundle.ca,
      node_cert_ca: bundle.nodeCertificateCa,
      ca_bundle_path: '/etc/coldiron/ca-bundle.crt',
      node_cert_ca_bundle_path: '/etc/coldiron/node-cert-ca-bundle.crt',
      cert_path: '/etc/coldiron/cert.pem',
      key_path: '/etc/coldiron/key.pem',
      package: {
        oci_ref: 'registry.internal/coldiron/node-agent:1.0',
        digest: bundle.package.digest,
        pull_delivery_mode: 'embedded',
        pull_credential: null,
        install_root: '/opt/coldiron/node-agent',
        env_file_path: '/etc/coldiron/node-agent.env',
        systemd_unit_name: 'coldiron-node-agent.service',
      },
    });
  });

  it('contains a credential for the package if there is one', () => {
    const pull = {
      mode: 'credential',
      username: 'pull',
      password: new Secret('p4ss'),
      expiresAt: Date.UTC(2026, 0, 1),
    } as const;
    const document = bundleDocument(sampleBundle({ package: { ...sampleBundle().package, pull } }));
    expect(document).toMatchObject({
      package: {
        pull_delivery_mode: 'credential',
        pull_credential: { username: 'pull', password: 'p4ss', expires_at: '2026-01-01T00:00:00.000Z' },
      },
    });
  });

  it('has the variables of the runbook, with the prefix of the site', () => {
    const gpuaas = bundleEnvironment(sampleBundle({ layout: agentLayout('gpuaas') }));
    const names = gpuaas.split('\n').flatMap((line) => /^([A-Z_]+)=/.exec(line)?.[1] ?? []);
    expect(names).toEqual(
      expect.arrayContaining([
        'GPUAAS_NODE_ID',
        'GPUAAS_API_URL',
        'GPUAAS_ENROLLMENT_TOKEN',
        'GPUAAS_TASK_SIGNING_PUBKEYS',
        'GPUAAS_CA_BUNDLE_PATH',
        'GPUAAS_NODE_CERT_CA_BUNDLE_PATH',
        'GPUAAS_CERT_PATH',
        'GPUAAS_KEY_PATH',
        'GPUAAS_NODE_AGENT_INSTALL_ROOT',
        'GPUAAS_NODE_AGENT_ENV_FILE',
        'GPUAAS_NODE_AGENT_SYSTEMD_UNIT',
      ]),
    );
    expect(gpuaas).toContain('GPUAAS_CA_BUNDLE_PATH="/etc/gpuaas/ca-bundle.crt"\n');
    expect(gpuaas).toContain('GPUAAS_NODE_AGENT_SYSTEMD_UNIT="gpuaas-node-agent.service"\n');
    expect(bundleEnvironment(sampleBundle())).toContain(`COLDIRON_ENROLLMENT_TOKEN="${TOKEN_TEXT}"\n`);
  });

  it('names the variable, and not its value, when it cannot be written', () => {
    expect(() => bundleEnvironment(sampleBundle({ enrollmentToken: new Secret('s3cret\nX=1') }))).toThrow(
      /^COLDIRON_ENROLLMENT_TOKEN has the character U\+000a, which does not fit on one line$/,
    );
    expect(() => bundleEnvironment(sampleBundle({ layout: { ...agentLayout('x'), prefix: 'A B' } }))).toThrow(/prefix/);
  });

  it('puts the task signing keys on one line', () => {
    expect(taskSigningKeysText(sampleBundle().taskSigningKeys)).toMatch(
      /^active:0011223344556677:MCow[A-Za-z0-9+/=]+,staged:8899aabbccddeeff:MCow[A-Za-z0-9+/=]+$/,
    );
  });

  it('cannot be printed with its token', () => {
    expect(JSON.stringify(sampleBundle())).not.toContain(TOKEN_TEXT);
    expect(String(sampleBundle().enrollmentToken)).toBe('[secret]');
  });

  it('has four forms, each readable only by its owner', () => {
    const files = Object.values(renderBundle(sampleBundle(), AGENT_TEXT, bundleTemplates()));
    expect(files.map(({ path, mode, secret }) => [path, mode, secret])).toEqual([
      ['bootstrap-bundle.json', 0o600, true],
      ['node-agent.env', 0o600, true],
      ['install-node-agent.sh', 0o700, true],
      ['restart-node-agent.sh', 0o700, true],
    ]);
  });

  it('renders the same bytes from the same bundle', async () => {
    const { script, environment } = renderBundle(sampleBundle(), AGENT_TEXT, bundleTemplates());
    await expect(script.text).toMatchFileSnapshot('goldens/install-node-agent.sh');
    await expect(environment.text).toMatchFileSnapshot('goldens/node-agent.env');
  });
});
