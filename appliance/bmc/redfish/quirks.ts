// Where BMCs differ from the specification and from each other, as data. Nothing here decides alone: what a row says is tried
// first, and the ladders in boot-override.ts, change.ts and virtual-media.ts still reach every other form.

export interface Quirks {
  /** `always`: with every override, or the BMC falls back to another. `never`: read-only here. */
  readonly startMode: 'when-asked' | 'always' | 'never';
  /** False: an override holds for one start, and has to be set before each. */
  readonly persistentOverride: boolean;
  /** Names for the CD drive, the best first. */
  readonly cdTargets: readonly string[];
  /** `omit`: a PATCH goes without If-Match first. */
  readonly etag: 'send' | 'omit';
  /** Which body of virtual-media.ts is tried first. */
  readonly media: MediaForm;
}

export type MediaForm = 'full' | 'inserted' | 'image' | 'transfer' | 'stream' | 'named-none';

const STANDARD: Quirks = {
  startMode: 'when-asked',
  persistentOverride: true,
  cdTargets: ['Cd', 'UsbCd'],
  etag: 'send',
  media: 'full',
};

/** Everything a service tells about itself that rows are matched against. */
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

/** Every row that matches applies; later ones win. */
export const QUIRK_ROWS: readonly QuirkRow[] = [
  {
    // X10 to X13: an override without Enabled and Mode goes back to Legacy; X11 and X12 start virtual media as UsbCd; the
    // insert action refuses Inserted and WriteProtected.
    name: 'supermicro',
    matches: made(/super\s?micro/i),
    differs: { startMode: 'always', cdTargets: ['UsbCd', 'Cd'], media: 'image' },
  },
  {
    // iLO 5 and 6: BootSourceOverrideMode is read-only; the DL160 Gen10 takes Target and Enabled and nothing else.
    name: 'ilo',
    matches: made(/^hpe?$|hewlett/i),
    differs: { startMode: 'never' },
  },
  {
    // AMI MegaRAC, which ASRock Rack and others ship: refuses an override that does not have all three fields.
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
    // bmcweb computes ETags over the whole answer, clock included: one that was just read no longer fits.
    name: 'openbmc',
    matches: (facts) => /openbmc/i.test(`${facts.vendor} ${facts.product}`) || /\/system\/?$/.test(facts.systemPath),
    differs: { etag: 'omit' },
  },
  {
    // DGX H100: the insert action wants a user name and a password, if only the word "none".
    name: 'dgx',
    matches: (facts) => /nvidia/i.test(facts.vendor) && /dgx/i.test(`${facts.product} ${facts.systemModel}`),
    differs: { media: 'named-none' },
  },
];

export const quirksOf = (facts: ServiceFacts): Quirks =>
  Object.assign({ ...STANDARD }, ...QUIRK_ROWS.filter((row) => row.matches(facts)).map(({ differs }) => differs));
