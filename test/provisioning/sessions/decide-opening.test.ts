import { describe, expect, it } from 'vitest';
import { parseChassisUuid } from '../../../appliance/domain/chassis.ts';
import {
  type BoundHardware,
  type BoundTpm,
  parseEkFingerprint,
  type ShownHardware,
} from '../../../appliance/domain/hardware-identity.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { decideOpening, type OpeningQuestion } from '../../../appliance/provisioning/sessions/decide-opening.ts';
import { mac } from '../../store/samples.ts';

const UUID = mustParse(parseChassisUuid('4c4c4544-0042-3510-8054-b4c04f564433'));
const OTHER_UUID = mustParse(parseChassisUuid('4c4c4544-0042-3510-8054-b4c04f564499'));
const EK = mustParse(parseEkFingerprint('ab'.repeat(32)));
const SECOND_EK = mustParse(parseEkFingerprint('cd'.repeat(32)));
const OTHER_EK = mustParse(parseEkFingerprint('ef'.repeat(32)));
const PCRS = { 0: 'aa'.repeat(32), 7: 'bb'.repeat(32) };

const TPM = { eks: [EK], issuer: null, pcrs: PCRS };
const SHOWN: ShownHardware = { uuid: UUID, serial: 'SN1', macs: [mac(1), mac(2)], tpm: null, tpmProblem: null };
const BOUND: BoundHardware = { uuid: UUID, serial: 'SN1', macs: [mac(1), mac(2)], tpm: null, boundAt: 0 };
const withTpm = (trust: BoundTpm['trust'], changes: Partial<BoundTpm> = {}): BoundHardware => ({
  ...BOUND,
  tpm: { ...TPM, trust, ...changes },
});

const decide = (changes: Partial<OpeningQuestion> = {}) =>
  decideOpening({
    hostname: 'node01',
    mode: 'install',
    profile: 'worker',
    required: 'bound',
    requiredPcrs: [],
    declared: [],
    bound: BOUND,
    shown: SHOWN,
    signed: [],
    showsAll: true,
    medium: 'none',
    ...changes,
  });

describe('a session of the recorded hardware', () => {
  it.each<[string, Partial<OpeningQuestion>, string, string]>([
    ['without a TPM is bound, with the key in the reply', {}, 'bound', 'clear'],
    ['with an extra network card is bound', { shown: { ...SHOWN, macs: [...SHOWN.macs, mac(9)] } }, 'bound', 'clear'],
    ['with the secret of its medium is proved through the BMC', { medium: 'shown' }, 'media', 'media'],
    ['with its accepted TPM is proved', { bound: withTpm('accepted'), shown: { ...SHOWN, tpm: TPM } }, 'tpm', 'tpm'],
    [
      'with a TPM that nobody accepted is bound, and gets its key through the TPM all the same',
      { bound: withTpm('nobody'), shown: { ...SHOWN, tpm: TPM } },
      'bound',
      'tpm',
    ],
    [
      'with one of its two endorsement keys is proved',
      { bound: withTpm('accepted', { eks: [EK, SECOND_EK] }), shown: { ...SHOWN, tpm: { ...TPM, eks: [SECOND_EK] } } },
      'tpm',
      'tpm',
    ],
    [
      'with a TPM that the inventory declares is proved',
      { declared: [EK], bound: withTpm('declared'), shown: { ...SHOWN, tpm: TPM } },
      'tpm',
      'tpm',
    ],
    [
      'with a TPM that its vendor signed is proved',
      { bound: withTpm('vendor'), shown: { ...SHOWN, tpm: { ...TPM, issuer: 'CN=Vendor' } }, signed: [EK] },
      'tpm',
      'tpm',
    ],
    ['from an older image is bound', { showsAll: false, shown: { ...SHOWN, macs: [mac(1)] } }, 'bound', 'clear'],
    ['that is commissioned for the first time is asserted', { bound: null, mode: 'commission' }, 'asserted', 'clear'],
    ['that is never commissioned is asserted', { bound: null, required: 'asserted' }, 'asserted', 'clear'],
  ])('%s', (_, changes, level, key) => {
    expect(decide(changes)).toMatchObject({ outcome: 'open', level, key, changedPcrs: [] });
  });
});

describe('a TPM with several endorsement keys gets the session key for', () => {
  const shows = (...eks: (typeof EK)[]): ShownHardware => ({ ...SHOWN, tpm: { ...TPM, eks } });

  it.each<[string, Partial<OpeningQuestion>, typeof EK, string]>([
    ['the recorded one', { bound: withTpm('accepted'), shown: shows(OTHER_EK, EK) }, EK, 'tpm'],
    [
      'the recorded one, also beside one that a vendor signed: that one is not of this machine',
      { bound: withTpm('nobody'), shown: shows(OTHER_EK, EK), signed: [OTHER_EK] },
      EK,
      'bound',
    ],
    [
      'the recorded one that its vendor signed',
      { bound: withTpm('vendor', { eks: [EK, SECOND_EK] }), shown: shows(EK, SECOND_EK), signed: [SECOND_EK] },
      SECOND_EK,
      'tpm',
    ],
    [
      'the declared one, when it was commissioned before that',
      { bound: withTpm('nobody'), declared: [SECOND_EK], shown: shows(EK, SECOND_EK) },
      SECOND_EK,
      'tpm',
    ],
    [
      'the declared one when it is commissioned',
      { bound: null, mode: 'commission', declared: [EK], shown: shows(OTHER_EK, EK), signed: [OTHER_EK] },
      EK,
      'tpm',
    ],
    [
      'the one that its vendor signed when it is commissioned',
      { bound: null, mode: 'commission', shown: shows(OTHER_EK, EK), signed: [EK] },
      EK,
      'tpm',
    ],
    [
      'the first one while nobody vouches for any',
      { bound: null, mode: 'commission', shown: shows(EK, SECOND_EK) },
      EK,
      'asserted',
    ],
  ])('%s', (_, changes, ek, level) => {
    expect(decide(changes)).toMatchObject({ outcome: 'open', key: 'tpm', ek, level });
  });

  it('nothing when it shows none', () => {
    expect(decide()).toMatchObject({ outcome: 'open', ek: null });
  });
});

describe('a session of other hardware', () => {
  it.each<[string, Partial<ShownHardware>, Partial<OpeningQuestion>, string]>([
    ['another chassis', { uuid: OTHER_UUID }, {}, `chassis UUID ${OTHER_UUID} instead of ${UUID}`],
    ['no chassis UUID', { uuid: null }, {}, `chassis UUID none instead of ${UUID}`],
    ['another serial number', { serial: 'SN2' }, {}, 'serial number SN2 instead of SN1'],
    ['a missing card', { macs: [mac(1)] }, {}, `network card ${mac(1)} instead of ${mac(2)}`],
    [
      'another TPM',
      { tpm: { ...TPM, eks: [OTHER_EK] } },
      { bound: withTpm('accepted') },
      'TPM efefefefefefefef… instead of abababababababab…',
    ],
    ['no TPM', { tpm: null }, { bound: withTpm('accepted') }, 'TPM none instead of abababababababab…'],
    [
      'a TPM that answers garbage',
      { tpm: null, tpmProblem: 'attestation key: too short' },
      { bound: withTpm('nobody') },
      'TPM none (attestation key: too short) instead of abababababababab…',
    ],
    [
      'another TPM than the declared one, before it was ever recorded',
      { tpm: { ...TPM, eks: [OTHER_EK] } },
      { bound: null, declared: [EK], mode: 'commission' },
      'TPM efefefefefefefef… instead of abababababababab…',
    ],
  ])('is quarantined: %s', (_, shown, changes, reason) => {
    const decision = decide({ ...changes, shown: { ...SHOWN, ...shown } });
    expect(decision).toMatchObject({ outcome: 'quarantine', reason: expect.stringContaining(reason) });
  });

  it.each(['commission', 'erase', 'rescue', 'inspect'] as const)('is quarantined in every mode: %s', (mode) => {
    const shown = { ...SHOWN, serial: 'SN2' };
    expect(decide({ mode, shown }).outcome).toBe('quarantine');
    expect(decide({ mode, shown, required: 'asserted' }).outcome).toBe('quarantine');
  });

  it('is accepted as asserted by a profile that requires nothing', () => {
    const decision = decide({ required: 'asserted', shown: { ...SHOWN, serial: 'SN2' } });
    expect(decision).toMatchObject({ outcome: 'open', level: 'asserted' });
  });

  it('is refused, not quarantined, when the image is too old to show a TPM', () => {
    const decision = decide({ bound: withTpm('accepted'), showsAll: false });
    expect(decision).toMatchObject({ outcome: 'refuse', keep: false, reason: expect.stringContaining('assets build') });
  });

  it('is noticed by the card it boots from, also with an older image', () => {
    expect(decide({ showsAll: false, shown: { ...SHOWN, macs: [mac(9)] } }).outcome).toBe('quarantine');
  });
});

describe('the medium of a boot', () => {
  const seen = { ...BOUND, medium: true };

  it('proves the machine behind the BMC also before its hardware was recorded', () => {
    expect(decide({ bound: null, mode: 'commission', medium: 'shown' })).toMatchObject({
      level: 'media',
      key: 'media',
    });
    expect(decide({ bound: null, required: 'bound', medium: 'shown' })).toMatchObject({ outcome: 'open' });
  });

  it('does not replace the TPM for the key of the session', () => {
    const shown = { ...SHOWN, tpm: TPM };
    expect(decide({ shown, medium: 'shown' })).toMatchObject({ level: 'media', key: 'tpm' });
  });

  it('that is missing is a difference for a machine that has shown one before', () => {
    expect(decide({ bound: seen, medium: 'missing' })).toMatchObject({
      outcome: 'quarantine',
      reason: expect.stringContaining('medium of its BMC none, although its BMC has read it instead of shown'),
      differences: [{ field: 'medium' }],
    });
    expect(decide({ bound: seen, medium: 'missing', mode: 'erase' }).outcome).toBe('quarantine');
  });

  it('that is missing is no difference for a machine that never showed one, or whose BMC never read it', () => {
    expect(decide({ medium: 'missing' })).toMatchObject({ outcome: 'open', level: 'bound' });
    expect(decide({ bound: null, mode: 'commission', medium: 'missing' })).toMatchObject({ level: 'asserted' });
    for (const medium of ['unread', 'none'] as const)
      expect(decide({ bound: seen, medium })).toMatchObject({ outcome: 'open', level: 'bound', key: 'clear' });
  });

  it('cannot be shown by an older image, which is refused and not quarantined', () => {
    expect(decide({ bound: seen, medium: 'missing', showsAll: false })).toMatchObject({
      outcome: 'refuse',
      reason: expect.stringContaining('assets build'),
    });
  });

  it.each<[OpeningQuestion['medium'], string]>([
    ['used', 'has opened a session before'],
    ['other', 'remove the medium with the label COLDIRON'],
  ])('that is %s is refused in every mode', (medium, reason) => {
    for (const mode of ['commission', 'install', 'erase', 'rescue'] as const)
      expect(decide({ mode, medium })).toMatchObject({ outcome: 'refuse', reason: expect.stringContaining(reason) });
    expect(decide({ required: 'asserted', medium }).outcome).toBe('open');
  });

  it.each<[OpeningQuestion['medium'], string]>([
    ['none', 'its BMC was given none'],
    ['unread', 'never read from it'],
    ['missing', 'does not see the medium'],
  ])('is required by a profile, which refuses a machine without it and says why: %s', (medium, reason) => {
    expect(decide({ required: 'media', medium })).toMatchObject({
      outcome: 'refuse',
      reason: expect.stringContaining(reason),
    });
    expect(decide({ required: 'media', medium: 'shown' })).toMatchObject({ outcome: 'open', level: 'media' });
    const tpm = { required: 'media', medium, bound: withTpm('accepted'), shown: { ...SHOWN, tpm: TPM } } as const;
    expect(decide(tpm)).toMatchObject({ outcome: 'open', level: 'tpm' });
  });
});

describe('a profile that requires a TPM', () => {
  it.each<[string, Partial<OpeningQuestion>, string]>([
    ['none', {}, 'this machine has none: switch it on in the firmware setup'],
    ['an unusable one', { shown: { ...SHOWN, tpmProblem: 'no reply' } }, 'cannot be used: no reply'],
    [
      'one that nobody accepted',
      { bound: withTpm('nobody'), shown: { ...SHOWN, tpm: TPM } },
      'nobody has accepted its TPM abababababababab… yet: coldiron nodes rebind',
    ],
    ['one that was never recorded', { shown: { ...SHOWN, tpm: TPM } }, 'was never recorded: commission it first'],
  ])('refuses a machine with %s, with the reason', (_, changes, reason) => {
    const decision = decide({ required: 'tpm', ...changes });
    expect(decision).toMatchObject({ outcome: 'refuse', reason: expect.stringContaining(reason) });
  });

  it('refuses a machine whose secret came through its BMC', () => {
    expect(decide({ required: 'tpm', medium: 'shown' }).outcome).toBe('refuse');
  });

  it('does not hinder other work', () => {
    expect(decide({ required: 'tpm', mode: 'erase' }).outcome).toBe('open');
  });
});

describe('measurements', () => {
  const changed = { ...SHOWN, tpm: { ...TPM, pcrs: { ...PCRS, 0: 'cc'.repeat(32) } } };
  const bound = withTpm('accepted');

  it('that changed are reported, and no reason to refuse by themselves', () => {
    expect(decide({ bound, shown: changed })).toMatchObject({ outcome: 'open', level: 'tpm', changedPcrs: [0] });
  });

  it('that the profile requires are a reason to refuse, and are kept for a person to accept', () => {
    const decision = decide({ bound, shown: changed, requiredPcrs: [0, 7] });
    expect(decision).toMatchObject({ outcome: 'refuse', keep: true, reason: expect.stringContaining('PCR 0 changed') });
    expect(decide({ bound, shown: changed, requiredPcrs: [7] }).outcome).toBe('open');
  });

  it('that the profile requires must be there', () => {
    const unquoted = { ...SHOWN, tpm: { ...TPM, pcrs: null } };
    expect(decide({ bound, shown: unquoted, requiredPcrs: [0] })).toMatchObject({
      outcome: 'refuse',
      reason: expect.stringContaining('no valid quote'),
    });
    const unrecorded = withTpm('accepted', { pcrs: null });
    expect(decide({ bound: unrecorded, shown: { ...SHOWN, tpm: TPM }, requiredPcrs: [0] })).toMatchObject({
      outcome: 'refuse',
      reason: expect.stringContaining('commission it first'),
    });
  });
});

describe('hardware that was never recorded', () => {
  it('is refused for an installation that requires it to be', () => {
    expect(decide({ bound: null })).toMatchObject({
      outcome: 'refuse',
      reason: 'node01: its hardware was never recorded: commission it first',
    });
  });
});
