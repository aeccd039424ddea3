// Machines with TPMs, seen by the system that boots on them, and a machine that pretends to be another one. Needs root.

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { isCertificateOf, readEkCertificate } from '../../../appliance/codecs/tpm/ek-certificate.ts';
import { ekFingerprint } from '../../../appliance/codecs/tpm/tpm-keys.ts';
import { parseTpmPublic } from '../../../appliance/codecs/tpm/tpm-public.ts';
import { readVendorAuthorities, vendorChain } from '../../../appliance/codecs/tpm/vendor-chain.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import type { FaultKind } from '../../../appliance/lab/rack/faults.ts';
import { garbageAnswer } from '../../../appliance/lab/rack/garbage-tpm.ts';
import { startOf, sweepLeftovers } from '../../../appliance/lab/rack/leftovers.ts';
import { FULL_RACK_PACKAGES } from '../../../appliance/lab/rack/packages.ts';
import { Rack } from '../../../appliance/lab/rack/rack.ts';
import { RackFolder } from '../../../appliance/lab/rack/rack-folder.ts';
import { needPackages } from '../../interop/packages.ts';
import { SoftwareTpm, TPM_PACKAGES } from '../../interop/tpm/software-tpm.ts';
import { definitionOf } from './bmc-rig.ts';
import { LAST_RESORT_MS } from './fair-clock.ts';
import { fingerprintIn, TpmReader, type TpmReading } from './tpm-reader.ts';

vi.setConfig({ testTimeout: LAST_RESORT_MS, hookTimeout: LAST_RESORT_MS });

const BLANK = '0'.repeat(64);
const definition = definitionOf(
  [
    { name: 'node01', firmware: 'bios-ipxe-rom', boots_first: 'network', disk: 0, tpm: true },
    { name: 'impostor', firmware: 'bios-ipxe-rom', boots_first: 'network', disk: 0, tpm: true, twin_of: 'node01' },
    { name: 'node03', firmware: 'bios-ipxe-rom', disk: 0 },
  ],
  { bmc_mode: 'disabled' },
);

describe('a machine with a TPM', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-rack-tpm-'));
  let rack: Rack;
  let reader: TpmReader;
  let first: TpmReading;
  let fingerprint: string;

  const up = async (): Promise<void> => {
    rack = await Rack.start({ definition, folder: new RackFolder(folder), kind: 'embedded' });
    reader = await TpmReader.serve(rack.network);
  };
  const down = async (): Promise<void> => {
    await reader?.stop();
    await rack?.stop();
  };
  const fault = (target: string, kind: FaultKind, on = true) => rack.fault({ target, kind, on });
  const stateOf = (...names: readonly string[]): string => join(folder, 'machines', ...names);

  /** The TPM of a machine that is off, in our hands: the fingerprint of its RSA endorsement key, and the certificate. */
  const inspected = async (state: string) => {
    const scratch = mkdtempSync(join(tmpdir(), 'coldiron-tpm-'));
    const tpm = await SoftwareTpm.switchOn(scratch, state);
    try {
      const area = mustParse(parseTpmPublic(tpm.createEk('rsa')));
      tpm.tpm2('nvread', '0x01c00002', '-o', 'certificate');
      return { area, fingerprint: ekFingerprint(area), certificate: readEkCertificate(tpm.read('certificate')) };
    } finally {
      await tpm.stop();
      rmSync(scratch, { recursive: true, force: true });
    }
  };

  beforeAll(async () => {
    needPackages([...FULL_RACK_PACKAGES, ...TPM_PACKAGES]);
    await sweepLeftovers();
    await up();
    first = await reader.boot(rack.slot('node01'));
    fingerprint = fingerprintIn(first.tpm?.answer ?? Buffer.alloc(12));
  });
  afterAll(async () => {
    await down();
    rmSync(folder, { recursive: true, force: true });
  });

  it('shows it to the operating system, and the firmware measures what it starts', () => {
    expect(first.tpm?.pcrs).toEqual(Array.from({ length: 8 }, () => expect.stringMatching(/^[0-9A-F]{64}$/)));
    expect(first.tpm?.pcrs).not.toContain(BLANK);
  });

  it('has an EK certificate that leads to the maker, whose certificates are in a folder', async () => {
    const { area, fingerprint: own, certificate } = await inspected(stateOf('node01/tpm'));
    expect(own).toBe(fingerprint);
    const certificates = join(folder, 'tpm-vendor/certificates');
    const files = readdirSync(certificates).map((name) => ({
      name,
      text: readFileSync(join(certificates, name), 'utf8'),
    }));
    expect(files.map(({ name }) => name).sort()).toEqual(['issuer.pem', 'root.pem']);
    const read = mustParse(certificate);
    expect(isCertificateOf(read, area)).toBe(true);
    expect(vendorChain(read, mustParse(readVendorAuthorities(files)), Date.now())).toMatchObject({ ok: true });
  });

  it('can be imitated in everything but its TPM', async () => {
    const impostor = await reader.boot(rack.slot('impostor'));
    expect([impostor.uuid, impostor.serial]).toEqual([first.uuid, first.serial]);
    expect(rack.slot('impostor').machine.cards).toEqual(rack.slot('node01').machine.cards);
    expect(impostor.tpm?.pcrs).toEqual(first.tpm?.pcrs);
    expect(fingerprintIn(impostor.tpm?.answer ?? Buffer.alloc(12))).not.toBe(fingerprint);
  });

  it('runs its TPM only while it is on', async () => {
    const { server, tpm } = rack.slot('node01');
    await server.powerOn();
    const pid = rack.status().machines[0]?.tpm?.pid ?? 0;
    const start = await startOf(pid);
    expect(start).not.toBeNull();
    expect(readFileSync(join(folder, 'processes/node01-tpm.pid'), 'utf8')).toBe(`${pid} ${start}\n`);
    // Its QEMU dies: the TPM has no power either.
    process.kill(server.pid ?? 0, 'SIGKILL');
    await expect.poll(() => tpm?.pid).toBeNull();
    expect(await startOf(pid)).not.toBe(start);
    await server.powerOn();
    expect(tpm?.pid).not.toBeNull();
    await server.powerOff();
    expect([tpm?.pid, existsSync(join(folder, 'processes/node01-tpm.pid'))]).toEqual([null, false]);
  });

  it('keeps its TPM when the rack is taken down', async () => {
    await down();
    await up();
    expect((await inspected(stateOf('node01/tpm'))).fingerprint).toBe(fingerprint);
  });

  it('has another TPM while it is replaced, then its own again', async () => {
    await fault('node01', 'tpm-replaced');
    expect(rack.status().machines[0]?.tpm?.state).toBe('replaced');
    await rack.slot('node01').server.powerOn();
    await rack.slot('node01').server.powerOff();
    expect((await inspected(stateOf('node01/tpm-replaced'))).fingerprint).not.toBe(fingerprint);
    await expect(fault('node01', 'tpm-garbage')).rejects.toThrow('has another fault: replaced');
    await fault('node01', 'tpm-replaced', false);
    await rack.slot('node01').server.powerOn();
    await rack.slot('node01').server.powerOff();
    expect((await inspected(stateOf('node01/tpm'))).fingerprint).toBe(fingerprint);
  });

  it('has a TPM whose certificate is truncated', async () => {
    await fault('node01', 'tpm-bad-certificate');
    onTestFinished(() => fault('node01', 'tpm-bad-certificate', false));
    await rack.slot('node01').server.powerOn();
    await rack.slot('node01').server.powerOff();
    expect((await inspected(stateOf('node01/tpm-bad-certificate'))).certificate).toMatchObject({
      ok: false,
      reason: expect.stringContaining('truncated'),
    });
  });

  it('has no TPM while it is absent', async () => {
    await fault('node01', 'tpm-absent');
    onTestFinished(() => fault('node01', 'tpm-absent', false));
    const { server, tpm } = rack.slot('node01');
    await server.powerOn();
    const command = readFileSync(`/proc/${server.pid}/cmdline`, 'utf8');
    expect([tpm?.pid, command.includes('tpm')]).toEqual([null, false]);
    await server.powerOff();
  });

  it('boots with a TPM that is found, and answers with garbage when it is used', async () => {
    await fault('node01', 'tpm-garbage');
    onTestFinished(() => fault('node01', 'tpm-garbage', false));
    const { tpm } = await reader.boot(rack.slot('node01'));
    expect(tpm?.pcrs).toEqual(first.tpm?.pcrs);
    expect(tpm?.answer.readUInt32BE(2)).toBe(tpm?.answer.length);
    expect(tpm?.answer.readUInt32BE(6)).not.toBe(0);
  });

  it('starts with a TPM that answers everything with garbage', async () => {
    await fault('node01', 'tpm-dead');
    onTestFinished(() => fault('node01', 'tpm-dead', false));
    const { server, serial, tpm } = rack.slot('node01');
    await server.powerOn();
    await serial.console.waitFor(/Configuring \(net0/, 120_000);
    expect(tpm?.pid).toBeNull();
    await server.powerOff();
  });

  it('has new keys after its TPM was cleared, which happens once', async () => {
    await fault('node01', 'tpm-cleared');
    await fault('node01', 'tpm-cleared', false);
    await rack.slot('node01').server.powerOn();
    await rack.slot('node01').server.powerOff();
    expect((await inspected(stateOf('node01/tpm'))).fingerprint).toBe(fingerprint);
    await fault('node01', 'tpm-cleared');
    await rack.slot('node01').server.powerOn();
    expect(rack.status().faults).toEqual([]);
    await rack.slot('node01').server.powerOff();
    const cleared = (await inspected(stateOf('node01/tpm'))).fingerprint;
    expect(cleared).not.toBe(fingerprint);
    await rack.slot('node01').server.powerOn();
    await rack.slot('node01').server.powerOff();
    expect((await inspected(stateOf('node01/tpm'))).fingerprint).toBe(cleared);
  });

  it.each(['tpm-absent', 'tpm-cleared', 'tpm-replaced', 'tpm-dead'] as const)(
    'is what the fault %s needs',
    async (kind) => {
      await expect(fault('node03', kind)).rejects.toThrow('node03 has no TPM');
    },
  );
});

describe('an answer of garbage', () => {
  it('has the length that it says, and no valid tag or code', () => {
    for (let number = 1; number < 1000; number++) {
      const answer = garbageAnswer(number);
      expect(answer.readUInt32BE(2)).toBe(answer.length);
      expect([0x8001, 0x8002, 0x00c4]).not.toContain(answer.readUInt16BE(0));
      expect(answer.readUInt32BE(6)).not.toBe(0);
    }
  });
});
