// Property tests: no disk is wiped without a valid intent, over random machines, intents, requests and networks.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BECAUSE } from '../../appliance/boot/because.ts';
import type { ClientFacts } from '../../appliance/boot/client-facts.ts';
import { type BootQuestion, decideBoot } from '../../appliance/boot/decide-boot.ts';
import { CLIENT_ARCHITECTURES, CPU_ARCHITECTURES } from '../../appliance/domain/architecture.ts';
import { HOUR } from '../../appliance/domain/instant.ts';
import { type ArmedIntent, intentValidity } from '../../appliance/domain/intent.ts';
import { LIFECYCLE_STATES } from '../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { DHCP_MODES, UNKNOWN_POLICIES } from '../../appliance/domain/network.ts';
import {
  factsOf,
  intentWith,
  MAC,
  machineIn,
  NODE_ID,
  NOW,
  name,
  networkWith,
  OTHER_MAC,
  OTHER_NODE_ID,
  OTHER_UUID,
  profileWith,
  SERVER,
  UUID,
} from './boot-fixtures.ts';

// Drawn from few values, so that valid combinations occur often enough.
const instants = fc.constantFrom(NOW - HOUR, NOW - 1, NOW, NOW + 1, NOW + HOUR);
const uuids = fc.constantFrom(null, UUID, UUID, UUID, OTHER_UUID);
const usually = <T>(value: T, arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: fc.constant(value), weight: 3 }, arbitrary);

const intents: fc.Arbitrary<ArmedIntent | null> = fc.option(
  fc
    .record({
      kind: fc.constantFrom('deploy', 'erase'),
      machine: usually(NODE_ID, fc.constant(OTHER_NODE_ID)),
      macs: usually([MAC], fc.constantFrom([MAC, OTHER_MAC], [OTHER_MAC], [])),
      uuid: uuids,
      profile: fc.constantFrom(null, name('worker'), name('worker'), name('other')),
      armedAt: usually(NOW - HOUR, instants),
      expiresAt: usually(NOW + HOUR, instants),
      consumedAt: usually(null, instants),
      revokedAt: usually(null, instants),
    })
    .map((changes) => intentWith(changes)),
  { freq: 9 },
);

const machines: fc.Arbitrary<Machine | null> = fc.option(
  fc
    .record({
      state: fc.oneof(
        fc.constantFrom('deploying' as const, 'releasing' as const),
        fc.constantFrom(...LIFECYCLE_STATES),
      ),
      intent: intents,
      uuid: uuids,
      architecture: usually('x86_64' as const, fc.constantFrom(...CPU_ARCHITECTURES)),
      secureBoot: fc.constantFrom(null, true, false),
      note: fc.option(fc.string()),
    })
    .map(({ state, intent, note, ...spec }) => machineIn(state, { intent, spec, lifecycle: { note } })),
  { freq: 9 },
);

const features = fc.record({
  version: fc.option(fc.string()),
  http: fc.boolean(),
  https: fc.boolean(),
  efi: fc.boolean(),
  bzimage: fc.boolean(),
  menu: fc.boolean(),
});

const facts: fc.Arbitrary<ClientFacts> = fc
  .record({
    via: fc.constantFrom('dhcp', 'tftp', 'http', 'question'),
    program: fc.constantFrom('firmware-pxe', 'firmware-http', 'ipxe', 'loader', 'os'),
    mac: fc.constantFrom(null, MAC, MAC, MAC, OTHER_MAC),
    uuid: uuids,
    architecture: fc.option(fc.constantFrom(...CLIENT_ARCHITECTURES.values())),
    cpu: fc.oneof(fc.constant('x86_64' as const), fc.option(fc.constantFrom(...CPU_ARCHITECTURES))),
    firmware: fc.constantFrom('bios', 'efi', 'other', null),
    ipxe: fc.option(features),
    raspberryPiRom: fc.boolean(),
    serial: fc.option(fc.string()),
    file: fc.option(fc.string()),
    oddities: fc.array(fc.string()),
  })
  .map((changes) => factsOf(7, changes));

const questions: fc.Arbitrary<BootQuestion> = fc.record({
  facts,
  machine: machines,
  network: fc.option(
    fc
      .record({
        unknown: fc.constantFrom(...UNKNOWN_POLICIES),
        dhcp: fc.constantFrom(...DHCP_MODES),
        efiLoader: fc.constantFrom('ipxe', 'snponly'),
        secureBoot: fc.boolean(),
        server: fc.option(fc.constant(SERVER.address), { freq: 9 }),
      })
      .map((changes) => networkWith(changes)),
    { freq: 9 },
  ),
  profile: fc.option(
    fc
      .record({
        name: usually(name('worker'), fc.constant(name('other'))),
        active: usually(true, fc.boolean()),
        architectures: usually(['x86_64' as const], fc.uniqueArray(fc.constantFrom(...CPU_ARCHITECTURES))),
      })
      .map((changes) => profileWith(changes)),
    { freq: 9 },
  ),
  now: fc.constant(NOW),
});

const RUNS = { numRuns: 20_000 };

/** The eligibility of the intent according to the domain, independent of the decision. */
const eligibility = ({ machine, facts, now }: BootQuestion) =>
  machine?.intent
    ? intentValidity(machine.intent, { machine: machine.id, mac: facts.mac, uuid: facts.uuid }, now)
    : null;

describe('a boot without a valid intent', () => {
  it('never destroys anything: every destructive outcome has its valid intent, state, chassis and profile', () => {
    let destructive = 0;
    fc.assert(
      fc.property(questions, (question) => {
        const { outcome } = decideBoot(question);
        const erases = outcome.kind === 'service-os' && outcome.mode === 'erase';
        if (outcome.kind !== 'installer' && !erases) return;
        destructive += 1;
        const { machine, facts, profile } = question;
        expect(eligibility(question)).toBe('valid');
        expect(machine?.intent?.id).toBe(outcome.intent);
        expect(machine?.intent?.kind).toBe(erases ? 'erase' : 'deploy');
        expect(machine?.lifecycle.state).toBe(erases ? 'releasing' : 'deploying');
        if (machine?.spec.uuid) expect(facts.uuid).toBe(machine.spec.uuid);
        if (facts.cpu) expect(facts.cpu).toBe(machine?.spec.architecture);
        if (outcome.kind !== 'installer') return;
        expect(profile).toMatchObject({ name: machine?.intent?.profile, active: true });
        expect(profile?.architectures).toContain(machine?.spec.architecture);
      }),
      RUNS,
    );
    // Otherwise the property could hold because nothing was ever armed.
    expect(destructive).toBeGreaterThan(50);
  });

  it('never gets a destructive outcome when the intent is removed', () => {
    fc.assert(
      fc.property(questions, (question) => {
        const machine = question.machine && { ...question.machine, intent: null };
        const { outcome } = decideBoot({ ...question, machine });
        expect(outcome).not.toHaveProperty('intent');
      }),
      RUNS,
    );
  });
});

describe('the decision', () => {
  it('never throws, is deterministic, and gives only reasons of the table', () => {
    fc.assert(
      fc.property(questions, (question) => {
        const decision = decideBoot(question);
        expect(decideBoot(structuredClone(question))).toEqual(decision);
        expect(BECAUSE).toHaveProperty([decision.because.id]);
        expect(BECAUSE).toHaveProperty([decision.nextStage.because.id]);
      }),
      { numRuns: 5_000 },
    );
  });

  it('never boots another chassis than the declared one', () => {
    fc.assert(
      fc.property(questions, (question) => {
        const { uuid } = question.machine?.spec ?? {};
        fc.pre(Boolean(uuid && question.facts.uuid && uuid !== question.facts.uuid));
        const decision = decideBoot(question);
        expect(['silent', 'refusal']).toContain(decision.outcome.kind);
        expect(decision.findings.map((finding) => finding.kind)).toContain('chassis-mismatch');
      }),
      { numRuns: 5_000 },
    );
  });
});
