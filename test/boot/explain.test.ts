import { describe, expect, it } from 'vitest';
import { explainNode } from '../../appliance/api/explain-node.ts';
import { type Availability, BootResolver } from '../../appliance/boot/boot-resolver.ts';
import { renderExplanation } from '../../appliance/boot/explain.ts';
import { EVERYTHING_STARTS } from '../../appliance/boot/startability.ts';
import { CLIENT_ARCHITECTURES, type ClientArchitecture } from '../../appliance/domain/architecture.ts';
import type { Profile } from '../../appliance/domain/catalogue.ts';
import { type Ipv4, parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { LIFECYCLE_STATES, type LifecycleState } from '../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import type { SiteNetwork } from '../../appliance/domain/network.ts';
import { mustParse, unparsable } from '../../appliance/domain/parsed.ts';
import { Fleet } from '../../appliance/inventory/fleet.ts';
import {
  architecture,
  eraseIntentWith,
  intentWith,
  MAC,
  machineIn,
  NOW,
  networkWith,
  profileWith,
  SITE,
} from './boot-fixtures.ts';

interface ExplainInput {
  readonly machine?: Machine | null;
  readonly network?: SiteNetwork;
  readonly profile?: Profile;
  readonly arch?: ClientArchitecture | null;
  readonly via?: Ipv4;
  readonly asState?: LifecycleState;
  readonly armed?: boolean;
  readonly has?: Availability;
}

function explain(input: ExplainInput = {}) {
  const { machine = machineIn('registered'), network = networkWith(), profile = profileWith(), has } = input;
  const { arch = architecture(7), via = null, asState = null, armed = null } = input;
  const fleet = new Fleet();
  fleet.replace({
    sites: [SITE],
    networks: [network],
    skus: [],
    profiles: [profile],
    clusters: [],
    roce: [],
    machines: machine === null ? [] : [machine],
    sources: new Map(),
    declaredRevision: 1,
    revision: 1,
  });
  const resolver = new BootResolver(fleet, () => NOW, has);
  return explainNode({ fleet, resolver, bootPort: 8080, now: NOW }, MAC, { arch, via, state: asState, armed });
}
const stageOf = (explanation: ReturnType<typeof explain>, stage: string) =>
  explanation.stages.find((one) => one.stage === stage);
const reached = (explanation: ReturnType<typeof explain>) =>
  explanation.stages.filter((stage) => stage.reached).map((stage) => stage.stage);

describe('an explanation', () => {
  it('lists every stage in order, whatever the machine gets', () => {
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
      answer: 'instructions to boot from the local disk',
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

  it('assumes the usual UEFI architecture of the machine when none is given', () => {
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

  it('has shim start GRUB instead of iPXE under Secure Boot', () => {
    const explanation = explain({ network: networkWith({ secureBoot: true }) });
    expect(stageOf(explanation, 'loader')?.file).toBe('shimx64.efi');
    expect(stageOf(explanation, 'ipxe')).toMatchObject({ reached: false, because: { id: 'loader-under-secure-boot' } });
    expect(stageOf(explanation, 'script')?.asks).toBe('GRUB reads its configuration');
  });

  it('ends at the firmware where the appliance sends no reply', () => {
    const explanation = explain({ machine: null, network: networkWith({ unknown: 'ignore' }) });
    expect(reached(explanation)).toEqual(['firmware']);
    expect(stageOf(explanation, 'firmware')?.answer).toBe('no boot file');
    expect(explanation.outcome).toEqual({ kind: 'silent' });
    expect(explanation.notes).toEqual([]);
  });

  it('says that a machine without a loader never reaches its outcome', () => {
    const explanation = explain({ machine: machineIn('commissioning'), arch: architecture(2) });
    expect(reached(explanation)).toEqual(['firmware']);
    expect(explanation.notes).toEqual([
      'It does not reach its outcome: no loader for architecture 2 (IA64 EFI): machines of this kind are no longer made.',
    ]);
  });

  it('says when another DHCP server must offer the boot file', () => {
    expect(explain({ network: networkWith({ dhcp: 'off' }) }).notes).toEqual([
      'DHCP is off on provisioning: the DHCP server there must offer the boot file.',
    ]);
  });
});

describe('a missing image or order', () => {
  const commissioning = machineIn('commissioning');

  it('refuses a machine whose image is missing', () => {
    const has = { startability: { ...EVERYTHING_STARTS, image: () => unparsable('images/service-os-x86_64/kernel') } };
    const explanation = explain({ machine: commissioning, has });
    expect(explanation.outcome.kind).toBe('refusal');
    expect(explanation.because.id).toBe('image-missing');
    expect(reached(explanation)).toEqual(['firmware', 'loader', 'ipxe', 'script']);
  });

  it('refuses a machine whose order cannot be made', () => {
    const has = { startability: { ...EVERYTHING_STARTS, orderProblem: () => 'its site is not declared' } };
    const explanation = explain({ machine: commissioning, has });
    expect(explanation.because).toMatchObject({ id: 'order-impossible', words: expect.stringContaining('its site') });
  });
});

describe('an assumed state', () => {
  it('assumes an armed deployment of its profile, and says so', () => {
    const explanation = explain({ asState: 'deploying' });
    expect(explanation.outcome).toMatchObject({ kind: 'installer', profile: 'worker' });
    expect(explanation.subject).toMatchObject({ state: 'deploying', supposed: true });
    expect(explanation.notes).toEqual([
      'As if it were deploying; it is registered.',
      'As if a deployment of profile worker were armed for it; this query arms nothing.',
    ]);
  });

  it('assumes an armed erasure', () => {
    const explanation = explain({ asState: 'releasing' });
    expect(explanation.outcome).toMatchObject({ kind: 'service-os', mode: 'erase' });
    expect(explanation.notes.at(-1)).toMatch(/^As if an erasure were armed/);
  });

  it('assumes no intent when armed is false', () => {
    const explanation = explain({ asState: 'deploying', armed: false });
    expect([explanation.outcome.kind, explanation.because.id]).toEqual(['local-disk', 'intent-missing']);
    expect(explanation.notes).toEqual(['As if it were deploying; it is registered.']);
    const armed = machineIn('deploying', { intent: intentWith() });
    expect(explain({ machine: armed, armed: false }).notes).toEqual(['As if nothing were armed for it.']);
  });

  it('replaces an invalid intent when armed is true', () => {
    const machine = machineIn('deploying', { intent: intentWith({ consumedAt: NOW }) });
    expect(explain({ machine }).because.id).toBe('intent-consumed');
    expect(explain({ machine, armed: true }).outcome.kind).toBe('installer');
  });

  it('uses an armed intent', () => {
    const machine = machineIn('ready', { intent: intentWith() });
    const explanation = explain({ machine, asState: 'deploying' });
    expect(explanation.outcome).toMatchObject({ kind: 'installer', intent: 'intent-1' });
    expect(explanation.notes).toEqual(['As if it were deploying; it is ready.']);
  });

  it('explains what is missing: a node without a profile cannot be deployed', () => {
    const machine = machineIn('ready', { spec: { profile: null } });
    const explanation = explain({ machine, asState: 'deploying' });
    expect(explanation.because.id).toBe('profile-unknown');
    expect(explanation.notes.at(-1)).toMatch(/^As if a deployment were armed/);
  });

  it('is not an assumption when it is the actual state', () => {
    const explanation = explain({ asState: 'registered' });
    expect(explanation.subject.supposed).toBe(false);
    expect(explanation.notes).toEqual([]);
  });

  it('is rejected for an unregistered machine', () => {
    expect(explain({ machine: null, asState: 'active' }).notes).toEqual([
      'This machine is unknown, so it cannot be explained as active.',
    ]);
  });

  it.each([true, false])('rejects armed: %s in a state that needs no intent', (armed) => {
    expect(() => explain({ armed })).toThrow(/^armed: only a node in state deploying or releasing/);
    expect(() => explain({ machine: null, asState: 'deploying', armed })).toThrow(/^armed: /);
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
                  why   architecture 7 (EFI x86-64): ipxe.efi has drivers of its own
                        for many cards
      loader      asks  TFTP read request for ipxe.efi
                  gets  ipxe.efi, from the manifest
      ipxe        asks  DHCP again, now as iPXE (option 175, user class iPXE)
                  gets  the URL of the script
                  url   http://10.0.100.10:8080/boot/ipxe/boot.ipxe
                  why   iPXE supports HTTP and the kernels of this firmware (option
                        175), so it gets the script at once
      script      asks  HTTP GET /boot/ipxe/52-54-00-12-34-56.ipxe with UUID, serial
                        and architecture
                  gets  instructions to boot from the local disk
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

  it('fits 80 columns, except for words that cannot be split, in every state', () => {
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
