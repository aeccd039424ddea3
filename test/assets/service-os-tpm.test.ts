// The machine side of a session that is bound to a TPM, with a real one (swtpm): keys, certificates, the quote, opening the session, and TPMs
// that are absent, broken, locked or slow.

import { createHash, createPublicKey, verify } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type FakeSessionOptions, fakeAuthority } from './fake-session.ts';
import { bearer, openingLines, useSessionMachine } from './session-machine.ts';
import { type SoftwareTpm, startSoftwareTpm } from './software-tpm.ts';

const rig = useSessionMachine(['swtpm', 'tpm2-tools']);
const ECC_CERTIFICATE = '0x01c0000a';

/** The TPM of the machine; its commands reach it through the interface of tpm2-tools. */
async function withTpm(): Promise<{ tpm: SoftwareTpm; environment: Readonly<Record<string, string>> }> {
  const tpm = await startSoftwareTpm();
  rig.put('dev/tpmrm0', '');
  return { tpm, environment: { TPM_INTERFACE: tpm.interface } };
}

const tpmSession = (options: Pick<FakeSessionOptions, 'ek' | 'changeCredential'> = {}) =>
  rig.session({ authority: fakeAuthority(), identity: 'tpm', files: { 'user-data': '#cloud-config\n' }, ...options });

const FETCHING = 'fetch_file user-data "$RUN/got" && cat "$RUN/got"\n';

/** One bit of the code that binds a credential to its key. */
const flipped = (base64: string): string => {
  const changed = bytes(base64);
  changed[20] = (changed[20] ?? 0) ^ 1;
  return changed.toString('base64');
};

const bytes = (base64: string | undefined): Buffer => Buffer.from(base64 ?? '', 'base64');

describe('a machine with a TPM', () => {
  it.each([
    ['ECC', 0],
    ['RSA', 1],
  ])('opens a session that is encrypted for its %s endorsement key', async (_kind, ek) => {
    const { environment } = await withTpm();
    const appliance = await tpmSession({ ek });
    const ran = await rig.run(openingLines(appliance) + FETCHING, environment);
    expect(ran.screen).toMatch(/TPM: endorsement keys ecc rsa; PCR 0-7 quoted; \d+\.\d\d seconds\n/);
    expect(ran.screen).toContain('identity: the TPM of this machine opened the session');
    expect(ran.stdout).toBe(`${bearer(appliance)}#cloud-config\n`);
    rig.expectNoSecretShown(appliance, ran);
  });

  it('sends a quote of PCR 0-7 that is signed for this ticket, and the certificates that its TPM stores', async () => {
    const { tpm, environment } = await withTpm();
    const certificate = Buffer.from('a certificate, with padding\0\0');
    const attributes = 'ppwrite|ppread|ownerread|authread|no_da|platformcreate';
    writeFileSync(rig.file('certificate'), certificate);
    tpm.tpm2('nvdefine', ECC_CERTIFICATE, '-C', 'p', '-s', String(certificate.length), '-a', attributes);
    tpm.tpm2('nvwrite', ECC_CERTIFICATE, '-C', 'p', '-i', rig.file('certificate'));
    tpm.tpm2('pcrextend', `4:sha256=${'ab'.repeat(32)}`);
    const appliance = await tpmSession();
    await rig.run(openingLines(appliance), environment);
    const report = appliance.introduction?.tpm;
    expect(appliance.introduction?.tpm_error).toBeNull();
    expect(report?.ek.map((ek) => ek.certificate)).toEqual([certificate.toString('base64'), null]);
    const { message, signature, pcrs } = report?.quote ?? { message: '', signature: '', pcrs: {} };
    // TPMS_ATTEST: magic, type, name of the signer, then the qualifying data.
    const attest = bytes(message);
    const nonce = createHash('sha256').update(appliance.ticket).digest();
    expect(attest.subarray(0, 4).toString('latin1')).toBe('\xffTCG');
    expect(attest.includes(nonce)).toBe(true);
    expect(
      verify(
        'sha256',
        attest,
        { key: eccKey(bytes(report?.ak)), dsaEncoding: 'ieee-p1363' },
        eccSignature(bytes(signature)),
      ),
    ).toBe(true);
    const zero = '0'.repeat(64);
    const extended = createHash('sha256')
      .update(Buffer.from(zero + 'ab'.repeat(32), 'hex'))
      .digest('hex');
    expect(Object.entries(pcrs)).toEqual([...'01234567'].map((index) => [index, index === '4' ? extended : zero]));
    // The last part of the quote is the hash of the values.
    const values = Buffer.from(Object.values(pcrs).join(''), 'hex');
    expect(attest.subarray(-32).equals(createHash('sha256').update(values).digest())).toBe(true);
  });

  it('uses the RSA endorsement key that its TPM stores, and opens the session with it', async () => {
    const { tpm, environment } = await withTpm();
    tpm.tpm2('createek', '-G', 'rsa', '-c', '0x81010001', '-u', rig.file('stored'));
    const appliance = await tpmSession({ ek: 1 });
    const ran = await rig.run(openingLines(appliance), environment);
    expect(appliance.introduction?.tpm?.ek[1]?.public).toBe(readFileSync(rig.file('stored')).toString('base64'));
    expect(rig.calls()).not.toContain('createek -G rsa');
    expect(ran).toMatchObject({ status: 0, stdout: bearer(appliance) });
  });

  it('ignores another key at the handle of the RSA endorsement key', async () => {
    const { tpm, environment } = await withTpm();
    tpm.tpm2('createprimary', '-C', 'o', '-G', 'rsa2048', '-c', rig.file('other'));
    tpm.tpm2('evictcontrol', '-C', 'o', '-c', rig.file('other'), '0x81010001');
    tpm.tpm2('flushcontext', '-t');
    const appliance = await tpmSession({ ek: 1 });
    const ran = await rig.run(openingLines(appliance), environment);
    expect(rig.calls()).toContain('createek -G rsa');
    expect(ran).toMatchObject({ status: 0, stdout: bearer(appliance) });
  });

  it('has the same endorsement keys at each start', async () => {
    const { environment } = await withTpm();
    const reports: unknown[] = [];
    for (let start = 1; start <= 2; start += 1) {
      const appliance = await tpmSession();
      await rig.run(openingLines(appliance), environment);
      reports.push(appliance.introduction?.tpm?.ek);
    }
    expect(reports[0]).toEqual(reports[1]);
  });

  const unusable: readonly [string, NonNullable<FakeSessionOptions['changeCredential']>, RegExp][] = [
    [
      'another TPM',
      (made) => ({ ...made, ek: '00' }),
      /the appliance encrypted the session for another TPM: endorsement key 00/,
    ],
    ['nothing', ({ ek }) => ({ ek, file: '' }), /activatecredential: /],
    ['another attestation key', (made) => ({ ...made, file: flipped(made.file) }), /activatecredential: .*integrity/],
  ];
  it.each(unusable)(
    'stops with the reason when the session is encrypted for %s',
    async (_what, changeCredential, reason) => {
      const { environment } = await withTpm();
      const appliance = await tpmSession({ changeCredential });
      const ran = await rig.run(openingLines(appliance), environment);
      expect(ran.status).toBe(7);
      expect(ran.screen).toMatch(/STOPPED: the TPM did not open the session: /);
      expect(ran.screen).toMatch(reason);
      expect(appliance.requests).toHaveLength(1);
    },
  );
});

describe('a TPM that cannot be used does not stop the machine', () => {
  const bound = () => rig.session({ authority: fakeAuthority(), identity: 'bound' });
  const fakeTool = (lines: string): Readonly<Record<string, string>> => {
    rig.put('bin/tpm2', `#!/bin/sh\n${lines}\n`);
    chmodSync(rig.file('bin/tpm2'), 0o755);
    rig.put('dev/tpmrm0', '');
    return { PATH: `${rig.file('bin')}:/usr/sbin:/usr/bin:/sbin:/bin` };
  };

  it.each([
    ['returns garbage', 'head -c 200 /dev/urandom; exit 1', {}, /^createek: /],
    [
      'is not there although it has a device',
      'echo "ERROR: Could not load tcti" >&2; exit 1',
      {},
      /^createek: .*Could not load tcti/,
    ],
    ['does not reply', 'exec sleep 600', { TPM_CALL_SECONDS: '1' }, /^createek: no reply within 1 seconds$/],
    ['writes escape sequences', String.raw`printf 'ERROR: \033[2Jx\n' >&2; exit 1`, {}, /^createek: ERROR: \[2Jx$/],
  ])('when it %s', async (_what, lines, limits, reason) => {
    const appliance = await bound();
    const ran = await rig.run(openingLines(appliance), { ...fakeTool(lines), ...limits });
    expect(ran).toMatchObject({ status: 0, stdout: bearer(appliance) });
    expect(appliance.introduction).toMatchObject({ tpm: null, tpm_error: expect.stringMatching(reason) });
    expect(ran.screen).toContain(`TPM: cannot be used: ${appliance.introduction?.tpm_error}`);
  });

  it('when its endorsement hierarchy is locked with a password', async () => {
    const { tpm, environment } = await withTpm();
    tpm.tpm2('changeauth', '-c', 'e', 'password');
    const appliance = await bound();
    const ran = await rig.run(openingLines(appliance), environment);
    expect(ran.status).toBe(0);
    expect(appliance.introduction).toMatchObject({ tpm: null, tpm_error: expect.stringMatching(/^createek: tpm:/) });
  });

  it('when it is a TPM 1.2', async () => {
    rig.put('sys/class/tpm/tpm0/tpm_version_major', '1\n');
    const appliance = await bound();
    const ran = await rig.run(openingLines(appliance));
    expect(ran.status).toBe(0);
    expect(appliance.introduction).toMatchObject({ tpm: null, tpm_error: expect.stringContaining('version 1.2') });
  });

  it('when it cannot quote', async () => {
    const { environment } = await withTpm();
    const appliance = await bound();
    const failing =
      'if [ "$1" = quote ]; then echo "ERROR: Esys_Quote(0x101) - tpm:error(2.0): failure" >&2; exit 1; fi';
    const ran = await rig.run(openingLines(appliance), {
      ...fakeTool(`${failing}\nexec /usr/bin/tpm2 "$@"`),
      ...environment,
    });
    expect(ran.status).toBe(0);
    expect(appliance.introduction).toMatchObject({ tpm: { quote: null }, tpm_error: 'quote: tpm:error(2.0): failure' });
    expect(ran.screen).toContain('TPM: endorsement keys ecc rsa; quote: tpm:error(2.0): failure');
  });

  it('when it hangs so that its program cannot be ended', async () => {
    const appliance = await bound();
    const hangs = fakeTool(`echo $$ > ${rig.file('hanging')}; trap "" TERM; while :; do sleep 1; done`);
    onTestFinished(() => void process.kill(Number(readFileSync(rig.file('hanging'), 'utf8')), 'SIGKILL'));
    const ran = await rig.run(openingLines(appliance), { ...hangs, TPM_SECONDS: '1' });
    expect(ran).toMatchObject({ status: 0, stdout: bearer(appliance) });
    expect(appliance.introduction).toMatchObject({ tpm: null, tpm_error: 'no reply within 1 seconds' });
  });
});

/** TPM2B_PUBLIC of an ECC key ends with the point: two sizes of two bytes, and 32 bytes each. */
function eccKey(area: Buffer) {
  const x = area.subarray(-66, -34).toString('base64url');
  const y = area.subarray(-32).toString('base64url');
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}

/** TPMT_SIGNATURE: algorithm, hash, then r and s with their sizes. */
function eccSignature(signature: Buffer): Buffer {
  const size = signature.readUInt16BE(4);
  const r = signature.subarray(6, 6 + size);
  const s = signature.subarray(8 + size);
  const wide = (number: Buffer): Buffer => Buffer.concat([Buffer.alloc(32 - number.length), number]);
  return Buffer.concat([wide(r), wide(s)]);
}
