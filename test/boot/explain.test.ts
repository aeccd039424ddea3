import { describe, expect, it } from 'vitest';
import { type ExplainQuestion, explainBoot, renderExplanation } from '../../appliance/boot/explain.ts';
import { CLIENT_ARCHITECTURES } from '../../appliance/domain/architecture.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { LIFECYCLE_STATES } from '../../appliance/domain/lifecycle.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import {
  architecture,
  eraseIntentWith,
  intentWith,
  MAC,
  machineIn,
  NOW,
  networkWith,
  profileWith,
  SERVER,
  SITE,
} from './boot-fixtures.ts';

const BASE: ExplainQuestion = {
  machine: machineIn('registered'),
  mac: MAC,
  network: networkWith(),
  site: SITE,
  profile: profileWith(),
  server: SERVER,
  arch: architecture(7),
  now: NOW,
};
const explain = (changes: Partial<ExplainQuestion> = {}) => explainBoot({ ...BASE, ...changes });
const stageOf = (explanation: ReturnType<typeof explain>, stage: string) =>
  explanation.stages.find((one) => one.stage === stage);
const reached = (explanation: ReturnType<typeof explain>) =>
  explanation.stages.filter((stage) => stage.reached).map((stage) => stage.stage);

describe('an explanation', () => {
  it('tells every stage in order, whatever the machine gets', () => {
    for (const state of LIFECYCLE_STATES) {
      for (const arch of CLIENT_ARCHITECTURES.values()) {
        for (const unknown of ['ignore', 'inspect'] as const) {
          const { stages } = explain({ machine: machineIn(state), arch, network: networkWith({ unknown }) });
          expect(stages.map((stage) => stage.stage)).toEqual([
            'firmware',
            'loader',
            'ipxe',
            'script',
            'kernel',
            'service-os',
            'first-boot',
          ]);
          for (const stage of stages) expect(stage.because.words).not.toBe('');
        }
      }
    }
  });

  it('names the loader, the script and the outcome of a registered UEFI machine', () => {
    const explanation = explain();
    expect(stageOf(explanation, 'firmware')).toMatchObject({
      asks: 'DHCP DISCOVER as PXEClient, option 93 = 7 (EFI x86-64)',
      answer: 'boot file ipxe.efi over TFTP',
      file: 'ipxe.efi',
      because: { id: 'loader-for-architecture' },
    });
    expect(stageOf(explanation, 'ipxe')).toMatchObject({ url: 'http://10.0.100.10:8080/boot/ipxe/boot.ipxe' });
    expect(stageOf(explanation, 'script')).toMatchObject({
      url: 'http://10.0.100.10:8080/boot/ipxe/52-54-00-12-34-56.ipxe',
      answer: 'instructions to go on to the local disk',
    });
    expect(explanation.outcome).toEqual({ kind: 'local-disk' });
    expect(reached(explanation)).toEqual(['firmware', 'loader', 'ipxe', 'script']);
    expect(stageOf(explanation, 'kernel')?.answer).toBe(`not reached: ${explanation.because.words}`);
  });

  it('names undionly.kpxe for BIOS and a URL for HTTP boot', () => {
    expect(stageOf(explain({ arch: architecture(0) }), 'firmware')?.file).toBe('undionly.kpxe');
    expect(stageOf(explain({ arch: architecture(16) }), 'firmware')).toMatchObject({
      asks: 'DHCP DISCOVER as HTTPClient, option 93 = 16 (EFI x86-64 over HTTP)',
      url: 'http://10.0.100.10:8080/boot/loader/ipxe.efi',
    });
  });

  it('takes the usual UEFI architecture of the machine when none is given', () => {
    expect(explain({ arch: null }).subject.architecture).toBe('7 (EFI x86-64)');
    const arm = machineIn('registered', { spec: { architecture: 'arm64' } });
    expect(explain({ arch: null, machine: arm }).subject.architecture).toBe('11 (EFI ARM 64-bit)');
    expect(explain({ arch: null, machine: null }).subject.architecture).toBe('7 (EFI x86-64)');
  });

  it('leads an armed deployment through all stages', () => {
    const explanation = explain({ machine: machineIn('deploying', { intent: intentWith() }) });
    expect(reached(explanation)).toHaveLength(7);
    expect(stageOf(explanation, 'kernel')?.url).toBe('http://10.0.100.10:8080/boot/nixos/worker/bzImage');
    expect(stageOf(explanation, 'service-os')?.answer).toBe('it writes worker to its disk, once, on intent intent-1');
  });

  it('names no NixOS kernel for a profile of another kind', () => {
    const machine = machineIn('deploying', { intent: intentWith() });
    const explanation = explain({ machine, profile: profileWith({ kind: 'cloud-image' }) });
    expect(stageOf(explanation, 'kernel')?.answer).toBe('those that install worker on x86_64');
    expect(stageOf(explanation, 'kernel')).not.toHaveProperty('url');
  });

  it('leads an armed erasure to the service OS and no further', () => {
    const explanation = explain({ machine: machineIn('releasing', { intent: eraseIntentWith() }) });
    expect(reached(explanation).at(-1)).toBe('service-os');
    expect(stageOf(explanation, 'service-os')?.answer).toBe('it erases its disks, once, on intent intent-1');
  });

  it('leads an enrolling machine from its disk to the node API', () => {
    expect(reached(explain({ machine: machineIn('enrolling') })).at(-1)).toBe('first-boot');
  });

  it('has shim start GRUB in the place of iPXE under Secure Boot', () => {
    const explanation = explain({ network: networkWith({ secureBoot: true }) });
    expect(stageOf(explanation, 'loader')?.file).toBe('shimx64.efi');
    expect(stageOf(explanation, 'ipxe')).toMatchObject({ reached: false, because: { id: 'loader-under-secure-boot' } });
    expect(stageOf(explanation, 'script')?.asks).toBe('GRUB reads its configuration');
  });

  it('ends at the firmware where we are silent', () => {
    const explanation = explain({ machine: null, network: networkWith({ unknown: 'ignore' }), server: null });
    expect(reached(explanation)).toEqual(['firmware']);
    expect(stageOf(explanation, 'firmware')?.answer).toBe('no boot file');
    expect(explanation.outcome).toEqual({ kind: 'silent' });
    expect(explanation.notes).toEqual([]);
  });

  it('says that a machine without a loader never comes to its outcome', () => {
    const explanation = explain({ machine: machineIn('commissioning'), arch: architecture(2) });
    expect(reached(explanation)).toEqual(['firmware']);
    expect(explanation.notes).toEqual([
      'It does not get as far as its outcome: no loader for architecture 2 (IA64 EFI): no machine of this kind is made any more.',
    ]);
  });

  it('says when somebody else has to hand out the boot file', () => {
    expect(explain({ network: networkWith({ dhcp: 'off' }) }).notes).toEqual([
      'DHCP is off on provisioning: whoever serves DHCP there has to hand out the boot file.',
    ]);
  });
});

describe('"what if it were in another state"', () => {
  it('invents no intent: as deploying, a machine that nobody armed stays on its disk, and it is said', () => {
    const explanation = explain({ asState: 'deploying' });
    expect(explanation.outcome).toEqual({ kind: 'local-disk' });
    expect(explanation.because.id).toBe('intent-missing');
    expect(explanation.subject).toMatchObject({ state: 'deploying', supposed: true });
    expect(explanation.notes).toEqual([
      'Judged as if it were deploying; it is registered. No intent is assumed beyond what is armed.',
    ]);
  });

  it('counts an intent that is armed', () => {
    const machine = machineIn('ready', { intent: intentWith() });
    expect(explain({ machine, asState: 'deploying' }).outcome.kind).toBe('installer');
  });

  it('is no supposition in the state it is in', () => {
    const explanation = explain({ asState: 'registered' });
    expect(explanation.subject.supposed).toBe(false);
    expect(explanation.notes).toEqual([]);
  });

  it('cannot be asked of a machine nobody knows', () => {
    expect(explain({ machine: null, asState: 'active' }).notes).toEqual([
      'Nobody knows this machine, so it cannot be judged as active.',
    ]);
  });
});

describe('an explanation on the terminal', () => {
  it('reads from the firmware to the outcome', () => {
    expect(renderExplanation(explain({ via: mustParse(parseIpv4('10.0.100.1')) }))).toMatchInlineSnapshot(`
      "machine     node01 (52:54:00:12:34:56), registered
                  on network provisioning, site lab, through relay 10.0.100.1
                  as client architecture 7 (EFI x86-64)

      firmware    asks  DHCP DISCOVER as PXEClient, option 93 = 7 (EFI x86-64)
                  gets  boot file ipxe.efi over TFTP
                  why   architecture 7 (EFI x86-64): ipxe.efi brings drivers for every
                        card it knows
      loader      asks  TFTP read request for ipxe.efi
                  gets  ipxe.efi, from the manifest
      ipxe        asks  DHCP again, now as iPXE (option 175, user class iPXE)
                  gets  the URL of the script
                  url   http://10.0.100.10:8080/boot/ipxe/boot.ipxe
                  why   iPXE speaks HTTP and starts kernels of this firmware (option
                        175), so it gets the script at once
      script      asks  HTTP GET /boot/ipxe/52-54-00-12-34-56.ipxe with UUID, serial
                        and architecture
                  gets  instructions to go on to the local disk
                  url   http://10.0.100.10:8080/boot/ipxe/52-54-00-12-34-56.ipxe
                  why   node01 is registered but not commissioned, so it boots from
                        its own disk
      kernel      not reached
      service-os  not reached
      first-boot  not reached

      outcome     local disk
      because     node01 is registered but not commissioned, so it boots from its own
                  disk
      to do       Commission it: coldiron commission node01
      "
    `);
  });

  it('fits 80 columns, but for words that cannot be broken, in every state', () => {
    for (const state of LIFECYCLE_STATES) {
      for (const arch of CLIENT_ARCHITECTURES.values()) {
        const text = renderExplanation(explain({ machine: machineIn(state), arch, asState: state }));
        for (const line of text.split('\n')) {
          expect(line.length <= 80 || !line.slice(18).includes(' '), line).toBe(true);
          expect(line).toBe(line.trimEnd());
        }
      }
    }
  });
});
