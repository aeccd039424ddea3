// Deviations of BMCs from the specification and from each other, as data. A row only sets what is tried first; the fallbacks in
// boot-override.ts, change.ts and virtual-media.ts still reach every other form.

export interface Quirks {
  /** `always`: send the mode with every override, or the BMC changes it. `never`: the mode is read-only. */
  readonly startMode: 'when-requested' | 'always' | 'never';
  /** False: an override lasts for one boot, and must be set before each. */
  readonly persistentOverride: boolean;
  /** Names of the CD drive, in order of preference. */
  readonly cdTargets: readonly string[];
  /** `omit`: the first PATCH is sent without If-Match. */
  readonly etag: 'send' | 'omit';
  /** The body of virtual-media.ts that is tried first. */
  readonly media: MediaForm;
}

export type MediaForm = 'full' | 'inserted' | 'image' | 'transfer' | 'stream' | 'named-none';

const STANDARD: Quirks = {
  startMode: 'when-requested',
  persistentOverride: true,
  cdTargets: ['Cd', 'UsbCd'],
  etag: 'send',
  media: 'full',
};

/** The properties of a service that the rows match on. */
export interface ServiceFacts {
  readonly vendor: string;
  readonly product: string;
  readonly systemModel: string;
  readonly systemPath: string;
}

interface QuirkRow {
  readonly name: string;
  readonly matches: (facts: ServiceFacts) => boolean;
  readonly differs: Partial<Quirks>;
}

const made = (maker: RegExp) => (facts: ServiceFacts) => maker.test(facts.vendor);

/** Every matching row applies; later ones override earlier ones. */
export const QUIRK_ROWS: readonly QuirkRow[] = [
  {
    // X10 to X13: an override without Enabled and Mode reverts to Legacy; X11 and X12 boot virtual media as UsbCd; the insert
    // action rejects Inserted and WriteProtected.
    name: 'supermicro',
    matches: made(/super\s?micro/i),
    differs: { startMode: 'always', cdTargets: ['UsbCd', 'Cd'], media: 'image' },
  },
  {
    // iLO 5 and 6: BootSourceOverrideMode is read-only; the DL160 Gen10 accepts only Target and Enabled.
    name: 'ilo',
    matches: made(/^hpe?$|hewlett/i),
    differs: { startMode: 'never' },
  },
  {
    // AMI MegaRAC, which ASRock Rack and others ship: rejects an override without all three fields.
    name: 'megarac',
    matches: (facts) => /\bami\b|american megatrends|asrock/i.test(`${facts.vendor} ${facts.product}`),
    differs: { startMode: 'always' },
  },
  {
    // XClarity Controller: no Continuous.
    name: 'xcc',
    matches: made(/lenovo/i),
    differs: { persistentOverride: false },
  },
  {
    // bmcweb computes ETags over the whole reply, its clock included: a tag that was just read no longer matches.
    name: 'openbmc',
    matches: (facts) => /openbmc/i.test(`${facts.vendor} ${facts.product}`) || /\/system\/?$/.test(facts.systemPath),
    differs: { etag: 'omit' },
  },
  {
    // DGX H100: the insert action requires a user name and a password, if only the word "none".
    name: 'dgx',
    matches: (facts) => /nvidia/i.test(facts.vendor) && /dgx/i.test(`${facts.product} ${facts.systemModel}`),
    differs: { media: 'named-none' },
  },
];

export const quirksOf = (facts: ServiceFacts): Quirks =>
  Object.assign({ ...STANDARD }, ...QUIRK_ROWS.filter((row) => row.matches(facts)).map(({ differs }) => differs));
