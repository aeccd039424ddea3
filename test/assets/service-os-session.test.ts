// The machine side of the session protocol under dash, against an appliance over real TLS: who is told anything, how the session key is
// obtained, and that no secret is ever an argument of a process.

import { createHash, randomBytes } from 'node:crypto';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type FakeAuthority, type FakeSession, type FakeSessionOptions, fakeAuthority } from './fake-session.ts';
import { bearer, openingLines, useSessionMachine } from './session-machine.ts';

const rig = useSessionMachine();

describe('whom the service OS talks to', () => {
  it('opens its session over TLS with an appliance of its authority, and says so before', async () => {
    const appliance = await rig.session({ authority: fakeAuthority(), identity: 'bound' });
    const ran = await rig.run(openingLines(appliance));
    expect(ran).toMatchObject({ status: 0, stdout: bearer(appliance) });
    expect(appliance.introduction).toMatchObject({
      ...{ mac: '52:54:00:AB:CD:EF', macs: ['52:54:00:ab:cd:ef'], tpm: null, tpm_error: null, media: null },
    });
    expect(ran.screen).toMatch(
      /appliance: https:.* must prove its identity[\s\S]*TPM: none[\s\S]*identity: bound[\s\S]*session open/,
    );
  });

  it('trusts both authorities during a rotation', async () => {
    const before = fakeAuthority();
    const next = fakeAuthority();
    for (const authority of [before, next]) {
      const appliance = await rig.session({ authority, identity: 'bound' });
      writeFileSync(rig.file('authority.pem'), before.pem + next.pem);
      expect(await rig.run(openingLines(appliance))).toMatchObject({ status: 0 });
    }
  });

  const strangers: readonly [string, () => FakeAuthority][] = [
    ['of another authority', () => fakeAuthority()],
    ['with a certificate for another address', () => fakeAuthority(['10.9.9.9'])],
    ['whose certificate has expired', () => fakeAuthority(['127.0.0.1'], Date.now() - 20 * 86_400_000)],
  ];
  it.each(strangers)('tells an appliance %s nothing at all', async (what, stranger) => {
    const authority = stranger();
    const appliance = await rig.session({ authority, identity: 'bound' });
    if (what === 'of another authority') writeFileSync(rig.file('authority.pem'), fakeAuthority().pem);
    const ran = await rig.run(
      `session=${appliance.url()}\ncheck_transport\n: > "$KEY"\nintroduction > "$RUN/introduction.json"
      deliver POST "$session" "$RUN/introduction.json" || say "not delivered: $(request_error)"`,
    );
    expect(ran.screen).toContain('not delivered: it is not the appliance that this system trusts: ');
    expect(appliance.connections).toBeGreaterThan(0);
    expect(appliance.requests).toEqual([]);
  });

  it('tells an appliance nothing whose authority only the operating system trusts', async () => {
    const trustedByAll = fakeAuthority();
    const appliance = await rig.session({ authority: trustedByAll, identity: 'bound' });
    rig.put('authority.pem', fakeAuthority().pem);
    rig.put('certificates/public.pem', trustedByAll.pem);
    const folder = rig.file('certificates');
    const mounted = `openssl rehash ${folder} && mount --bind ${folder} /etc/ssl/certs && exec "$@"`;
    const lines = `session=${appliance.url()}\ncheck_transport\n: > "$KEY"\nrequest GET "$session"\necho "$status"`;
    expect(await rig.run(lines, {}, ['unshare', '--mount', 'sh', '-c', mounted, 'sh'])).toMatchObject({
      stdout: '000\n',
    });
    expect(appliance.requests).toEqual([]);
  });

  it('refuses plain HTTP when it has an authority, before anything is sent', async () => {
    const appliance = await rig.session({ identity: 'bound' });
    writeFileSync(rig.file('authority.pem'), fakeAuthority().pem);
    const ran = await rig.run(openingLines(appliance));
    expect(ran.status).toBe(7);
    expect(ran.screen).toContain('STOPPED: coldiron.session is not an https URL');
    expect(appliance.connections).toBe(0);
  });

  it('refuses TLS when it has no authority, before anything is sent', async () => {
    const appliance = await rig.session({ authority: fakeAuthority(), identity: 'bound' });
    rmSync(rig.file('authority.pem'));
    const ran = await rig.run(openingLines(appliance));
    expect(ran.status).toBe(7);
    expect(ran.screen).toContain('no authority to verify the appliance with');
    expect(appliance.connections).toBe(0);
  });

  it('uses plain HTTP without an authority, and says that the appliance is not verified', async () => {
    const appliance = await rig.session({ identity: 'bound' });
    const ran = await rig.run(openingLines(appliance));
    expect(ran).toMatchObject({ status: 0, stdout: bearer(appliance) });
    expect(ran.screen).toContain('is not verified, and the session is not encrypted');
  });
});

describe('the clock', () => {
  const now = Math.floor(Date.now() / 1000);
  const fake = `date() { if [ "$1" = +%s ]; then echo ${now}; else echo "date $*"; fi; }`;
  const clock = async (time: string): Promise<string> => {
    const { screen } = await rig.run(`${fake}\nset_clock '${time}' 2>&1; say done`);
    return screen;
  };

  it.each([now - 301, now + 86_400 * 3650])('is set when it is wrong by more than five minutes: %i', async (time) => {
    expect(await clock(String(time))).toContain(
      `clock: set to the time of the appliance; it was wrong by ${Math.abs(now - time)} seconds`,
    );
  });

  it.each(['', 'soon', '-5', '1; reboot', '999999999999', String(now - 299), String(now + 299)])(
    'is left alone for coldiron.time=%s',
    async (time) => {
      expect(await clock(time)).toBe('coldiron: done\n');
    },
  );
});

describe('a medium with the secret of the session', () => {
  /** Drives and mounts need a kernel; what is on the medium is what `mount` puts there. */
  const medium = (secret: string): string => `
    blkid() { echo COLDIRON; }
    timeout() { shift; "$@"; }
    mount() { for place in "$@"; do :; done; printf '%s' '${secret}' > "$place/secret"; }
    umount() { rm -f "$1/secret"; }
    modprobe() { :; }
  `;

  it('gives the session key and the keys of the files', async () => {
    for (const name of ['sda', 'sdb']) rig.put(`sys/block/${name}/size`, '100\n');
    rig.put('sys/block/sda/removable', '1\n');
    const appliance = await rig.session({
      authority: fakeAuthority(),
      identity: 'media',
      files: { 'user-data': '#cloud-config\n' },
    });
    const s = appliance.secret.toString('hex');
    const ran = await rig.run(
      `${medium(s)}${openingLines(appliance)}fetch_file user-data "$RUN/got" && cat "$RUN/got"; disk_names`,
    );
    expect(ran.stdout).toBe(`${bearer(appliance)}#cloud-config\nsdb\n`);
    expect(appliance.introduction?.media).toBe(createHash('sha256').update(appliance.secret).digest('hex'));
    expect(ran.screen).toContain('medium: the secret of a session was found on sda');
    rig.expectNoSecretShown(appliance, ran);
  });

  it.each(['', 'not hexadecimal', 'ab'.repeat(31)])('is ignored when its secret is "%s"', async (secret) => {
    rig.put('sys/block/sr0/size', '100\n');
    const appliance = await rig.session({ authority: fakeAuthority(), identity: 'bound' });
    const ran = await rig.run(`MEDIUM_SECONDS=0\n${medium(secret)}${openingLines(appliance)}`);
    expect(ran.status).toBe(0);
    expect(appliance.introduction?.media).toBeNull();
    expect(ran.screen).toContain('medium: COLDIRON in sr0 has no valid secret');
  });

  it('is required when the appliance expects it', async () => {
    const appliance = await rig.session({ authority: fakeAuthority(), identity: 'media' });
    const ran = await rig.run(openingLines(appliance));
    expect(ran.status).toBe(7);
    expect(ran.screen).toContain('STOPPED: the appliance expects the secret of a medium');
  });
});

describe('sealed files', () => {
  const opened = (appliance: FakeSession): string => `
    : > "$KEY"; verified=''; session=${appliance.url()}; api=\${session%/*}
    printf '%s' ${appliance.secret.toString('hex')} > "$SECRET"
    printf 'Authorization: Bearer %s\\n' ${appliance.key} > "$KEY"
    if fetch_file user-data "$RUN/got"; then cat "$RUN/got"; else request_error; fi
    ls "$RUN" | grep -E 'sealed|answer' || :`;

  it.each(['', 'x', '#cloud-config\n', `${'a long line '.repeat(20_000)}\n`])('are opened (%#)', async (content) => {
    const appliance = await rig.session({ identity: 'media', files: { 'user-data': content } });
    const ran = await rig.run(opened(appliance));
    expect(ran.stdout).toBe(content);
    rig.expectNoSecretShown(appliance, ran);
  });

  const flipped = (base64: string): string => {
    const bytes = Buffer.from(base64, 'base64');
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    return bytes.toString('base64');
  };
  it.each<[string, NonNullable<FakeSessionOptions['tamper']>, RegExp]>([
    ['a changed byte', (sealed) => ({ ...sealed, data: flipped(sealed.data) }), /authentication code is wrong/],
    ['a wrong code', (sealed) => ({ ...sealed, mac: randomBytes(32).toString('hex') }), /authentication code is wrong/],
    ['no code', ({ name, data }) => ({ name, data }), /authentication code is wrong/],
    ['the name of another file', (sealed) => ({ ...sealed, name: 'meta-data' }), /not a sealed file of that name/],
    ['no data', ({ name, mac }) => ({ name, mac }), /authentication code is wrong/],
  ])('are refused with %s, and nothing is decrypted', async (_what, tamper, reason) => {
    const appliance = await rig.session({ identity: 'media', files: { 'user-data': 'secret text' }, tamper });
    const ran = await rig.run(opened(appliance));
    expect(ran.stdout).toMatch(reason);
    expect(rig.calls()).not.toMatch(/^openssl enc/m);
    expect(existsSync(rig.file('run/got'))).toBe(false);
  });
});
